/* Tests verdicts: written as JSON and read back, broken and older JSON, what their text says, and
 * the order of their kinds. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/util.h"
#include "eval/detail.h"
#include "prompt/say.h"
#include "report/verdict_text.h"
#include "verdict/counters.h"
#include "verdict/verdict.h"

static void fill(struct verdict *v)
{
    memset(v, 0, sizeof *v);
    v->kind = V_MISMATCH;
    v->stage = "check";
    v->detector = "compare";
    v->summary = "wrong";
    v->seed = UINT64_MAX;
    *vec_push(&v->workloads) = (struct verdict_workload){
        .name = "smoke:0", .role = "smoke", .shape = "N=4", .max_ratio = INFINITY, .output = "y"};
    *vec_push(&v->times) = (struct verdict_time){
        .workload = "time:0", .who = "candidate", .median_ns = 1234.5, .n = 7};
    *vec_push(&v->findings) = (struct verdict_finding){.workload = "check:0",
                                                       .role = "check",
                                                       .kind = FIND_RACE,
                                                       .kernel = "k",
                                                       .line = 12,
                                                       .block = {1, 2, 3},
                                                       .index = -1,
                                                       .count = 1ull << 40};
    *vec_push(&v->warnings) = "careful";
    verdict_set_score(v);
}

static void json_round_trip(void **state)
{
    (void)state;
    struct verdict v, back;
    struct err err = ERR_INIT;
    fill(&v);
    json_t *j = verdict_to_json(&v);
    assert_int_equal(verdict_from_json(&back, j, &err), 0);
    json_t *again = verdict_to_json(&back);
    assert_true(json_equal(j, again));
    assert_true(isinf(back.workloads.items[0].max_ratio));
    assert_true(back.seed == UINT64_MAX);
    assert_int_equal(back.findings.items[0].kind, FIND_RACE);
    json_decref(j);
    json_decref(again);
    verdict_release(&v);
    verdict_release(&back);
}

static bool is_later(const char *key)
{
    static const char *const later[] = {"baselines", "task_sha",      "speedup_over",
                                        "precision", "preconditions", "separation"};
    for (size_t i = 0; i < ARRAY_LEN(later); i++)
        if (str_eq(key, later[i]))
            return true;
    return false;
}

/* Verdicts of older stores and recordings lack some fields, such as the hash of their task. */
static void an_older_verdict_is_read(void **state)
{
    (void)state;
    struct verdict v, back;
    struct err err = ERR_INIT;
    fill(&v);
    json_t *j = verdict_to_json(&v);
    json_object_del(j, "baselines");
    json_object_del(j, "task_sha");
    json_object_del(j, "speedup_over");
    json_object_del(j, "precision");
    json_object_del(json_array_get(json_object_get(j, "workloads"), 0), "verified");
    json_object_del(json_array_get(json_object_get(j, "workloads"), 0), "verified_pct");
    assert_int_equal(verdict_from_json(&back, j, &err), 0);
    assert_string_equal(back.task_sha, "");
    assert_string_equal(back.precision, "");
    assert_string_equal(back.workloads.items[0].verified, "");
    assert_int_equal(back.baselines.n, 0);
    json_decref(j);
    verdict_release(&v);
    verdict_release(&back);
}

/* The text marks variants of PyTorch that were only timed beside the baselines. */
static void the_text_marks_variants_beside(void **state)
{
    (void)state;
    struct verdict v = {.kind = V_PASS, .time_ns = 2e3};
    const char **texts[] = {&v.stage,        &v.detector, &v.summary,    &v.detail,
                            &v.device,       &v.arch,     &v.bottleneck, &v.driver,
                            &v.speedup_over, &v.compiler, &v.task_sha,   &v.precision};
    static const char *const who[] = {"candidate", "torch", "torch.channels-last-timed"};
    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        *texts[i] = "";
    for (size_t i = 0; i < ARRAY_LEN(who); i++)
        *vec_push(&v.times) = (struct verdict_time){.workload = "time:0",
                                                    .shape = "N=4",
                                                    .who = who[i],
                                                    .median_ns = 2e3,
                                                    .lo_ns = 2e3,
                                                    .hi_ns = 2e3,
                                                    .n = 9,
                                                    .ratio = i ? 1 : 0};
    *vec_push(&v.baselines) = (struct verdict_baseline){
        .who = "torch.high", .state = "unverified", .text = "only its time is taken"};
    struct strbuf sb = STRBUF_INIT(4096);
    verdict_text(&sb, &v, false);
    static const char *const lines[] = {
        "  torch                        2.00 us measured",
        "  torch.channels-last-timed    2.00 us measured",
        "candidate is 1.00x as fast [0.00, 0.00]  (beside)\n",
        "beside: torch.high is unverified: only its time is taken\n",
    };
    for (size_t i = 0; i < ARRAY_LEN(lines); i++)
        if (!strstr(sb.buf, lines[i]))
            fail_msg("no '%s' in: %s", lines[i], sb.buf);
    strbuf_release(&sb);
    verdict_release(&v);
}

