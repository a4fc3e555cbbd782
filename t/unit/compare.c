/* Tests the comparison of outputs with the truth: special values, tolerances, error budgets,
 * poison, and the patterns of wrong elements. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "job/poison.h"
#include "worker/compare.h"

enum { POISON = 99 };

/* Compares one element, `got`, with the truth: value `want` and magnitude `mag`. In the result,
 * `bad` tells whether the element is wrong, and `ratio` is its error / the allowed error. */
static struct compare_elem one(enum dtype t, double got, double want, double mag, double rtol,
                               double atol)
{
    struct compare_rule r = {rtol, atol, 0x1p-24, POISON, (uint32_t)t, 1};
    uint64_t bits = 0;
    dtype_store(t, &bits, got);
    return compare_element(&r, bits, poison_bits((uint8_t)t, POISON, 0), want, mag);
}

static void decode_agrees_with_dtype_load(void **state)
{
    (void)state;
    for (int t = DT_F64; t < DT_COUNT; t++) {
        size_t bytes = dtype_bytes((enum dtype)t);
        for (uint64_t k = 0; k < 65536; k++) {
            uint64_t bits = bytes <= 2 ? k : poison_mix(k + (uint64_t)t * 1000003);
            if (bytes == 4)
                bits &= 0xffffffff;
            if (bytes == 1)
                bits &= 0xff;
            double a = dtype_load((enum dtype)t, &bits), b = compare_decode((uint32_t)t, bits);
            assert_true(a == b || (isnan(a) && isnan(b)));
        }
    }
}

static void nan_and_infinity(void **state)
{
    (void)state;
    assert_true(one(DT_F32, NAN, NAN, 0, 1, 1).bad == 0);
    assert_true(one(DT_F32, NAN, 1, 1, 1e9, 1e9).bad == 1);
    assert_true(one(DT_F32, 1, NAN, 1, 1e9, 1e9).bad == 1);
    assert_true(one(DT_F32, INFINITY, INFINITY, INFINITY, 1, 1).bad == 0);
    assert_true(one(DT_F32, -INFINITY, INFINITY, INFINITY, 1, 1).bad == 1);
    assert_true(one(DT_F32, 3e38, INFINITY, INFINITY, 1, 1).bad == 1);
    assert_true(one(DT_F32, INFINITY, 1, INFINITY, 1, 1).bad == 1);
    assert_true(isinf(one(DT_F32, NAN, 1, 1, 1, 1).ratio));
    /* An infinite magnitude does not make every value right. */
    assert_true(one(DT_F32, 5, 1, INFINITY, 1e-3, 0).bad == 1);
    assert_true(one(DT_F32, 5, 1, NAN, 1e-3, 0).bad == 1);
}

static void overflow_is_what_the_type_does(void **state)
{
    (void)state;
    assert_true(one(DT_F16, INFINITY, 1e6, 1e6, 0, 0).bad == 0);
    assert_true(one(DT_F16, INFINITY, 65503, 65503, 0, 0).bad == 1);
    assert_true(one(DT_F16, INFINITY, 65510, 65510, 1e-3, 0).bad == 0); /* within tolerance */
    assert_true(one(DT_F16, INFINITY, -1e6, 1e6, 0, 0).bad == 1);
    assert_true(one(DT_F16, 65504, 1e6, 1e6, 0, 0).bad == 1);
    assert_true(one(DT_F8E4M3, 448, 1000, 1000, 0, 0).bad == 0); /* saturates */
    assert_true(one(DT_F8E4M3, NAN, 1000, 1000, 0, 0).bad == 0);
    assert_true(one(DT_F8E4M3, NAN, 400, 400, 0, 0).bad == 1);
    assert_true(one(DT_F8E4M3, 416, 1000, 1000, 0, 0).bad == 1);
}

static void half_an_ulp_is_free(void **state)
{
    (void)state;
    double third = 1.0 / 3;
    for (int t = DT_F64; t <= DT_F8E5M2; t++) {
        struct compare_elem e = one((enum dtype)t, third, third, third, 0, 0);
        assert_true(e.ratio <= 1);
        uint64_t bits = 0;
        dtype_store((enum dtype)t, &bits, third);
        bits += 2; /* the second representable value after it */
        struct compare_rule r = {0, 0, 0, 0, (uint32_t)t, 0};
        assert_true(compare_element(&r, bits, 0, third, third).bad);
    }
    /* If the truth is tiny, the allowed error is half of the smallest denormal. */
    assert_true(one(DT_F16, 0, 0x1p-26, 0x1p-26, 0, 0).bad == 0);
    assert_true(one(DT_F16, 0, 0x1.8p-25, 0x1p-24, 0, 0).bad == 1);
}

