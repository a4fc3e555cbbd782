#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/util.h"
#include "prompt/say.h"
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

/* Every field missing or of another type is refused; none is guessed. */
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
        assert_int_equal(verdict_from_json(&back, broken, &err), -1);
        assert_true(err.msg[0]);
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

/* Counters are told of one shape only, under its name. */
static void counters_are_told_of_one_workload(void **state)
{
    (void)state;
    const struct verdict_counter counters[] = {
        {.workload = "check:2", .role = "check", .kernel = "k", .name = "divergent", .value = 1},
        {.workload = "check:2", .role = "check", .kernel = "k", .name = "bytes", .value = 10},
        {.workload = "time:0", .role = "time", .kernel = "k", .name = "bytes", .value = 20},
        {.workload = "code", .role = "static", .kernel = "k", .name = "registers", .value = 30},
    };
    struct verdict v = {
        .kind = V_PASS, .stage = "", .detector = "", .summary = "", .detail = "", .bottleneck = ""};
    struct strbuf sb = STRBUF_INIT(4096);
    for (size_t i = 0; i < ARRAY_LEN(counters); i++) {
        struct verdict_counter *c = vec_push(&v.counters);
        *c = counters[i];
        c->unit = "1";
    }
    say_verdict(&v, &(struct say_verdict){.profile = true}, &sb);
    if (!strstr(sb.buf, "Counters of `k` at time:0:\n- bytes: 20\n- registers: 30\n"))
        fail_msg("%s", sb.buf);
    assert_null(strstr(sb.buf, "divergent"));
    vec_release(&v.counters);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_text_steers_a_terminal),
        cmocka_unit_test(json_round_trip),
        cmocka_unit_test(each_broken_field_is_refused),
        cmocka_unit_test(kinds_order_before_times),
        cmocka_unit_test(counters_are_told_of_one_workload),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