/* A workload that was only timed does not count as verified: the text lists it separately. */
static void the_text_says_what_was_verified(void **state)
{
    (void)state;
    const struct verdict_workload w[] = {
        {.name = "smoke:0", .ok = true, .verified = "whole", .verified_pct = 100},
        {.name = "time:0", .ok = true, .verified = "sample", .verified_pct = 0.25},
        {.name = "time:1", .ok = true, .verified = "none"},
    };
    struct verdict v = {.kind = V_PASS, .time_ns = 2e3, .speedup = 1.5, .speedup_over = "torch"};
    const char **texts[] = {&v.stage,    &v.detector, &v.summary,    &v.detail,
                            &v.device,   &v.arch,     &v.bottleneck, &v.driver,
                            &v.compiler, &v.task_sha, &v.precision};
    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        *texts[i] = "";
    for (size_t i = 0; i < ARRAY_LEN(w); i++) {
        *vec_push(&v.workloads) = w[i];
        v.workloads.items[i].output = v.workloads.items[i].note = "";
        v.workloads.items[i].role = str_starts(w[i].name, "time") ? "time" : "smoke";
        *vec_push(&v.times) = (struct verdict_time){
            .workload = w[i].name, .shape = "", .who = "candidate", .median_ns = 2e3};
    }
    *vec_push(&v.baselines) =
        (struct verdict_baseline){.who = "naive", .state = "wrong", .text = "mismatch: all of it"};
    struct strbuf sb = STRBUF_INIT(4096), told = STRBUF_INIT(256);
    verdict_text(&sb, &v, false);
    verdict_verified_text(&v, &told);
    assert_string_equal(told.buf, "1 workload verified whole, 1 by sample, 1 only timed");
    static const char *const lines[] = {
        "geometric mean of 3 shapes, 1.50x torch\n",
        "verified whole: 1 of 1 workloads right\n",
        "verified by sample: 1 of 1 workloads right (time:0 0.25% of the output)\n",
        "not verified, only timed: time:1\n",
        "baseline naive is wrong: mismatch: all of it; it gives no ratio\n",
    };
    for (size_t i = 0; i < ARRAY_LEN(lines); i++)
        if (!strstr(sb.buf, lines[i]))
            fail_msg("no '%s' in: %s", lines[i], sb.buf);
    strbuf_release(&sb);
    strbuf_release(&told);
    verdict_release(&v);
}

/* A verdict with a field of another type is refused. So is one with a missing field, unless older
 * verdicts lack this field. */
static void each_broken_field_is_refused(void **state)
{
    (void)state;
    struct verdict v, back;
    fill(&v);
    json_t *j = verdict_to_json(&v);
    const char *key;
    json_t *val;
    json_object_foreach(j, key, val)
    {
        struct err err = ERR_INIT;
        json_t *broken = json_deep_copy(j);
        json_object_del(broken, key);
        if (is_later(key)) {
            assert_int_equal(verdict_from_json(&back, broken, &err), 0);
            verdict_release(&back);
        } else {
            assert_int_equal(verdict_from_json(&back, broken, &err), -1);
            assert_true(err.msg[0]);
        }
        json_object_set_new(broken, key, json_pack("{s:n}", "x"));
        assert_int_equal(verdict_from_json(&back, broken, &err), -1);
        json_decref(broken);
    }
    json_decref(j);
    verdict_release(&v);
}

static void kinds_order_before_times(void **state)
{
    (void)state;
    struct verdict slow = {.kind = V_PASS, .time_ns = 1e9}, fast = {.kind = V_PASS, .time_ns = 1e3},
                   unsafe = {.kind = V_UNSAFE}, cheat = {.kind = V_CHEAT};
    struct verdict *all[] = {&slow, &fast, &unsafe, &cheat};
    for (size_t i = 0; i < ARRAY_LEN(all); i++)
        verdict_set_score(all[i]);
    assert_true(verdict_cmp(&fast, &slow) > 0);
    assert_true(verdict_cmp(&slow, &unsafe) > 0);
    assert_true(verdict_cmp(&unsafe, &cheat) > 0);
}

/* An author gets at most twelve counters. They belong to one kernel, at the timed shape that is
 * furthest from the roofline. Each has its unit and its meaning. */
