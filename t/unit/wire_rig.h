/*
 * wire_rig.h - tests that a reader of job.bin or result.bin survives every truncation and every
 * changed byte. `read` parses, visits everything it got, and says whether the bytes were accepted.
 */
#ifndef T_WIRE_RIG_H
#define T_WIRE_RIG_H

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/strbuf.h"

typedef bool (*wire_read_fn)(const char *data, size_t len, struct arena *a);

static inline void wire_truncated(struct strbuf *whole, wire_read_fn read)
{
    for (size_t n = 0; n < whole->len; n++) {
        struct arena arena = ARENA_INIT;
        char *exact = malloc(n + 1); /* so that a sanitizer sees a read past the end */
        assert_non_null(exact);
        memcpy(exact, whole->buf, n);
        assert_false(read(exact, n, &arena));
        free(exact);
        arena_release(&arena);
    }
    struct arena arena = ARENA_INIT;
    strbuf_addc(whole, 'x');
    assert_false(read(whole->buf, whole->len, &arena));
    arena_release(&arena);
}

static inline void wire_mutated(struct strbuf *whole, wire_read_fn read)
{
    static const uint8_t values[] = {0, 1, 0x7f, 0x80, 0xff};
    for (size_t i = 0; i < whole->len; i++)
        for (size_t k = 0; k < sizeof values; k++) {
            struct arena arena = ARENA_INIT;
            char was = whole->buf[i];
            whole->buf[i] = (char)values[k];
            read(whole->buf, whole->len, &arena);
            /* The reader allocates for a claimed length only if the bytes are there. */
            assert_true(arena.bytes < 1 << 20);
            whole->buf[i] = was;
            arena_release(&arena);
        }
}

#endif