static void integers_are_exact(void **state)
{
    (void)state;
    assert_true(one(DT_I32, 5, 5, 5, 0, 0).ratio == 0);
    assert_true(one(DT_I32, 6, 5, 5, 0, 0).bad == 1);
    assert_true(one(DT_BOOL, 1, 0, 0, 0, 0).bad == 1);
    assert_true(one(DT_I64, -7, -7, 7, 0, 0).bad == 0);
}

static void magnitude_scales_the_tolerance(void **state)
{
    (void)state;
    assert_true(one(DT_F32, 1e-4, 0, 100, 1e-5, 0).bad == 0); /* cancellation of large terms */
    assert_true(one(DT_F32, 1e-4, 0, 1, 1e-5, 0).bad == 1);
    assert_true(fabs(one(DT_F32, 3, 1, 1, 0, 1).ratio - 2) < 1e-6);
}

/* ---- whole outputs ---- */

struct fixture {
    struct job_buffer b;
    float *got;
    double *want, *mag;
    struct arena a;
    struct result_compare out;
};

static struct fixture make(int64_t rows, int64_t cols)
{
    uint64_t n = (uint64_t)(rows * cols);
    struct fixture f = {.b = {.name = "y",
                              .role = JOB_OUTPUT,
                              .dtype = DT_F32,
                              .elems = n,
                              .bytes = 4 * n,
                              .rank = 2,
                              .dims = {rows, cols},
                              .rtol = 1e-5,
                              .acc_eps = 0x1p-24}};
    f.got = malloc(4 * n + 1);
    f.want = malloc(8 * n + 1);
    f.mag = malloc(8 * n + 1);
    for (uint64_t i = 0; i < n; i++) {
        f.want[i] = 0.5 + (double)(poison_mix(i) >> 40) / (1 << 24);
        f.mag[i] = f.want[i];
        f.got[i] = (float)f.want[i];
    }
    return f;
}

static void done(struct fixture *f)
{
    free(f->got);
    free(f->want);
    free(f->mag);
    arena_release(&f->a);
}

static const struct result_compare *compare(struct fixture *f, unsigned threads)
{
    struct compare_input in = {&f->b, f->got, f->want, f->mag, POISON};
    f->out = (struct result_compare){0};
    compare_output(&in, threads, &f->a, &f->out);
    return &f->out;
}

static void a_right_output_is_near_ideal(void **state)
{
    (void)state;
    struct fixture f = make(300, 257);
    const struct result_compare *r = compare(&f, 3);
    assert_int_equal(r->n, 300 * 257);
    assert_int_equal(r->bad, 0);
    assert_true(r->max_ratio <= 1);
    assert_true(r->rms_ratio > 0.2 && r->rms_ratio < 1.5);
    assert_true(r->zero_ratio > 1e4);
    assert_string_equal(r->pattern, "");
    done(&f);
}

static void lower_precision_shows_in_the_budget(void **state)
{
    (void)state;
    struct fixture f = make(64, 64);
    f.b.rtol = 1e-2;
    for (uint64_t i = 0; i < f.b.elems; i++)
        f.got[i] = f16_to_f32(f16_from_f32(f.got[i]));
    const struct result_compare *r = compare(&f, 1);
    assert_int_equal(r->bad, 0);
    assert_true(r->rms_ratio > 500);
    done(&f);
}

/* The truth of a unit sample leaves out elements. A kernel must have written these, with any value.
 * Elements that the oracle never writes (COMPARE_SKIPPED) may even keep their poison. */
