/*
 * Tests lazy memory: if it is filled piece by piece, in any order, it has the same bytes as if it
 * is filled at once. Only pieces that were asked for are filled.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/util.h"
#include "job/gen.h"
#include "job/lazy.h"
#include "job/poison.h"

enum { SPARE = 64 };

static struct job_buffer buffer(enum dtype t, uint64_t elems)
{
    return (struct job_buffer){.name = "x",
                               .dtype = t,
                               .elems = elems,
                               .bytes = elems * dtype_bytes(t),
                               .gen = {.dist = GEN_NORMAL, .b = 3},
                               .stream = 5};
}

/* Allocates memory at an odd address. After its `bytes` bytes come SPARE others that must not
 * change (edge_is_whole()). */
static uint8_t *memory(uint64_t bytes)
{
    uint8_t *p = xmalloc(bytes + SPARE + 1);
    memset(p, 0xee, bytes + SPARE + 1);
    return p + 1;
}

static void edge_is_whole(const uint8_t *mem, uint64_t bytes)
{
    for (int i = 0; i < SPARE; i++)
        assert_int_equal(mem[bytes + (uint64_t)i], 0xee);
}

static void pieces_are_the_whole(void **state)
{
    (void)state;
    static const enum dtype types[] = {DT_F64, DT_F32, DT_F16, DT_F8E4M3, DT_I64, DT_I32, DT_I8};
    for (size_t k = 0; k < ARRAY_LEN(types); k++)
        for (uint64_t elems = 1; elems < 5000; elems = elems * 3 + 1) {
            struct job_buffer b = buffer(types[k], elems);
            struct lazy z;
            uint8_t *mem = memory(b.bytes), *want = xmalloc(b.bytes);
            if (types[k] >= DT_I64)
                b.gen = (struct gen_spec){.dist = GEN_INT, .a = 0, .b = 99};
            gen_fill(&b.gen, b.dtype, 7, b.stream, 0, elems, want);
            lazy_init(&z, mem, &b, LAZY_DATA, 7);
            /* gen_fill() begins at the first byte, and this loop at the last one */
            for (uint64_t at = b.bytes; at-- > 0;)
                lazy_need(&z, at, 1);
            assert_memory_equal(mem, want, b.bytes);
            edge_is_whole(mem, b.bytes);
            lazy_release(&z);
            free(mem - 1);
            free(want);
        }
}

static void only_what_is_needed(void **state)
{
    (void)state;
    struct job_buffer b = buffer(DT_F32, 4 * LAZY_PIECE / 4 + 3);
    struct lazy z;
    uint8_t *mem = memory(b.bytes);
    lazy_init(&z, mem, &b, LAZY_DATA, 1);
    assert_int_equal(z.npieces, 5);
    assert_int_equal(lazy_piece_bytes(&z, 3), LAZY_PIECE);
    assert_int_equal(lazy_piece_bytes(&z, 4), 12);
    lazy_need(&z, 2 * LAZY_PIECE - 1, 1);
    assert_true(lazy_made(&z, 1) && !lazy_made(&z, 0) && !lazy_made(&z, 2));
    assert_int_equal(mem[LAZY_PIECE - 1], 0xee);
    assert_int_equal(mem[2 * LAZY_PIECE], 0xee);
    lazy_need(&z, 2 * LAZY_PIECE - 1, 2); /* the last byte of one piece, the first of the next */
    assert_true(lazy_made(&z, 2) && !lazy_made(&z, 3));
    lazy_need(&z, b.bytes - 1, 1);
    assert_true(lazy_made(&z, 4) && !lazy_made(&z, 3));
    edge_is_whole(mem, b.bytes);
    lazy_release(&z);
    free(mem - 1);
}

/* Bytes that were written stay. lazy_original() gives the bytes that a piece had before it was
 * written. So one can find out which bytes were written. */
static void writes_survive(void **state)
{
    (void)state;
    for (int kind = LAZY_DATA; kind <= LAZY_POISON; kind++) {
        struct job_buffer b = buffer(DT_F32, 1000);
        struct lazy z;
        uint8_t *mem = memory(b.bytes), was[LAZY_PIECE];
        lazy_init(&z, mem, &b, kind, 9);
        lazy_need(&z, 1024, 4);
        memcpy(mem + 1024, &(float){42}, 4);
        lazy_need(&z, 1000, 100);
        lazy_original(&z, 1024 / LAZY_PIECE, was);
        for (uint32_t i = 0; i < lazy_piece_bytes(&z, 1024 / LAZY_PIECE); i += 4) {
            uint64_t at = 1024 / LAZY_PIECE * LAZY_PIECE + i;
            assert_int_equal(memcmp(mem + at, was + i, 4) != 0, at == 1024);
        }
        lazy_release(&z);
        free(mem - 1);
    }
}

