/* Tests what all strategies have in common: verdicts that are `unjudged`, compiles prepared early,
 * the content of prompts, the configuration in the store, and author calls that fail. */
#include "agent_rig.h"
#include "job/torch_variants.h"

static void test_unjudged(void **state)
{
    struct run_config c = config("refine");
    c.steps = 1;
    struct fake f = {.unjudged_first = 2};
    new_store();
    script = steady_script;
    int64_t id = new_run(&c);
    struct outcome o = carry_on(&c, id, &f);
    /* The first candidate was evaluated again; an `unjudged` verdict is no failure of it. */
    assert_int_equal(o.m.nodes.n, 2);
    assert_int_equal(o.m.failures, 0);
    run_summary_release(&o.m);
    new_store();
    f = (struct fake){.unjudged_first = 3};
    id = new_run(&c);
    o = carry_on(&c, id, &f);
    assert_int_equal(o.m.nodes.n, 0);
    assert_string_equal(o.m.run.state, "failed");
    run_summary_release(&o.m);
    f = (struct fake){.judged = 0};
    o = carry_on(&c, id, &f); /* resumed when the device is back */
    assert_int_equal(o.m.nodes.n, 2);
    assert_string_equal(o.m.run.state, "done");
    run_summary_release(&o.m);
}

/* When the run asks an author for a child of a candidate, the judge prepares for compiles of such
 * children. The order for each child contains the parent's source. If a resumed run finds the
 * author call in the store, the judge prepares nothing. */
static void test_prepare(void **state)
{
    struct run_config c = config("refine");
    struct fake f = {.judged = 0};
    c.steps = 3;
    new_store();
    script = steady_script;
    int64_t id = new_run(&c);
    struct outcome o = carry_on(&c, id, &f);
    assert_int_equal(o.m.nodes.n, 4);
    assert_int_equal(f.prepared, 3);
    assert_int_equal(f.with_parent, 3);
    run_summary_release(&o.m);
    f = (struct fake){.judged = 0};
    o = carry_on(&c, id, &f);
    assert_int_equal(o.recorded, 8);
    assert_int_equal(f.prepared, 0);
    run_summary_release(&o.m);
}

/* A run that evaluates only smoke workloads has no times. It ends at the first right kernel, which
 * is the best. */
static void test_smoke(void **state)
{
    struct run_config c = config("refine");
    struct fake f = {.judged = 0};
    (void)state;
    c.steps = 3;
    c.smoke = true;
    new_store();
    script = steady_script;
    struct outcome o = carry_on(&c, new_run(&c), &f);
    assert_int_equal(o.m.nodes.n, 1);
    assert_non_null(o.m.best);
    assert_string_equal(o.m.run.state, "done");
    run_summary_release(&o.m);
}

/* No prompt of any strategy contains a held-out shape, the oracle's source or a key. */
static void test_secrets(void **state)
{
    static const struct {
        const char *strategy;
        script_fn fn;
    } runs[] = {{"refine", refine_script},
                {"search", search_script},
                {"team", team_script},
                {"reflect", hopeless_script}};
    setenv("OPENAI_API_KEY", "sk-never-in-a-prompt", 1);
    for (size_t i = 0; i < ARRAY_LEN(runs); i++) {
        struct run_config c = config(runs[i].strategy);
        c.steps = 8;
        c.profile = PROFILE_ALWAYS;
        c.from = str_eq(c.strategy, "team") ? given : "";
        struct outcome o = run(&c, runs[i].fn);
        assert_true(prompts.len > 10000);
        assert_null(strstr(prompts.buf, "77777"));
        assert_null(strstr(prompts.buf, "sk-never"));
        assert_null(strstr(prompts.buf, "heldout"));
        assert_null(strstr(prompts.buf, "hone_ref.h"));
        /* No prompt has a line of the oracle. Short lines may occur by chance. */
        for (const char *p = task->reference_c; *p;) {
            size_t n = strcspn(p, "\n");
            char *line = xstrndup(p, n);
            if (n > 24 && strstr(prompts.buf, line))
                fail_msg("%s: a line of the oracle is in a prompt: %s", runs[i].strategy, line);
            free(line);
            p += n + (p[n] == '\n');
        }
        run_summary_release(&o.m);
    }
    unsetenv("OPENAI_API_KEY");
}

