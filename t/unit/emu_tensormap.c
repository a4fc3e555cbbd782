/* Tests tensor maps: computes the address of every element of every box from its coordinates, and
 * compares it with the address that the tensor map gives. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/util.h"
#include "emu/async/tma_swizzle.h"

static uint64_t rng = 88172645463325252u;

static uint32_t rnd(uint32_t n)
{
    rng ^= rng << 13;
    rng ^= rng >> 7;
    rng ^= rng << 17;
    return (uint32_t)(rng >> 16) % n;
}

struct seen {
    const struct tensormap *t;
    uint64_t addr[65536]; /* the address of element i of the box; ~0 if outside the tensor */
    uint32_t n;
};

static int note(void *ctx, const struct tmap_run *r)
{
    struct seen *s = ctx;
    uint32_t eb = tensormap_elem_bytes(s->t);
    for (uint32_t i = 0; i < r->bytes / eb; i++) {
        s->addr[r->box_off / eb + i] = r->inside ? r->addr + (uint64_t)i * r->step : ~0ull;
        s->n++;
    }
    return 0;
}

static void check_tile(uint32_t rank, enum dtype dt, unsigned swizzle)
{
    static const uint32_t inner[] = {128, 32, 64, 128};
    struct job_tensormap j = {.dtype = dt, .rank = rank, .swizzle = (uint8_t)swizzle};
    uint32_t eb = (uint32_t)dtype_bytes(dt);
    uint64_t stride = 0;
    for (uint32_t i = 0; i < rank; i++) {
        j.dims[i] = 1 + rnd(20) + (i == 0 ? 16 : 0);
        j.box[i] = i == 0 ? inner[swizzle] / eb : 1 + rnd(5);
        j.elem_strides[i] = i && rnd(3) == 0 ? 1 + rnd(3) : 1;
        j.strides[i] = stride;
        stride = i == 0 ? (j.dims[0] * eb + 15) / 16 * 16 + 16 * rnd(3) : stride * j.dims[i];
    }
    struct tensormap t;
    struct err err = ERR_INIT;
    if (tensormap_encode(&t, &j, 4096, &err) < 0)
        fail_msg("%s", err.msg);
    int32_t c[5] = {0};
    for (uint32_t i = 0; i < rank; i++)
        c[i] = (int32_t)rnd((uint32_t)j.dims[i] + 8) - 4;
    static struct seen s;
    s.t = &t;
    s.n = 0;
    assert_int_equal(tensormap_walk(&t, c, NULL, note, &s), 0);
    assert_int_equal(s.n * eb, tensormap_box_bytes(&t));
    uint32_t ext[5], total = 1;
    for (uint32_t i = 0; i < 5; i++) {
        ext[i] = i < rank ? (j.box[i] + j.elem_strides[i] - 1) / j.elem_strides[i] : 1;
        total *= ext[i];
    }
    for (uint32_t e = 0; e < total; e++) {
        uint32_t rest = e;
        uint64_t want = 4096;
        for (uint32_t i = 0; i < rank; i++) {
            int64_t x = c[i] + (int64_t)(rest % ext[i]) * j.elem_strides[i];
            rest /= ext[i];
            if (x < 0 || x >= (int64_t)j.dims[i])
                want = ~0ull;
            else if (want != ~0ull)
                want += (uint64_t)x * (i ? j.strides[i] : eb);
        }
        if (s.addr[e] != want)
            fail_msg("rank %u element %u: %llx, expected %llx", rank, e,
                     (unsigned long long)s.addr[e], (unsigned long long)want);
    }
}

static void test_tiles(void **state)
{
    static const enum dtype types[] = {DT_F16, DT_F32, DT_U8, DT_F64};
    for (int i = 0; i < 500; i++)
        check_tile(1 + rnd(5), types[rnd(4)], rnd(4));
}

static void test_swizzle(void **state)
{
    struct tensormap t = {0};
    t.swizzle = 3;
    assert_int_equal(tensormap_swizzle(&t, 0x0), 0);
    assert_int_equal(tensormap_swizzle(&t, 0x80), 0x90);          /* row 1, chunk 0 -> 1 */
    assert_int_equal(tensormap_swizzle(&t, 0x380 + 0x70), 0x380); /* row 7, chunk 7 -> 0 */
    assert_int_equal(tensormap_swizzle(&t, 0x400), 0x400);        /* the pattern repeats */
    /* A row has 64 bytes. The swizzle moves no chunk in the first 128 bytes, rows 0 and 1. */
    t.swizzle = 2;
    assert_int_equal(tensormap_swizzle(&t, 0x40), 0x40);
    assert_int_equal(tensormap_swizzle(&t, 0x80), 0x90);
    assert_int_equal(tensormap_swizzle(&t, 0x200), 0x200);
    t.swizzle = 1;
    assert_int_equal(tensormap_swizzle(&t, 0x60), 0x60);
    assert_int_equal(tensormap_swizzle(&t, 0x80), 0x90);
    assert_int_equal(tensormap_swizzle(&t, 0x100), 0x100);
    t.swizzle = 0;
    assert_int_equal(tensormap_swizzle(&t, 0x3f0), 0x3f0);
}

