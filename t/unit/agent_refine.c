/* Tests the strategy refine, and the two simple strategies that share its loop: sample and
 * reflect. */
#include "agent_rig.h"

static void test_refine(void **state)
{
    struct run_config c = config("refine");
    c.steps = 4;
    struct outcome o = run(&c, refine_script);
    assert_int_equal(o.rc, 0);
    assert_int_equal(o.m.nodes.n, 7);
    assert_int_equal(node(&o, 1)->parent, 0);
    assert_int_equal(node(&o, 2)->parent, 1);
    assert_string_equal(node(&o, 2)->fate, "regression");
    assert_int_equal(node(&o, 3)->parent, 1); /* not the regression */
    assert_string_equal(node(&o, 3)->kind, "mismatch");
    assert_string_equal(node(&o, 4)->role, "repair");
    /* The repair that came nearest to passing is repaired further. */
    assert_int_equal(node(&o, 5)->parent, 4);
    assert_string_equal(node(&o, 5)->fate, "best");
    assert_int_equal(node(&o, 6)->parent, 5);
    assert_string_equal(node(&o, 6)->fate, "regression");
    assert_int_equal(o.m.run.best, 5);
    assert_int_equal(o.m.failures_entered, 1);
    assert_int_equal(o.m.failures_repaired, 1);
    assert_int_equal(o.m.regressions, 2);
    assert_int_equal(o.m.ideas.n, 4);
    assert_string_equal(o.m.ideas.items[1].outcome, "regression");
    assert_string_equal(o.m.ideas.items[2].kind, "vectorize");
    assert_true(o.m.ideas.items[2].gain > 1.33 && o.m.ideas.items[2].gain < 1.34);
    /* the next step is told which ideas were tried */
    const char *last = strstr(prompts.buf, "@@ code 4");
    assert_non_null(last);
    assert_non_null(
        strstr(last, "layout: rows => 200.0 us; its parent took 80.0 us (slower: not kept)"));
    run_summary_release(&o.m);
}

/* A call may ask for several moves. Each is judged by itself, and the step goes on with the best.
 */
static void test_refine_moves(void **state)
{
    struct run_config c = config("refine");
    c.steps = 3;
    c.moves = 3;
    struct outcome o = run(&c, moves_script);
    assert_int_equal(o.rc, 0);
    assert_int_equal(o.m.nodes.n, 8);
    for (int i = 1; i <= 3; i++)
        assert_int_equal(node(&o, i)->parent, 0);
    assert_string_equal(node(&o, 1)->fate, "kept");
    assert_string_equal(node(&o, 1)->move, "bigger");
    assert_string_equal(node(&o, 2)->kind, "mismatch");
    assert_string_equal(node(&o, 3)->move, "by four");
    assert_int_equal(node(&o, 4)->parent, 3); /* the only move of its reply that can be used */
    assert_string_equal(node(&o, 4)->move, "by eight");
    assert_int_equal(node(&o, 5)->parent, 4);
    assert_int_equal(node(&o, 6)->parent, 4);
    assert_string_equal(node(&o, 7)->role, "repair");
    assert_string_equal(node(&o, 7)->fate, "best");
    assert_int_equal(o.m.ideas.n, 6);
    assert_int_equal(o.asked, 1 + 3 + 2); /* first, three steps, a diagnosis and a repair */
    assert_non_null(strstr(prompts.buf, "Propose 3 DIFFERENT moves"));
    assert_null(strstr(prompts.buf, "exactly ONE move"));
    run_summary_release(&o.m);
}

/* A structural step that is 10% slower becomes the parent, and its child is the new best. */
static char *trial_script(const struct author_call *c)
{
    static const char *const times[] = {"pass 100", "pass 110", "pass 50",
                                        "pass 55",  "pass 56",  "pass 57"};
    if (c->index == 0)
        return file_reply("first: simple", times[0]);
    return edit_reply(c, "rewrite: structure", times[c->index]);
}