static void poison_differs_by_piece(void **state)
{
    (void)state;
    struct job_buffer b = {.dtype = DT_NONE, .bytes = 3 * LAZY_PIECE + 5}; /* a workspace */
    struct lazy z;
    uint8_t *mem = memory(b.bytes);
    lazy_init(&z, mem, &b, LAZY_POISON, 3);
    lazy_need(&z, 0, b.bytes);
    edge_is_whole(mem, b.bytes);
    assert_true(memcmp(mem, mem + LAZY_PIECE, LAZY_PIECE) != 0);
    float f;
    memcpy(&f, mem + 2 * LAZY_PIECE, sizeof f);
    assert_true(f != f);
    lazy_release(&z);
    free(mem - 1);
}

static void doubles(void **state)
{
    (void)state;
    double mem[300];
    struct lazy z;
    lazy_init_doubles(&z, mem, 300, -1e30);
    lazy_need(&z, 299 * sizeof *mem, sizeof *mem);
    assert_true(mem[299] == -1e30);
    lazy_release(&z);
    lazy_init_doubles(&z, mem, 0, 1); /* an empty array */
    assert_int_equal(z.npieces, 0);
    lazy_release(&z);
}

struct reader {
    struct lazy *z;
    const uint8_t *want;
    uint64_t seed, wrong;
};

static void *read_around(void *arg)
{
    struct reader *r = arg;
    uint64_t x = r->seed;
    for (int k = 0; k < 40000; k++) {
        x = poison_mix(x);
        uint64_t at = x % (r->z->bytes - 8);
        lazy_need(r->z, at, 8);
        r->wrong += memcmp(r->z->mem + at, r->want + at, 8) != 0;
    }
    return NULL;
}

/* Four threads ask for the same pieces at the same time. None may see a piece that is not filled
 * completely. */
static void threads_agree(void **state)
{
    (void)state;
    struct job_buffer b = buffer(DT_F16, 200003);
    uint8_t *want = xmalloc(b.bytes);
    gen_fill(&b.gen, b.dtype, 2, b.stream, 0, b.elems, want);
    for (int round = 0; round < 5; round++) {
        struct lazy z;
        pthread_t t[4];
        struct reader r[4];
        uint8_t *mem = memory(b.bytes);
        lazy_init(&z, mem, &b, LAZY_DATA, 2);
        for (int i = 0; i < 4; i++) {
            r[i] = (struct reader){&z, want, 1, 0}; /* the same places in the same order */
            assert_int_equal(pthread_create(&t[i], NULL, read_around, &r[i]), 0);
        }
        for (int i = 0; i < 4; i++) {
            pthread_join(t[i], NULL);
            assert_int_equal(r[i].wrong, 0);
        }
        lazy_release(&z);
        free(mem - 1);
    }
    free(want);
}

/* lazy_set() and lazy_copy() change bytes in pieces that are filled already, and in pieces that are
 * filled later. lazy_original() gives the changed bytes too. */
static void patches_are_part_of_the_original(void **state)
{
    (void)state;
    struct job_buffer b = buffer(DT_F32, 2000);
    uint8_t *mem = memory(b.bytes), *from = memory(b.bytes), *want = xmalloc(b.bytes);
    uint8_t piece[LAZY_PIECE];
    struct lazy z, source;
    uint32_t pattern = 0x01020304;
    gen_fill(&b.gen, b.dtype, 7, b.stream, 0, b.elems, want);
    lazy_init(&z, mem, &b, LAZY_DATA, 7);
    lazy_init(&source, from, &b, LAZY_DATA, 8);
    lazy_need(&z, 0, 2000);
    lazy_set(&z, 1000, 4000, pattern, 4);
    lazy_copy(&z, 3001, 100, &source, 77);
    lazy_set(&z, 7999, 1, 0xab, 1);
    for (uint32_t i = 0; i < 4000; i += 4)
        memcpy(want + 1000 + i, &pattern, 4);
    lazy_need(&source, 0, b.bytes);
    memcpy(want + 3001, from + 77, 100);
    want[7999] = 0xab;
    lazy_need(&z, 0, b.bytes);
    assert_memory_equal(mem, want, b.bytes);
    edge_is_whole(mem, b.bytes);
    for (uint64_t k = 0; k < z.npieces; k++) {
        lazy_original(&z, k, piece);
        assert_memory_equal(piece, want + k * LAZY_PIECE, lazy_piece_bytes(&z, k));
    }
    lazy_release(&z);
    lazy_release(&source);
    free(mem - 1);
    free(from - 1);
    free(want);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces_are_the_whole),
        cmocka_unit_test(only_what_is_needed),
        cmocka_unit_test(writes_survive),
        cmocka_unit_test(poison_differs_by_piece),
        cmocka_unit_test(doubles),
        cmocka_unit_test(patches_are_part_of_the_original),
        cmocka_unit_test(threads_agree),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