static void few_counters_are_told(void **state)
{
    (void)state;
    static const struct verdict_counter counters[] = {
        {.workload = "check:2", .role = "check", .kernel = "k", .name = "dram_pct", .value = 1},
        {.workload = "time:0", .role = "time", .kernel = "k", .name = "dram_pct", .value = 91},
        {.workload = "time:1", .role = "time", .kernel = "k", .name = "time", .value = 900},
        {.workload = "time:1", .role = "time", .kernel = "k", .name = "dram_pct", .value = 20.25},
        {.workload = "time:1", .role = "time", .kernel = "k", .name = "inst_int", .value = 7},
        {.workload = "time:1", .role = "time", .kernel = "k", .name = "tensor_pct", .value = 0},
        {.workload = "time:1", .role = "time", .kernel = "brief", .name = "time", .value = 9},
        {.workload = "time:1", .role = "time", .kernel = "brief", .name = "dram_pct", .value = 3},
        {.workload = "code", .role = "static", .kernel = "k", .name = "registers", .value = 30},
    };
    struct verdict v = {
        .kind = V_PASS, .stage = "", .detector = "", .summary = "", .detail = "", .bottleneck = ""};
    struct strbuf sb = STRBUF_INIT(64 << 10);
    for (size_t i = 0; i < ARRAY_LEN(counters); i++) {
        struct verdict_counter *c = vec_push(&v.counters);
        *c = counters[i];
        c->unit = str_ends(c->name, "_pct") ? "%" : "1";
    }
    for (int i = 0; i < 2; i++)
        *vec_push(&v.times) = (struct verdict_time){.workload = i ? "time:1" : "time:0",
                                                    .shape = i ? "R=2" : "R=1",
                                                    .who = "candidate",
                                                    .median_ns = 1000,
                                                    .roofline_pct = i ? 30 : 90};
    say_verdict(&v, &(struct say_verdict){.profile = true}, &sb);
    if (!str_ends(sb.buf, "Counters of `k` at R=2:\n"
                          "- dram_pct: 20.2 % of the DRAM's peak throughput\n"
                          "- registers: 30 registers per thread\n"))
        fail_msg("%s", sb.buf);
    for (size_t i = 0; i < counter_ninfos; i++)
        *vec_push(&v.counters) = (struct verdict_counter){.workload = "time:1",
                                                          .role = "time",
                                                          .kernel = "k",
                                                          .name = counter_infos[i].name,
                                                          .unit = "1",
                                                          .value = 5};
    strbuf_clear(&sb);
    say_verdict(&v, &(struct say_verdict){.profile = true}, &sb);
    size_t told = 0;
    for (const char *p = strstr(sb.buf, "Counters of"); (p = strstr(p, "\n- ")); p++)
        told++;
    assert_int_equal(told, 12);
    vec_release(&v.counters);
    vec_release(&v.times);
    strbuf_release(&sb);
}

static size_t times_in(const char *text, const char *what)
{
    size_t n = 0;
    for (; (text = strstr(text, what)); text++)
        n++;
    return n;
}

/* The summary, the detail and several findings of a verdict may repeat the same message. The text
 * for an author has it once, with each line of the source that shows it. This is so for a finding,
 * for a compiler's message, and for a mismatch at many shapes. */
