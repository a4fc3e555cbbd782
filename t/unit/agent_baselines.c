/* Tests which baselines candidates are timed with: PyTorch once in a run, the others always. */
#include "agent_rig.h"

static void test_first_pass_alone(void **state)
{
    struct run_config c = config("refine");
    struct fake f;
    c.steps = 3;
    struct outcome o = run_on_gpu(&c, steady_script, &f);
    /* The last order is the best kernel's confirmation (agent_confirm.c). */
    assert_string_equal(f.orders, "ahhha");
    run_summary_release(&o.m);
}

static char *late_script(const struct author_call *c)
{
    if (role_is(c, "diagnose"))
        return xstrdup("CAUSE: line 5");
    if (role_is(c, "repair"))
        return edit_reply(c, "repair: it", c->index == 0 ? "unsafe" : "pass 100");
    return c->index ? edit_reply(c, "tuning: more", "pass 90")
                    : file_reply("first: broken", "mismatch");
}

/* PyTorch is timed beside each candidate, until one of them passes. */
static void test_until_one_passes(void **state)
{
    struct run_config c = config("refine");
    struct fake f;
    c.steps = 1;
    struct outcome o = run_on_gpu(&c, late_script, &f);
    assert_string_equal(f.orders, "aaaha");
    run_summary_release(&o.m);
}

static char *wave_script(const struct author_call *c)
{
    static const char *const verdicts[] = {"mismatch", "pass 90", "pass 80", "pass 70",
                                           "pass 60",  "pass 50", "pass 40", "pass 30"};
    return file_reply("first: of many", verdicts[MIN(c->index, 7)]);
}

/* At most one candidate of a wave is timed with PyTorch. If this candidate fails, one of the next
 * wave is timed with PyTorch, even if others of this wave passed. */
static void test_waves(void **state)
{
    struct run_config c = config("sample");
    struct fake f;
    c.steps = 8;
    c.wave = 3;
    struct outcome o = run_on_gpu(&c, wave_script, &f);
    assert_string_equal(f.orders, "ahhahhhha");
    run_summary_release(&o.m);
}

/* The prompts of later steps have PyTorch's times, and name the candidate with which they were
 * measured. */
static void test_told_later(void **state)
{
    static const char *const told = "torch took 50.0 us when timed with candidate 0";
    struct run_config c = config("refine");
    struct fake f;
    c.steps = 2;
    struct outcome o = run_on_gpu(&c, steady_script, &f);
    const char *first = strstr(prompts.buf, "@@ code 1"),
               *second = strstr(prompts.buf, "@@ code 2");
    assert_non_null(first);
    assert_non_null(second);
    assert_non_null(strstr(first, "2.00x naive [1.98, 2.02]; 0.50x torch"));
    const char *at = strstr(first, told);
    assert_true(at > second);
    assert_non_null(strstr(second, "2.11x naive"));
    run_summary_release(&o.m);
}

/* A campaign times PyTorch only beside the winner of each task. */
static void test_only_at_the_end(void **state)
{
    struct run_config c = config("refine");
    struct fake f;
    c.steps = 3;
    c.torch_at_end = true;
    struct outcome o = run_on_gpu(&c, steady_script, &f);
    assert_string_equal(f.orders, "hhhha");
    assert_true(o.m.confirmed);
    run_summary_release(&o.m);
}

/* With `smoke`, candidates are evaluated at the smoke shapes only. */
static void test_smoke(void **state)
{
    struct run_config c = config("refine");
    struct fake f;
    c.steps = 1;
    c.smoke = true;
    c.baselines = false;
    struct outcome o = run_on_gpu(&c, steady_script, &f);
    assert_int_equal(f.depth, EVAL_SMOKE);
    run_summary_release(&o.m);
}

int main(void)
{
    cmocka_set_message_output(CM_OUTPUT_TAP);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_first_pass_alone),
        cmocka_unit_test(test_until_one_passes),
        cmocka_unit_test(test_waves),
        cmocka_unit_test(test_told_later),
        cmocka_unit_test(test_only_at_the_end),
        cmocka_unit_test(test_smoke),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