/* Compares the im2col columns of a 3x3 convolution of an NHWC image with those of a plain loop. */
static void test_im2col(void **state)
{
    const int C = 16, W = 7, H = 5, N = 3, pad = 1;
    struct job_tensormap j = {.dtype = DT_F16, .rank = 4};
    const int dims[4] = {C, W, H, N};
    uint64_t stride = 2;
    for (int i = 0; i < 4; i++) {
        j.dims[i] = (uint64_t)dims[i];
        j.box[i] = i ? 1 : 16;
        j.elem_strides[i] = 1;
        j.strides[i] = stride;
        stride *= (uint64_t)dims[i];
    }
    struct tensormap t;
    struct err err = ERR_INIT;
    assert_int_equal(tensormap_encode(&t, &j, 0, &err), 0);
    t.mode = TMAP_IM2COL;
    t.channels = 16;
    t.pixels = 64;
    /* The result has as many pixels as the image. So the filter's corner goes from -pad to W - 1 -
     * pad, and from -pad to H - 1 - pad. `upper` counts from the last pixel, W - 1 or H - 1. */
    for (int i = 0; i < 2; i++)
        t.lower[i] = (int16_t)-pad, t.upper[i] = (int16_t)-pad;
    for (uint16_t r = 0; r < 3; r++)
        for (uint16_t s = 0; s < 3; s++) {
            static struct seen seen;
            seen.t = &t;
            seen.n = 0;
            int first = 10; /* start at pixel 10 of the result */
            int32_t c[5] = {0, first % W - pad, first / W - pad, 0};
            uint16_t off[3] = {s, r, 0};
            assert_int_equal(tensormap_walk(&t, c, off, note, &seen), 0);
            assert_int_equal(seen.n, 64 * 16);
            for (int p = 0; p < 64; p++) {
                int q = first + p, w = q % W - pad + s, h = q / W % H - pad + r, n = q / (W * H);
                uint64_t want = ~0ull;
                if (w >= 0 && w < W && h >= 0 && h < H && n < N)
                    want = (uint64_t)(((n * H + h) * W + w) * C) * 2;
                assert_int_equal(seen.addr[p * 16], want);
            }
        }
}

static void test_refused(void **state)
{
    struct job_tensormap good = {.dtype = DT_F16,
                                 .rank = 2,
                                 .dims = {128, 64},
                                 .strides = {0, 256},
                                 .box = {64, 8},
                                 .elem_strides = {1, 1},
                                 .swizzle = 3};
    struct tensormap t;
    assert_int_equal(tensormap_encode(&t, &good, 64, NULL), 0);
    struct job_tensormap b;
    struct err err = ERR_INIT;
#define REFUSED(change)                                           \
    do {                                                          \
        b = good;                                                 \
        change;                                                   \
        assert_int_equal(tensormap_encode(&t, &b, 64, &err), -1); \
    } while (0)
    REFUSED(b.rank = 0);
    REFUSED(b.rank = 6);
    REFUSED(b.strides[1] = 250);
    REFUSED(b.box[0] = 65);
    REFUSED(b.box[0] = 128);
    REFUSED(b.box[1] = 0);
    REFUSED(b.box[1] = 257);
    REFUSED(b.dims[1] = 0);
    REFUSED(b.elem_strides[1] = 9);
    REFUSED(b.swizzle = 9);
    REFUSED((b.dtype = DT_U8, b.fill_nan = 1));
    assert_int_equal(tensormap_encode(&t, &good, 8, &err), -1);
    uint8_t junk[128] = {1, 2, 3};
    assert_int_equal(tensormap_load(&t, junk, &err), -1);
}

static void test_replace(void **state)
{
    struct job_tensormap good = {.dtype = DT_F32,
                                 .rank = 2,
                                 .dims = {128, 64},
                                 .strides = {0, 512},
                                 .box = {32, 8},
                                 .elem_strides = {1, 1},
                                 .swizzle = 3};
    struct tensormap t, u;
    struct err err = ERR_INIT;
    assert_int_equal(tensormap_encode(&t, &good, 64, NULL), 0);
    assert_int_equal(tensormap_replace(&t, "global_address", 0, 0x1000, &err), 0);
    assert_int_equal(tensormap_replace(&t, "rank", 0, 2, &err), 0);
    assert_int_equal(tensormap_replace(&t, "global_dim", 2, 4, &err), 0);
    assert_int_equal(tensormap_replace(&t, "global_stride", 1, 32768, &err), 0);
    /* Dimension 2 has no box_dim and no element_stride yet. */
    assert_int_equal(tensormap_load(&u, &t, &err), -1);
    assert_int_equal(tensormap_replace(&t, "box_dim", 2, 1, &err), 0);
    assert_int_equal(tensormap_replace(&t, "element_stride", 2, 1, &err), 0);
    assert_int_equal(tensormap_load(&u, &t, &err), 0);
    assert_int_equal(u.rank, 3);
    assert_int_equal(tensormap_replace(&t, "global_stride", 4, 16, &err), -1);
    assert_int_equal(tensormap_replace(&t, "nothing", 0, 16, &err), -1);
}

static void test_fill(void **state)
{
    struct tensormap t = {.elem = TMAP_BF16, .fill_nan = 1};
    uint8_t b[4];
    tensormap_fill(&t, b, 4);
    assert_int_equal(b[0], 0xf7);
    assert_int_equal(b[1], 0x7f);
    t.fill_nan = 0;
    tensormap_fill(&t, b, 4);
    assert_int_equal(b[1] | b[3], 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tiles),   cmocka_unit_test(test_swizzle),
        cmocka_unit_test(test_im2col),  cmocka_unit_test(test_refused),
        cmocka_unit_test(test_replace), cmocka_unit_test(test_fill),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