static void test_switches(void **state)
{
    struct run_config c = config("refine");
    c.steps = 1;
    struct outcome o = run(&c, steady_script);
    assert_non_null(strstr(prompts.buf, "Changes that help this class"));
    assert_non_null(strstr(prompts.buf, "A complete file, to show the form"));
    run_summary_release(&o.m);
    c.class_prompts = false;
    c.zero_shot = true;
    o = run(&c, steady_script);
    assert_null(strstr(prompts.buf, "Changes that help this class"));
    assert_null(strstr(prompts.buf, "A complete file, to show the form"));
    run_summary_release(&o.m);
}

static char *away(const struct author_call *c)
{
    return NULL;
}

/* When Hone makes a failed call again, the cost of the failed attempt stays part of the call. */
static void test_mended_call(void **state)
{
    struct run_config c = config("refine");
    struct fake f = {.judged = 0};
    struct err err = ERR_INIT;
    c.steps = 1;
    new_store();
    assert_int_equal(prices_load(&prices, &err), 0);
    script = away;
    int64_t id = new_run(&c);
    struct outcome o = carry_on(&c, id, &f);
    assert_string_equal(o.m.run.state, "failed");
    assert_non_null(strstr(o.stop, "the model is away"));
    struct call_rec paid = o.m.calls.items[0];
    paid.usd = 0.5;
    assert_int_equal(store_call_end(store, id, &paid, &err), 0);
    run_summary_release(&o.m);

    script = steady_script;
    f = (struct fake){.judged = 0};
    o = carry_on(&c, id, &f);
    assert_string_equal(o.m.run.state, "done");
    const struct call_rec *r = &o.m.calls.items[0];
    assert_true(r->ended && r->ok);
    assert_int_equal(r->in_tokens, 200);
    assert_int_equal(r->cached_tokens, 60);
    assert_int_equal(r->out_tokens, 20);
    assert_int_equal(r->requests, 2);
    assert_float_equal(r->usd, 0.5, 1e-9);
    run_summary_release(&o.m);
    prices_free(prices);
    prices = NULL;
}

static void test_config_json(void **state)
{
    struct arena mem = ARENA_INIT;
    struct err err = ERR_INIT;
    struct run_config c = config("search"), d;
    c.authors[AUTHOR_PLAN] = "exec:planner";
    c.budget.usd = 1.5;
    c.budget.tokens = UINT64_MAX; /* means no limit, and is stored as no limit */
    c.seed = UINT64_MAX;
    c.anchors = false;
    c.select = SELECT_GREEDY;
    c.from = "source";
    c.compiler = "nvcc"; /* stored, because another compiler makes other code of the same source */
    assert_int_equal(torch_variants_parse("max-autotune,high", &c.torch_variants, &err), 0);
    struct torch_program own = {"own.py", "def run(x): return x\n"};
    c.programs = (struct torch_programs){&own, 1};
    json_t *j = run_config_to_json(&c), *k;
    if (run_config_from_json(&d, j, &mem, &err) < 0)
        fail_with("run_config_from_json", &err);
    k = run_config_to_json(&d);
    assert_true(json_equal(j, k));
    assert_string_equal(d.compiler, "nvcc");
    assert_true(d.seed == UINT64_MAX && d.budget.tokens == INT64_MAX);
    assert_int_equal(d.torch_variants, c.torch_variants);
    assert_string_equal(d.programs.items[0].source, own.source);
    json_object_set_new(k, "torch_variants", json_string("turbo"));
    assert_int_equal(run_config_from_json(&d, k, &mem, &err), -1);
    json_object_del(k, "torch_variants");
    json_object_del(k, "compiler"); /* configurations of older versions do not have it */
    assert_int_equal(run_config_from_json(&d, k, &mem, &err), 0);
    assert_string_equal(d.compiler, "");
    assert_int_equal(d.torch_variants, 0);
    json_object_set_new(k, "wave", json_integer(-1));
    assert_int_equal(run_config_from_json(&d, k, &mem, &err), -1);
    json_decref(j);
    json_decref(k);
    arena_release(&mem);
}

int main(void)
{
    setenv("HONE_LOG", "error", 0); /* the tests provoke warnings */
    cmocka_set_message_output(CM_OUTPUT_TAP);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_unjudged),    cmocka_unit_test(test_prepare),
        cmocka_unit_test(test_smoke),       cmocka_unit_test(test_secrets),
        cmocka_unit_test(test_switches),    cmocka_unit_test(test_config_json),
        cmocka_unit_test(test_mended_call),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
