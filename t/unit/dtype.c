/*
 * Converts every value of the small float types to double and back, and tests the rounding between
 * neighbours: each pair of adjacent finite values is probed below, at and above its midpoint. The
 * truth is computed here from the formats' definitions, not with the code under test.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/dtype.h"
#include "base/util.h"

struct format {
    enum dtype type;
    unsigned bits, exp_bits, mant_bits;
    bool has_inf;
};
static const struct format formats[] = {
    {DT_F16, 16, 5, 10, true},
    {DT_BF16, 16, 8, 7, true},
    {DT_F8E4M3, 8, 4, 3, false},
    {DT_F8E5M2, 8, 5, 2, true},
};

/* Returns the value of a bit pattern by the definition of the format, and NAN for every NaN
 * pattern. */
static double decode(const struct format *f, uint32_t bits)
{
    uint32_t mant = bits & ((1u << f->mant_bits) - 1);
    uint32_t exp = bits >> f->mant_bits & ((1u << f->exp_bits) - 1);
    int bias = (1 << (f->exp_bits - 1)) - 1;
    double sign = bits >> (f->bits - 1) ? -1.0 : 1.0;
    uint32_t top = (1u << f->exp_bits) - 1;
    if (f->has_inf && exp == top)
        return mant ? NAN : sign * INFINITY;
    if (!f->has_inf && exp == top && mant == (1u << f->mant_bits) - 1)
        return NAN;
    if (exp == 0)
        return sign * ldexp(mant, 1 - bias - (int)f->mant_bits);
    return sign * ldexp(mant + (1u << f->mant_bits), (int)exp - bias - (int)f->mant_bits);
}

static uint32_t store_bits(const struct format *f, double v)
{
    uint16_t h = 0;
    dtype_store(f->type, &h, v);
    return f->bits == 8 ? h & 0xff : h;
}

static double load_bits(const struct format *f, uint32_t bits)
{
    uint16_t h = (uint16_t)bits;
    return dtype_load(f->type, &h);
}

static void test_every_pattern(void **state)
{
    for (size_t k = 0; k < ARRAY_LEN(formats); k++) {
        const struct format *f = &formats[k];
        for (uint32_t b = 0; b < 1u << f->bits; b++) {
            double want = decode(f, b), got = load_bits(f, b);
            if (isnan(want)) {
                assert_true(isnan(got));
                assert_true(isnan(decode(f, store_bits(f, got))));
                continue;
            }
            assert_true(got == want && !signbit(got) == !signbit(want));
            assert_int_equal(store_bits(f, got), b);
        }
    }
}

/* Returns the bit pattern of a format's largest finite value. */
static uint32_t max_finite(const struct format *f)
{
    uint32_t b = (1u << (f->bits - 1)) - 1;
    while (isnan(decode(f, b)) || isinf(decode(f, b)))
        b--;
    return b;
}

static void test_rounding_between_neighbours(void **state)
{
    for (size_t k = 0; k < ARRAY_LEN(formats); k++) {
        const struct format *f = &formats[k];
        uint32_t max = max_finite(f), sign = 1u << (f->bits - 1);
        for (uint32_t b = 0; b < max; b++) {
            double lo = decode(f, b), hi = decode(f, b + 1), mid = lo + (hi - lo) / 2;
            uint32_t even = b & 1 ? b + 1 : b;
            assert_int_equal(store_bits(f, mid), even);
            assert_int_equal(store_bits(f, nextafter(mid, lo)), b);
            assert_int_equal(store_bits(f, nextafter(mid, INFINITY)), b + 1);
            assert_int_equal(store_bits(f, -mid), even | sign);
        }
        /* A number less than half a step above the largest value rounds to that value. A whole
         * step above it, it overflows. */
        double top = decode(f, max), step = top - decode(f, max - 1);
        assert_int_equal(store_bits(f, top + step * 0.499), max);
        uint32_t over = store_bits(f, top + step);
        assert_true(f->has_inf ? isinf(decode(f, over)) : isnan(decode(f, over)));
        assert_int_equal(store_bits(f, INFINITY), max + 1); /* infinity, or e4m3's NaN */
    }
}

