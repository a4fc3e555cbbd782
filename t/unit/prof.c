/*
 * Tests profiles: the units in ncu's CSV, means over launches that are weighted by time, and a
 * bottleneck for each category.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/util.h"
#include "eval/ceilings.h"
#include "prof/metrics.h"
#include "prof/prof.h"
#include "verdict/counters.h"

#define PCT ".avg.pct_of_peak_sustained_elapsed"

static const char csv[] =
    "==PROF== Connected to process 42\n"
    "a line the program printed, with a comma\n"
    "\"ID\",\"Process ID\",\"Kernel Name\",\"gpu__time_duration.sum\",\"dram__throughput" PCT "\","
    "\"dram__bytes.sum\",\"sm__inst_issued" PCT "\",\"sm__pipe_tensor_cycles_active" PCT "\"\n"
    "\"\",\"\",\"\",\"ns\",\"%\",\"byte\",\"%\",\"%\"\n"
    "\"0\",\"42\",\"rows\",\"1,000\",\"90\",\"4,000,000\",\"10\",\"n/a\"\n"
    "\"1\",\"42\",\"fin \"\"x\"\"\",\"200\",\"5\",\"10\",\"20\",\"n/a\"\n"
    "\"2\",\"42\",\"rows\",\"3,000\",\"50\",\"2,000,000\",\"30\",\"n/a\"\n";

static double counter(const struct verdict *v, const char *kernel, const char *name,
                      const char *unit)
{
    vec_each (const struct verdict_counter, c, &v->counters)
        if (str_eq(c->kernel, kernel) && str_eq(c->name, name)) {
            assert_string_equal(c->unit, unit);
            assert_string_equal(c->workload, "time:0");
            return c->value;
        }
    return NAN;
}

static void ncu_rows_become_counters(void **state)
{
    (void)state;
    struct arena a = ARENA_INIT;
    struct err err = ERR_INIT;
    struct verdict v = {.kind = V_PASS};
    struct ncu_table *t;
    assert_int_equal(ncu_read(&t, csv, sizeof csv - 1, &a, &err), 0);
    assert_int_equal(ncu_launches(t), 3);
    assert_string_equal(ncu_kernel(t, 1), "fin \"x\"");
    ncu_counters(t, 0, 3, "time:0", &v);
    assert_true(counter(&v, "rows", "gpu__time_duration.sum", "ns") == 4000);
    assert_true(counter(&v, "rows", "dram__bytes.sum", "byte") == 6e6);
    assert_true(counter(&v, "rows", "dram__throughput" PCT, "%") == 60); /* weighted by time */
    assert_true(counter(&v, "rows", "launches", "1") == 2);
    assert_true(isnan(counter(&v, "rows", "sm__pipe_tensor_cycles_active" PCT, "%")));
    struct prof_kernel k[4];
    assert_int_equal(prof_from_counters(&v, "time:0", k, 4), 2);
    assert_int_equal(prof_from_counters(&v, "time:1", k, 4), 0);
    assert_int_equal(prof_from_counters(&v, "time:0", k, 1), 1); /* no room for the second */
    assert_string_equal(k[0].source, "ncu");
    assert_true(k[0].time_ns == 4000 && k[0].launches == 2 && isnan(k[0].tensor_pct));
    verdict_release(&v);

    /* Now take only the launches of one case. */
    v = (struct verdict){.kind = V_PASS};
    ncu_counters(t, 2, 1, "time:0", &v);
    assert_true(counter(&v, "rows", "dram__throughput" PCT, "%") == 50);
    verdict_release(&v);
    arena_release(&a);
}

static void ncu_refusals_are_told(void **state)
{
    (void)state;
    struct arena a = ARENA_INIT;
    struct err err = ERR_INIT;
    struct ncu_table *t;
    static const char no[] = "==PROF== x\n==ERROR== ERR_NVGPUCTRPERM - no permission\nmore\n";
    assert_int_equal(ncu_read(&t, no, sizeof no - 1, &a, &err), -1);
    assert_non_null(strstr(err.msg, "ERR_NVGPUCTRPERM"));
    assert_null(strstr(err.msg, "more"));
    assert_int_equal(ncu_read(&t, "", 0, &a, &err), -1);
    /* If the CSV is cut off anywhere, reading it neither crashes nor invents a launch. */
    for (size_t n = 0; n < sizeof csv; n++)
        if (ncu_read(&t, csv, n, &a, NULL) == 0)
            assert_true(ncu_launches(t) <= 3);
    arena_release(&a);
}

