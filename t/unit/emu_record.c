/*
 * emu_record.c - compares the cost model with measured times, without an emulation. The inputs of
 * the model were recorded in t/cases/model/h200.tsv; docs/emulator-cost.md says how.
 *
 *     emu_record print     prints the modelled time and the bound of each case
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/util.h"
#include "emu/core/machine.h"

#define CASES "t/cases/model/h200.tsv"
#define MEASURED 7 /* the column of the measured times */

struct timed {
    char *code;
    double measured, modelled, lo, hi;
    const char *bound;
};
static VEC(struct timed) cases;

/* gpus/h200.json */
static const struct job_gpu h200 = {.sms = 132,
                                    .max_threads_per_sm = 2048,
                                    .max_blocks_per_sm = 32,
                                    .regs_per_sm = 65536,
                                    .smem_per_sm = 233472,
                                    .l2_bytes = 62914560,
                                    .clock_ghz = 1.83,
                                    .dram_gbps = 4800,
                                    .l2_gbps = 8400,
                                    .fp64_tflops = 34,
                                    .f16_tensor_tflops = 989,
                                    .tf32_tensor_tflops = 495,
                                    .f8_tensor_tflops = 1979,
                                    .s8_tensor_tops = 1979,
                                    .dram_latency_ns = 570,
                                    .launch_us = 2.6};

/* Adds the modelled times of a case's launches. */
static int model_case(char *launches, struct timed *t)
{
    static struct job job;
    static struct emu emu;
    char *save = NULL;
    double longest = 0;
    job.gpu = h200;
    emu.job = &job;
    for (char *p = strtok_r(launches, ";", &save); p; p = strtok_r(NULL, ";", &save)) {
        struct launch l = {.emu = &emu};
        struct occupancy o = {0};
        struct work w;
        struct model m;
        if (record_get(p, &l, &w, &o) < 0)
            return -1;
        model_time(&l, &w, &o, &m);
        t->modelled += m.time_ns;
        t->lo += m.lo_ns;
        t->hi += m.hi_ns;
        if (m.time_ns > longest)
            t->bound = m.bound;
        longest = MAX(longest, m.time_ns);
    }
    return 0;
}

static int load(void)
{
    FILE *f = fopen(CASES, "r");
    char *line = NULL;
    size_t cap = 0;
    int rc = f ? 0 : -1;
    while (f && rc == 0 && getline(&line, &cap, f) > 0) {
        char *column[9], *p = line;
        size_t n = 0;
        if (*line == '#')
            continue;
        for (; n < ARRAY_LEN(column) && p; n++) {
            column[n] = p;
            p = strchr(p, '\t');
            if (p)
                *p++ = 0;
        }
        struct timed t = {0};
        rc = n == ARRAY_LEN(column) ? model_case(column[8], &t) : -1;
        if (rc < 0)
            continue;
        t.code = xstrdup(column[0]);
        t.measured = atof(column[MEASURED]);
        *vec_push(&cases) = t;
    }
    free(line);
    if (f)
        fclose(f);
    return rc;
}

static double rank_of(size_t i, bool modelled)
{
    double mine = modelled ? cases.items[i].modelled : cases.items[i].measured, rank = 0;
    for (size_t k = 0; k < cases.n; k++) {
        double v = modelled ? cases.items[k].modelled : cases.items[k].measured;
        rank += v < mine ? 1 : v <= mine ? 0.5 : 0;
    }
    return rank;
}

static void order_is_that_of_the_gpu(void **state)
{
    (void)state;
    double n = (double)cases.n, mean = n / 2, ab = 0, aa = 0, bb = 0;
    for (size_t i = 0; i < cases.n; i++) {
        double a = rank_of(i, true) - mean, b = rank_of(i, false) - mean;
        ab += a * b;
        aa += a * a;
        bb += b * b;
    }
    double rho = ab / sqrt(aa * bb);
    printf("# %zu times, Spearman's rho %.3f\n", cases.n, rho);
    assert_true(cases.n > 400);
    assert_true(rho >= 0.97);
}

static double share_within(double factor, const char *code)
{
    double within = 0, n = 0;
    vec_each (struct timed, t, &cases) {
        if (code && !str_eq(t->code, code))
            continue;
        within += fabs(log(t->modelled / t->measured)) <= log(factor);
        n++;
    }
    return n > 0 ? within / n : 0;
}

static void times_are_near(void **state)
{
    (void)state;
    double all = share_within(1.5, NULL), twice = share_within(2, NULL);
    printf("# within 1.5x: %.1f%%, within 2x: %.1f%%\n", 100 * all, 100 * twice);
    assert_true(all >= 0.90);
    assert_true(twice >= 0.96);
}

/* A verdict promises that its interval holds 80% of the measured times. */
static void intervals_hold(void **state)
{
    (void)state;
    double in = 0;
    vec_each (struct timed, t, &cases) {
        assert_true(t->lo > 0 && t->lo <= t->hi);
        in += t->measured >= t->lo && t->measured <= t->hi;
    }
    printf("# in the interval: %.1f%%\n", 100 * in / (double)cases.n);
    assert_true(in / (double)cases.n >= 0.78);
}

static void unknown_fields_are_refused(void **state)
{
    (void)state;
    struct launch l = {0};
    struct occupancy o = {0};
    struct work w;
    assert_int_equal(record_get("nblocks=4 warps.2=7.5 issued=3", &l, &w, &o), 0);
    assert_true(l.nblocks == 4 && w.warps[2] > 7.4 && w.issued > 2.9);
    assert_int_equal(record_get("nblocks=4 wraps=1", &l, &w, &o), -1);
    assert_int_equal(record_get("warps.99=1", &l, &w, &o), -1);
    assert_int_equal(record_get("nblocks", &l, &w, &o), -1);
}

int main(int argc, char **argv)
{
    if (load() < 0) {
        fprintf(stderr, "%s: cannot be read\n", CASES);
        return 1;
    }
    if (argc > 1 && str_eq(argv[1], "print")) {
        vec_each (struct timed, t, &cases)
            printf("%.6g\t%s\n", t->modelled, t->bound);
        return 0;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(order_is_that_of_the_gpu), cmocka_unit_test(times_are_near),
        cmocka_unit_test(intervals_hold), cmocka_unit_test(unknown_fields_are_refused)};
    cmocka_set_message_output(CM_OUTPUT_TAP);
    int rc = cmocka_run_group_tests(tests, NULL, NULL);
    vec_each (struct timed, t, &cases)
        free(t->code);
    vec_release(&cases);
    return rc;
}