/* A float rounds as the double of the same value does, so nothing is rounded twice. */
static void test_from_float_and_double_agree(void **state)
{
    uint64_t x = 88172645463325252u;
    for (int i = 0; i < 2000000; i++) {
        x ^= x << 13, x ^= x >> 7, x ^= x << 17;
        uint32_t bits = (uint32_t)x;
        float v;
        memcpy(&v, &bits, sizeof v);
        if (isnan(v))
            continue;
        assert_int_equal(f16_from_f32(v), f16_from_f64((double)v));
        assert_int_equal(bf16_from_f32(v), bf16_from_f64((double)v));
        /* bfloat16 by its definition: the top half of the float, rounded to nearest even. */
        if (isfinite(v)) {
            uint32_t r = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
            assert_int_equal(bf16_from_f32(v), r);
        }
    }
}

/* 1 + 2^-11 + 2^-40 is slightly above the midpoint of two float16 values, so it rounds up. If it
 * were rounded to float first, it would become the midpoint, and then round down to even. */
static void test_no_double_rounding(void **state)
{
    assert_int_equal(f16_from_f64(1 + 0x1p-11), 0x3c00);
    assert_int_equal(f16_from_f64(1 + 0x1p-11 + 0x1p-40), 0x3c01);
    assert_int_equal(f16_from_f64(0x1p-25), 0);
    assert_int_equal(f16_from_f64(0x1.00001p-25), 1);
    assert_int_equal(f16_from_f64(65519.999), 0x7bff);
    assert_int_equal(f16_from_f64(65520), 0x7c00);
}

static void test_saturation(void **state)
{
    assert_int_equal(f8e4m3_from_f64(1e9, true), 0x7e);
    assert_int_equal(f8e4m3_from_f64(-1e9, true), 0xfe);
    assert_int_equal(f8e4m3_from_f64(464, false), 0x7e); /* the midpoint ties to even: 448 */
    assert_int_equal(f8e4m3_from_f64(1e9, false) & 0x7f, 0x7f);
    assert_int_equal(f8e5m2_from_f64(1e9, true), 0x7b);
    assert_int_equal(f8e5m2_from_f64(1e9, false), 0x7c);
}

static void test_integers(void **state)
{
    static const struct {
        enum dtype t;
        double in, out;
    } cases[] = {
        {DT_I8, 127.4, 127},
        {DT_I8, 200, 127},
        {DT_I8, -200, -128},
        {DT_U8, -1, 0},
        {DT_U8, 256, 255},
        {DT_I32, 2.5, 2},
        {DT_I32, 3.5, 4},
        {DT_I32, 1e20, 2147483647},
        {DT_I16, -1e9, -32768},
        {DT_U16, 65535.4, 65535},
        {DT_U32, 4294967295.0, 4294967295.0},
        {DT_I64, -0x1p63, -0x1p63},
        {DT_U64, 0x1p63, 0x1p63},
        {DT_BOOL, 0.5, 1},
        {DT_BOOL, 0, 0},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        uint64_t raw = 0;
        dtype_store(cases[i].t, &raw, cases[i].in);
        assert_true(dtype_load(cases[i].t, &raw) == cases[i].out);
    }
    uint64_t raw = 1;
    dtype_store(DT_I32, &raw, NAN);
    assert_true(dtype_load(DT_I32, &raw) == 0);
}

static void test_names(void **state)
{
    for (int t = DT_NONE + 1; t < DT_COUNT; t++) {
        assert_int_equal(dtype_from_name(dtype_name((enum dtype)t)), t);
        assert_in_range(dtype_bytes((enum dtype)t), 1, 8);
    }
    assert_int_equal(dtype_from_name("float15"), DT_NONE);
    assert_int_equal(dtype_from_name("none"), DT_NONE);
    assert_int_equal(dtype_from_name(""), DT_NONE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_pattern),
        cmocka_unit_test(test_rounding_between_neighbours),
        cmocka_unit_test(test_from_float_and_double_agree),
        cmocka_unit_test(test_no_double_rounding),
        cmocka_unit_test(test_saturation),
        cmocka_unit_test(test_integers),
        cmocka_unit_test(test_names),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