static void each_category_has_its_name(void **state)
{
    (void)state;
    static const struct {
        const char *metric;
        double value;
        enum prof_bound bound;
    } all[] = {
        {"dram__throughput" PCT, 91, BOUND_DRAM},
        {"lts__t_sectors" PCT, 85, BOUND_L2},
        {"l1tex__data_pipe_lsu_wavefronts_mem_shared" PCT, 97, BOUND_SHARED},
        {"sm__inst_issued" PCT, 88, BOUND_ISSUE},
        {"sm__inst_executed_pipe_xu" PCT, 95, BOUND_ISSUE},
        {"sm__pipe_tensor_op_hmma_cycles_active" PCT, 93, BOUND_TENSOR},
        {"dram__throughput" PCT, 12, BOUND_LATENCY},
    };
    for (size_t i = 0; i < ARRAY_LEN(all); i++) {
        struct verdict v = {.kind = V_PASS};
        struct verdict_counter c = {.workload = "time:0", .role = "time", .kernel = "k"};
        c.name = "gpu__time_duration.sum";
        c.unit = "us";
        c.value = 100;
        *vec_push(&v.counters) = c;
        c.name = all[i].metric;
        c.unit = "%";
        c.value = all[i].value;
        *vec_push(&v.counters) = c;
        *vec_push(&v.times) = (struct verdict_time){.workload = "time:0", .who = "candidate"};
        struct prof_kernel k[1];
        assert_int_equal(prof_from_counters(&v, "time:0", k, 1), 1);
        assert_true(k[0].time_ns == 1e5);
        assert_int_equal(prof_classify(&k[0], 2500), all[i].bound);
        assert_int_equal(prof_classify(&k[0], 80000),
                         all[i].value < 60 ? BOUND_LAUNCH : all[i].bound);
        struct strbuf sb = STRBUF_INIT(1000);
        prof_verdict_text(&sb, &v, 2500);
        assert_true(str_starts(sb.buf, prof_bound_name(all[i].bound)));
        char evidence[16];
        snprintf(evidence, sizeof evidence, "%.0f%%", all[i].value);
        assert_non_null(strstr(sb.buf, evidence));
        strbuf_release(&sb);
        verdict_release(&v);
    }
}

/* Without counters of ncu, those of the emulator are used. If there are several workloads, each has
 * a line. */
static void modelled_counters(void **state)
{
    (void)state;
    struct verdict v = {.kind = V_PASS};
    static const char *const names[] = {"time", "dram_pct", "latency_pct", "issue_pct"};
    static const double at0[] = {50000, 70, 10, 20}, at1[] = {50000, 20, 75, 20};
    for (int w = 0; w < 2; w++) {
        const char *workload = w ? "time:1" : "time:0";
        for (size_t i = 0; i < ARRAY_LEN(names); i++)
            *vec_push(&v.counters) = (struct verdict_counter){.workload = workload,
                                                              .role = "time",
                                                              .kernel = "k",
                                                              .name = names[i],
                                                              .unit = i ? "%" : "ns",
                                                              .value = w ? at1[i] : at0[i]};
        *vec_push(&v.times) = (struct verdict_time){.workload = workload, .who = "candidate"};
        *vec_push(&v.times) = (struct verdict_time){.workload = workload, .who = "naive"};
    }
    struct strbuf sb = STRBUF_INIT(1000);
    prof_verdict_text(&sb, &v, 2500);
    assert_true(str_starts(sb.buf, "time:0: dram-bound: 70%"));
    assert_non_null(strstr(sb.buf, "\ntime:1: latency-bound:"));
    assert_non_null(strstr(sb.buf, "; model)"));
    strbuf_release(&sb);
    verdict_release(&v);
}

static void ceilings_are_read_with_care(void **state)
{
    (void)state;
    static const char good[] = "{\"device\": \"NVIDIA H200\", \"copy_gbps\": 4300.5, "
                               "\"read_gbps\": 4400, \"f32_tflops\": 60.1, \"f16_tflops\": 800, "
                               "\"tf32_tflops\": 300, \"empty_launch_ns\": 2100}";
    struct ceilings c;
    assert_int_equal(ceilings_parse(&c, good, sizeof good - 1, NULL), 0);
    assert_true(c.dram_gbps == 4400 && c.f16_tflops == 800 && c.launch_ns == 2100);
    for (size_t n = 0; n < sizeof good - 1; n++) {
        assert_int_equal(ceilings_parse(&c, good, n, NULL), -1);
        assert_true(c.dram_gbps == 0);
    }
    static const char *const bad[] = {"[]", "{}", "{\"copy_gbps\": -1}", "nonsense"};
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        assert_int_equal(ceilings_parse(&c, bad[i], strlen(bad[i]), NULL), -1);
}

static void every_counter_has_a_meaning(void **state)
{
    (void)state;
    for (size_t i = 0; i < prof_nmetrics; i++)
        if (!*counter_meaning(prof_metrics[i].name))
            fail_msg("%s has no meaning", prof_metrics[i].name);
    assert_string_equal(counter_meaning("dram_pct"), "of the DRAM's peak throughput");
    assert_string_equal(counter_meaning("inst_fp64"),
                        "instructions of this kind, counted once per thread");
    assert_string_equal(counter_meaning("no_such_counter"), "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ncu_rows_become_counters),
        cmocka_unit_test(ncu_refusals_are_told),
        cmocka_unit_test(each_category_has_its_name),
        cmocka_unit_test(modelled_counters),
        cmocka_unit_test(ceilings_are_read_with_care),
        cmocka_unit_test(every_counter_has_a_meaning),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
