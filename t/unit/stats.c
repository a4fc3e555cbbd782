/* Tests the statistics of times: medians, outliers, ratios of paired times, and the least time that
 * a GPU needs (the floor). */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/stats.h"
#include "measure/gpu.h"

static void median_of_even_and_odd(void **state)
{
    (void)state;
    assert_true(stats_median((double[]){3, 1, 2}, 3) == 2);
    assert_true(stats_median((double[]){4, 1, 2, 3}, 4) == 2.5);
    assert_true(stats_median(NULL, 0) == 0);
}

static void summary_ignores_an_outlier(void **state)
{
    (void)state;
    double v[41];
    for (int i = 0; i < 41; i++)
        v[i] = 100 + i % 5;
    v[7] = 1e9;
    struct stats s = stats_summary(v, 41, 1);
    assert_true(s.median == 102);
    assert_true(s.mad == 1);
    assert_true(s.lo >= 100 && s.hi <= 104 && s.lo <= s.median && s.hi >= s.median);
    assert_true(s.max == 1e9);
}

static void pairing_cancels_a_common_drift(void **state)
{
    (void)state;
    double a[30], b[30];
    for (int i = 0; i < 30; i++) {
        b[i] = 100 + 10 * i;
        a[i] = 2 * b[i];
    }
    struct stats r = stats_ratio(a, b, 30, 3);
    assert_true(fabs(r.lo - 2) < 1e-12 && fabs(r.hi - 2) < 1e-12);
}

/* Times are multiples of a step of the clock. The medians of both series are the same step, but the
 * ratio of the series must show that one of them is a little slower. */
static void ratio_sees_less_than_a_step(void **state)
{
    (void)state;
    double a[100], b[100];
    for (int i = 0; i < 100; i++) {
        a[i] = 32 * (i % 10 < 6 ? 375 : 376); /* 60% on the lower step */
        b[i] = 32 * (i % 10 < 7 ? 375 : 376); /* 70% on the lower step */
    }
    a[3] = b[4] = 1e9;
    double m[100];
    for (int i = 0; i < 100; i++)
        m[i] = a[i];
    assert_true(stats_median(m, 100) == 32 * 375);
    struct stats r = stats_ratio(a, b, 100, 3);
    assert_true(r.median > 1 && r.median < 1.002);
    assert_true(stats_midmean((double[]){1, 2, 3, 4, 5, 6, 7, 1e9}, 8) == 4.5);
}

static void a_floor_is_no_higher_than_physics(void **state)
{
    (void)state;
    struct job_gpu g = {.l2_bytes = 72 << 20, .dram_gbps = 1000, .l2_gbps = 4000};
    double mb = 1 << 20;
    /* If all data fits into the L2, it moves at the rate of the L2. Otherwise reads come from DRAM.
     * Written bytes may stay in the L2, as many as fit. */
    assert_true(gpu_floor_ns(&g, 0, 40 * mb, 20 * mb, DT_F32) == 40 * mb / 4000);
    assert_true(gpu_floor_ns(&g, 0, 192 * mb, 64 * mb, DT_F32) == 128 * mb / 1000);
    assert_true(gpu_floor_ns(&g, 0, 2000 * mb, 1000 * mb, DT_F32) == (2000 - 72) * mb / 1000);
    assert_true(gpu_floor_ns(&g, 0, 192 * mb, 0, DT_F32) == 192 * mb / 1000);
}

/* A timed call begins with a flushed L2. So data that fits into the L2 comes from DRAM too. */
static void a_roofline_counts_cold_data_at_the_rate_of_dram(void **state)
{
    (void)state;
    struct job_gpu g = {
        .l2_bytes = 60 << 20, .dram_gbps = 1000, .l2_gbps = 4000, .f16_tensor_tflops = 1};
    double mb = 1 << 20;
    const char *limit;
    assert_true(gpu_roofline_ns(&g, 0, 84 * mb, DT_F16, &limit) == 84 * mb / 1000);
    assert_string_equal(limit, "DRAM");
    assert_true(gpu_roofline_ns(&g, 0, 50 * mb, DT_F16, &limit) == 50 * mb / 1000);
    assert_string_equal(limit, "DRAM");
    assert_true(gpu_roofline_ns(&g, 1e9, mb, DT_F16, &limit) == 1e6);
    assert_string_equal(limit, "arithmetic");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(median_of_even_and_odd),
        cmocka_unit_test(summary_ignores_an_outlier),
        cmocka_unit_test(pairing_cancels_a_common_drift),
        cmocka_unit_test(ratio_sees_less_than_a_step),
        cmocka_unit_test(a_floor_is_no_higher_than_physics),
        cmocka_unit_test(a_roofline_counts_cold_data_at_the_rate_of_dram),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