static void one_fault_is_told_once(void **state)
{
    (void)state;
    struct verdict v = {.kind = V_UNSAFE,
                        .stage = "emulate",
                        .detector = "",
                        .summary = "race at line 87 of kernel 'k' on smoke:0 (R=3): two threads "
                                   "write one byte",
                        .detail =
                            "race in 'k' line 87: two threads write one byte\n    87 | s[i] = "
                            "0;\nrace in 'k' line 99: two threads write one byte\n    99 | "
                            "s[j] = 1;",
                        .bottleneck = ""};
    struct strbuf sb = STRBUF_INIT(64 << 10);
    *vec_push(&v.workloads) = (struct verdict_workload){
        .name = "smoke:0", .role = "smoke", .shape = "R=3", .note = "", .output = ""};
    for (uint32_t i = 0; i < 4; i++) /* findings at two lines, each at two workloads */
        *vec_push(&v.findings) = (struct verdict_finding){.workload = i < 2 ? "smoke:0" : "check:1",
                                                          .role = i < 2 ? "smoke" : "check",
                                                          .kernel = "k",
                                                          .line = i % 2 ? 99 : 87,
                                                          .text = "two threads write one byte",
                                                          .other = "",
                                                          .count = 1};
    say_verdict(&v, &(struct say_verdict){0}, &sb);
    assert_int_equal(times_in(sb.buf, "two threads write one byte"), 1);
    assert_int_equal(times_in(sb.buf, "line 87"), 1);
    assert_int_equal(times_in(sb.buf, "line 99"), 1);
    assert_int_equal(times_in(sb.buf, "`s[i] = 0;`"), 1);
    assert_non_null(strstr(sb.buf, "R=3"));

    v.kind = V_COMPILE_ERROR;
    v.findings.n = v.workloads.n = 0;
    v.summary = "identifier \"x\" is undefined";
    v.detail = "kernel.cu:3: error: identifier \"x\" is undefined\n    3 | return x;";
    strbuf_clear(&sb);
    say_verdict(&v, &(struct say_verdict){0}, &sb);
    assert_int_equal(times_in(sb.buf, "is undefined"), 1);
    assert_non_null(strstr(sb.buf, "3 | return x;"));

    v.kind = V_MISMATCH;
    v.separation = "all 9 failing shapes have R >= 9; all with R <= 8 pass";
    v.summary = "check:0: y[0] is 1 instead of 2";
    v.detail = "check:0 (R=0): y[0] is 1 instead of 2";
    for (int i = 0; i < 9; i++)
        *vec_push(&v.workloads) = (struct verdict_workload){.name = i ? "check:7" : "check:0",
                                                            .role = "check",
                                                            .shape = i ? "R=70" : "R=9",
                                                            .note = "y[0] is 1 instead of 2",
                                                            .output = "y"};
    strbuf_clear(&sb);
    say_verdict(&v, &(struct say_verdict){0}, &sb);
    assert_int_equal(times_in(sb.buf, "y[0] is 1 instead of 2"), 1);
    assert_int_equal(times_in(sb.buf, "R=70"), 6);
    assert_non_null(strstr(sb.buf, "R=70 and 2 more\n"));
    assert_int_equal(times_in(sb.buf, v.separation), 1);
    for (int all = 0; all < 2; all++) {
        strbuf_clear(&sb);
        v.speedup_over = v.precision = v.bottleneck = v.device = v.compiler = v.task_sha = "";
        v.stage = v.detector = "";
        vec_each (struct verdict_workload, w, &v.workloads)
            w->verified = "whole";
        verdict_text(&sb, &v, all);
        assert_int_equal(times_in(sb.buf, v.separation), 1);
        assert_int_equal(times_in(sb.buf, "check:7 (R=70)"), all ? 8 : 0);
        assert_int_equal(times_in(sb.buf, "--all lists every wrong workload"), !all);
    }
    vec_release(&v.findings);
    vec_release(&v.workloads);
    strbuf_release(&sb);
}

static void no_text_steers_a_terminal(void **state)
{
    (void)state;
    struct verdict v = {.summary = "no kernel \"k\033[2Jpass\"", .detail = "line 1\n\tline 2"};
    *vec_push(&v.warnings) = "the kernel printed: \r\033]0;pass\a\177";
    verdict_plain_text(&v);
    assert_string_equal(v.summary, "no kernel \"k?[2Jpass\"");
    assert_string_equal(v.detail, "line 1\n\tline 2");
    assert_string_equal(v.warnings.items[0], "the kernel printed: ??]0;pass??");
    verdict_release(&v);
}

/* A sentence such as "all 4 failing shapes have C >= 9" leaves out held-out shapes
 * (check/case_order.h). So the list of wrong workloads says how many of those that it does not name
 * are held out. */
static void held_out_workloads_are_counted_apart(void **state)
{
    (void)state;
    enum { N = VERDICT_TOLD_WORKLOADS + 3 };
    static const uint32_t order[N] = {0, 1, 2, 3, 4, 5, 6};
    struct verdict v = {.kind = V_MISMATCH};
    for (uint32_t i = 0; i < N; i++)
        *vec_push(&v.workloads) = (struct verdict_workload){
            .name = "w", .shape = "C=1", .note = "wrong", .role = i == N - 1 ? "heldout" : "check"};
    const char *text = detail_findings(&v, "", order);
    assert_non_null(strstr(text, "... and 3 more workloads are wrong, 1 of them held out"));
    v.workloads.n--;
    text = detail_findings(&v, "", order);
    assert_null(strstr(text, "held out"));
    verdict_release(&v);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_text_steers_a_terminal),
        cmocka_unit_test(json_round_trip),
        cmocka_unit_test(each_broken_field_is_refused),
        cmocka_unit_test(an_older_verdict_is_read),
        cmocka_unit_test(the_text_says_what_was_verified),
        cmocka_unit_test(the_text_marks_variants_beside),
        cmocka_unit_test(kinds_order_before_times),
        cmocka_unit_test(few_counters_are_told),
        cmocka_unit_test(one_fault_is_told_once),
        cmocka_unit_test(held_out_workloads_are_counted_apart),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