static void test_refine_trial(void **state)
{
    struct run_config c = config("refine");
    c.steps = 3;
    struct outcome o = run(&c, trial_script);
    assert_string_equal(node(&o, 1)->fate, "on trial");
    assert_int_equal(node(&o, 2)->parent, 1);
    assert_string_equal(node(&o, 2)->fate, "best");
    run_summary_release(&o.m);
}

static void test_refine_trial_ends(void **state)
{
    struct run_config c = config("refine");
    c.steps = 4;
    struct outcome o = run(&c, no_pay_script);
    assert_int_equal(node(&o, 2)->parent, 1);
    assert_int_equal(node(&o, 3)->parent, 2); /* candidate 2 is faster than 1 */
    assert_int_equal(node(&o, 4)->parent, 0); /* the best again */
    run_summary_release(&o.m);
}

static void test_refine_gives_up(void **state)
{
    struct run_config c = config("refine");
    c.tries = 2;
    c.repairs = 2;
    struct outcome o = run(&c, hopeless_script);
    assert_int_equal(o.rc, 1);
    assert_non_null(strstr(o.stop, "no first kernel"));
    assert_int_equal(o.m.nodes.n, 6);
    run_summary_release(&o.m);
    c.repairs = 0;
    o = run(&c, hopeless_script);
    assert_int_equal(o.m.nodes.n, 2);
    run_summary_release(&o.m);
}

/* No prompt before step c.profile_delay tells the kernel's counters or its bottleneck. Every prompt
 * from this step on does. */
static void test_delayed_profile(void **state)
{
    struct run_config c = config("refine");
    c.steps = 6;
    c.profile_delay = 4;
    struct outcome o = run(&c, steady_script);
    for (unsigned i = 0; i <= 6; i++) {
        char mark[32], next[32];
        snprintf(mark, sizeof mark, "@@ code %u\n", i);
        snprintf(next, sizeof next, "@@ code %u\n", i + 1);
        char *from = strstr(prompts.buf, mark), *to = strstr(prompts.buf, next);
        assert_non_null(from);
        char *text = xstrndup(from, to ? (size_t)(to - from) : strlen(from));
        bool told = strstr(text, "dram_sectors") || strstr(text, "SECRETBOTTLENECK");
        if (told != (i >= 4))
            fail_msg("step %u: counters %s", i, told ? "told" : "withheld");
        free(text);
    }
    run_summary_release(&o.m);
    c.profile = PROFILE_NEVER;
    o = run(&c, steady_script);
    assert_null(strstr(prompts.buf, "dram_sectors"));
    run_summary_release(&o.m);
    c.profile = PROFILE_ALWAYS;
    o = run(&c, steady_script);
    char *second = strstr(prompts.buf, "@@ code 1\n");
    assert_non_null(strstr(second, "dram_sectors"));
    run_summary_release(&o.m);
}

static char *roofline_script(const struct author_call *c)
{
    return c->index == 0 ? file_reply("first: x", "pass 100 50")
                         : edit_reply(c, "tuning: y", "pass 50 97");
}

static void test_stops_at_a_time(void **state)
{
    struct run_config c = config("refine");
    c.stop_ns = 85000;
    struct outcome o = run(&c, refine_script);
    assert_int_equal(o.m.nodes.n, 2); /* 100 us, 80 us */
    assert_non_null(strstr(o.stop, "as fast as was asked for"));
    run_summary_release(&o.m);
}

static void test_stops_at_roofline(void **state)
{
    struct run_config c = config("refine");
    struct outcome o = run(&c, roofline_script);
    assert_int_equal(o.rc, 1);
    assert_non_null(strstr(o.stop, "roofline"));
    assert_int_equal(o.m.nodes.n, 2);
    assert_string_equal(o.m.run.state, "done");
    run_summary_release(&o.m);
}

