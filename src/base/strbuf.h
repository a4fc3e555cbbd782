/*
 * strbuf.h - a growing byte string that is always NUL-terminated and never exceeds `max` bytes.
 *
 *     struct strbuf sb = STRBUF_INIT(64 << 10);
 *     strbuf_addf(&sb, "%s: %d", name, n);
 *     puts(sb.buf);
 *     strbuf_release(&sb);
 *
 * At `max`, the buffer keeps the bytes that fit, drops the rest and sets `truncated`. So data
 * from outside can fill a buffer but not the machine's memory.
 */
#ifndef BASE_STRBUF_H
#define BASE_STRBUF_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

struct strbuf {
    char *buf; /* never NULL; "" when empty */
    size_t len;
    size_t cap;
    size_t max;
    bool truncated;
};

extern char strbuf_empty[1];
#define STRBUF_INIT(max_bytes)                 \
    {                                          \
        strbuf_empty, 0, 0, (max_bytes), false \
    }

void strbuf_init(struct strbuf *sb, size_t max_bytes);
/* frees the bytes; sb is then empty and can be used again */
void strbuf_release(struct strbuf *sb);
void strbuf_clear(struct strbuf *sb); /* keeps the memory */
/* returns the bytes, which the caller frees */
char *strbuf_detach(struct strbuf *sb, size_t *len_out);

void strbuf_add(struct strbuf *sb, const void *data, size_t n);
void strbuf_adds(struct strbuf *sb, const char *s);
void strbuf_addc(struct strbuf *sb, char c);
void strbuf_addf(struct strbuf *sb, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void strbuf_vaddf(struct strbuf *sb, const char *fmt, va_list ap)
    __attribute__((format(printf, 2, 0)));
/* Appends a time for people: "870 ns", "1.25 us", "12.3 us" or "1.8 ms". */
void strbuf_add_time(struct strbuf *sb, double ns);

#endif