static void what_a_sample_leaves_out_must_be_written(void **state)
{
    (void)state;
    struct fixture f = make(64, 64);
    for (uint64_t i = 0; i < f.b.elems; i++)
        if (i >= 100)
            f.mag[i] = COMPARE_UNSEEN, f.got[i] = 12345; /* wrong, but not compared */
    uint32_t poison = (uint32_t)poison_bits(DT_F32, POISON, 2000);
    memcpy(&f.got[2000], &poison, sizeof poison);
    const struct result_compare *r = compare(&f, 1);
    assert_int_equal(r->n, 101);
    assert_int_equal(r->bad, 1);
    assert_int_equal(r->unwritten, 1);
    assert_int_equal(r->worst_elem, 2000);
    for (uint64_t i = 100; i < f.b.elems; i++)
        f.mag[i] = COMPARE_SKIPPED;
    r = compare(&f, 1);
    assert_int_equal(r->n, 100);
    assert_int_equal(r->bad + r->unwritten, 0);
    done(&f);
}

static void threads_do_not_change_the_answer(void **state)
{
    (void)state;
    struct fixture f = make(500, 500);
    for (uint64_t i = 0; i < f.b.elems; i += 1001)
        f.got[i] += 1;
    struct result_compare a = *compare(&f, 1), b = *compare(&f, 7);
    assert_int_equal(a.bad, b.bad);
    assert_int_equal(a.worst_elem, b.worst_elem);
    assert_true(a.max_ratio == b.max_ratio);
    assert_int_equal(a.nexamples, RESULT_MAX_EXAMPLES);
    for (uint32_t i = 1; i < a.nexamples; i++)
        assert_true(a.example_elem[i] > a.example_elem[i - 1]);
    assert_true(a.example_elem[a.nexamples - 1] > f.b.elems / 2);
    done(&f);
}

static void skipped_elements_are_not_compared(void **state)
{
    (void)state;
    struct fixture f = make(8, 8);
    for (uint64_t i = 0; i < 32; i++) {
        f.mag[i] = COMPARE_SKIPPED;
        f.got[i] = 1e9f;
    }
    const struct result_compare *r = compare(&f, 1);
    assert_int_equal(r->n, 32);
    assert_int_equal(r->bad, 0);
    done(&f);
}

static void poison_is_unwritten(void **state)
{
    (void)state;
    struct fixture f = make(20, 20);
    poison_fill(DT_F32, POISON, 4 * 30, f.got);
    const struct result_compare *r = compare(&f, 1);
    assert_int_equal(r->unwritten, 30);
    assert_non_null(strstr(r->pattern, "row"));
    assert_null(strstr(r->pattern, "written")); /* `unwritten` already says this */
    /* Values that are not this call's poison, such as those of an in-place tensor, may be wrong,
     * but do not count as unwritten. */
    poison_fill(DT_F32, POISON + 1, 4 * 30, f.got);
    assert_int_equal(compare(&f, 1)->unwritten, 0);
    assert_int_equal(f.out.bad, 30);
    /* An element that no kernel wrote is unwritten, even if the truth and the poison are NaN. */
    poison_fill(DT_F32, POISON, 4, f.got);
    f.want[0] = NAN;
    assert_int_equal(compare(&f, 1)->unwritten, 1);
    done(&f);
}

/* ---- patterns ---- */

static void expect(struct fixture *f, const char *words)
{
    const char *p = compare(f, 1)->pattern;
    if (!strstr(p, words))
        print_message("# wanted '%s' in '%s'\n", words, p);
    assert_non_null(strstr(p, words));
}

#define EACH(f, r, c)                           \
    for (int64_t r = 0; r < (f).b.dims[0]; r++) \
        for (int64_t c = 0; c < (f).b.dims[1]; c++)
#define AT(f, r, c) (f).got[(r) * (f).b.dims[1] + (c)]
#define WANT(f, r, c) (float)(f).want[(r) * (f).b.dims[1] + (c)]