static void test_budgets(void **state)
{
    struct run_config c = config("refine");
    c.steps = 100;
    c.stop_pct = 0;
    c.budget.steps = 3;
    struct outcome o = run(&c, steady_script);
    assert_int_equal(o.m.nodes.n, 3);
    assert_non_null(strstr(o.stop, "3 judged"));
    assert_string_equal(o.m.run.state, "stopped");
    run_summary_release(&o.m);
    c.budget = (struct budget){.tokens = 450};
    o = run(&c, steady_script);
    /* 110 tokens each; the fifth call exceeds the budget, so there is no sixth. */
    assert_int_equal(o.asked, 5);
    run_summary_release(&o.m);
}

static char *refused_script(const struct author_call *c)
{
    switch (c->index) {
    case 0:
        return xstrdup("I would rather talk about it.");
    case 1:
        assert_non_null(strstr(c->turn, "could not be used"));
        return file_reply("first: x", "pass 100");
    case 2: /* twice an edit whose SEARCH text is not in the file */
    case 3:
        return xstrdup("MOVE: tiling: x\n<<<<<<< SEARCH\nnot there\n=======\ny\n>>>>>>> REPLACE\n");
    case 4: /* a kernel that does not use CuTe */
    default:
        return xstrdup("```cuda\n/* hone-plan {} */\n// judge: pass 1\n__global__ void k(){}\n```");
    }
}

static void test_refused(void **state)
{
    struct run_config c = config("refine");
    c.steps = 2;
    c.strict_dialect = true;
    struct outcome o = run(&c, refused_script);
    assert_int_equal(o.m.nodes.n, 3);
    assert_string_equal(node(&o, 0)->kind, "pass");
    assert_string_equal(node(&o, 1)->kind, "no_code");
    assert_string_equal(node(&o, 2)->kind, "rejected");
    assert_int_equal(o.asked, 6);
    assert_int_equal(o.m.refused, 2);
    run_summary_release(&o.m);
    c.dialect = DIALECT_CUDA; /* this dialect accepts the last reply */
    o = run(&c, refused_script);
    assert_string_equal(node(&o, 2)->kind, "pass");
    run_summary_release(&o.m);
    c.dialect = DIALECT_CUTE; /* and so does CuTe, if it is not strict */
    c.strict_dialect = false;
    o = run(&c, refused_script);
    assert_string_equal(node(&o, 2)->kind, "pass");
    assert_int_equal(o.asked, 5);
    run_summary_release(&o.m);
}

static char *sample_script(const struct author_call *c)
{
    char judge[32];
    snprintf(judge, sizeof judge, "pass %d", 100 - (int)(c->index * 37 % 50));
    return file_reply("first: one", c->index == 2 ? "mismatch" : judge);
}

static void test_sample_and_reflect(void **state)
{
    struct run_config c = config("sample");
    c.steps = 6;
    c.wave = 4;
    struct outcome o = run(&c, sample_script);
    assert_int_equal(o.m.nodes.n, 6);
    vec_each (struct node_rec, n, &o.m.nodes)
        assert_int_equal(n->parent, -1);
    run_summary_release(&o.m);
    c = config("reflect");
    c.steps = 4;
    o = run(&c, no_pay_script);
    for (size_t i = 1; i < 4; i++)
        assert_int_equal(node(&o, i)->parent, (int)i - 1);
    run_summary_release(&o.m);
}

int main(void)
{
    cmocka_set_message_output(CM_OUTPUT_TAP);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_refine),
        cmocka_unit_test(test_refine_moves),
        cmocka_unit_test(test_refine_trial),
        cmocka_unit_test(test_refine_trial_ends),
        cmocka_unit_test(test_refine_gives_up),
        cmocka_unit_test(test_delayed_profile),
        cmocka_unit_test(test_stops_at_a_time),
        cmocka_unit_test(test_stops_at_roofline),
        cmocka_unit_test(test_budgets),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_sample_and_reflect),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