static void patterns_of_place(void **state)
{
    (void)state;
    struct fixture f = make(77, 96);
    EACH(f, r, c)
    if (c % 4 == 1)
        AT(f, r, c) += (float)(r + 2) * 0.37f;
    expect(&f, "every 4th column, starting at column 1");
    done(&f);

    f = make(77, 96);
    EACH(f, r, c)
    if (r >= 64)
        AT(f, r, c) = 0;
    expect(&f, "rows 64..76, the last 13 of 77 (the rest after whole tiles of 64)");
    expect(&f, "all zero");
    done(&f);

    f = make(64, 96);
    EACH(f, r, c)
    if (r >= 16 && r < 32 && c >= 32 && c < 64)
        AT(f, r, c) += 1.5f * (float)(r * c);
    expect(&f, "rows 16..31, columns 32..63");
    done(&f);

    f = make(64, 96);
    EACH(f, r, c)
    if (c / 16 % 2)
        AT(f, r, c) += 1.5f * (float)(r * c + 1);
    expect(&f, "every second group of 16 columns (the odd ones)");
    done(&f);

    f = make(64, 96);
    f.got[13 * 96 + 5] = 100;
    expect(&f, "row 13 only, column 5 only");
    done(&f);

    /* if nearly all columns are wrong, that is no pattern */
    f = make(2, 128);
    EACH(f, r, c)
    if (c != 50 && c != 77)
        AT(f, r, c) += 1.5f * (float)(r * c + 1);
    assert_null(strstr(compare(&f, 1)->pattern, "column"));
    done(&f);

    f = make(10, 100);
    for (uint64_t i = 1000 - 150; i < 1000; i++)
        f.got[i] = -1;
    expect(&f, "elements 850..999, the last 150 of 1000");
    done(&f);
}

static void patterns_of_value(void **state)
{
    (void)state;
    struct fixture f = make(32, 32);
    EACH(f, r, c)
    AT(f, r, c) = WANT(f, c, r);
    expect(&f, "transposed");
    done(&f);

    f = make(33, 48);
    for (uint64_t i = 0; i < f.b.elems; i++)
        f.got[i] = (float)f.want[i % 33 * 48 + i / 33];
    expect(&f, "transposed");
    done(&f);

    f = make(32, 40);
    EACH(f, r, c)
    if (r > 0)
        AT(f, r, c) = WANT(f, r - 1, c);
    expect(&f, "off by one row");
    done(&f);

    f = make(32, 40);
    for (uint64_t i = 0; i + 1 < f.b.elems; i++)
        f.got[i] = (float)f.want[i + 1];
    expect(&f, "off by one");
    done(&f);

    f = make(32, 40);
    for (uint64_t i = 0; i < f.b.elems; i++)
        f.got[i] = (float)(f.want[i] * 0.125);
    expect(&f, "every element; they are 0.125 times the right values");
    done(&f);

    f = make(32, 40);
    for (uint64_t i = 0; i < f.b.elems; i++)
        f.got[i] = (float)-f.want[i];
    expect(&f, "wrong sign");
    done(&f);

    f = make(32, 40);
    for (uint64_t i = 0; i < f.b.elems; i++)
        f.got[i] = NAN;
    expect(&f, "they are NaN");
    done(&f);

    f = make(32, 64);
    for (uint64_t i = 0; i < f.b.elems; i++)
        f.got[i] = (float)f.want[i ^ 8];
    expect(&f, "groups of 8 elements are exchanged");
    done(&f);
}

static void odd_shapes_do_not_crash(void **state)
{
    (void)state;
    static const int64_t dims[][2] = {{1, 1}, {1, 7}, {7, 1}, {2, 2}, {3, 1000}};
    for (size_t k = 0; k < sizeof dims / sizeof *dims; k++) {
        struct fixture f = make(dims[k][0], dims[k][1]);
        for (uint64_t i = 0; i < f.b.elems; i++)
            f.got[i] = (float)poison_mix(i);
        assert_int_equal(compare(&f, 2)->bad, f.b.elems);
        f.b.rank = 0;
        assert_int_equal(compare(&f, 2)->bad, f.b.elems);
        done(&f);
    }
    struct fixture f = make(0, 5);
    assert_int_equal(compare(&f, 2)->n, 0);
    done(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(decode_agrees_with_dtype_load),
        cmocka_unit_test(nan_and_infinity),
        cmocka_unit_test(overflow_is_what_the_type_does),
        cmocka_unit_test(half_an_ulp_is_free),
        cmocka_unit_test(integers_are_exact),
        cmocka_unit_test(magnitude_scales_the_tolerance),
        cmocka_unit_test(a_right_output_is_near_ideal),
        cmocka_unit_test(lower_precision_shows_in_the_budget),
        cmocka_unit_test(what_a_sample_leaves_out_must_be_written),
        cmocka_unit_test(threads_do_not_change_the_answer),
        cmocka_unit_test(skipped_elements_are_not_compared),
        cmocka_unit_test(poison_is_unwritten),
        cmocka_unit_test(patterns_of_place),
        cmocka_unit_test(patterns_of_value),
        cmocka_unit_test(odd_shapes_do_not_crash),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
