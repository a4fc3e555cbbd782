/* Tests the confirmation: at the end of a run, the best kernel is evaluated once more, with
 * PyTorch. */
#include "agent_rig.h"
#include "report/page.h"

static bool recorded_again(const struct outcome *o, uint64_t node, char kind[32])
{
    struct arena mem = ARENA_INIT;
    struct verdict_rec r;
    struct err err = ERR_INIT;
    int rc = store_verdict_get(store, o->m.run.id, STORE_CONFIRM + node, &r, &mem, &err);
    if (rc < 0)
        fail_with("store_verdict_get", &err);
    if (rc)
        snprintf(kind, 32, "%s", r.kind);
    arena_release(&mem);
    return rc == 1;
}

static void report_of(const struct outcome *o, struct strbuf *out)
{
    char dir[600], path[640];
    struct err err = ERR_INIT;
    snprintf(dir, sizeof dir, "%s/report", tmp.path);
    snprintf(path, sizeof path, "%s/report.md", dir);
    strbuf_clear(out);
    if (report_write(&o->m, store, dir, &err) < 0 || file_read(path, 1 << 20, out, &err) < 0)
        fail_with("report_write", &err);
}

static void test_confirmed(void **state)
{
    struct run_config c = config("refine");
    struct strbuf sb = STRBUF_INIT(1 << 20);
    struct fake f;
    char kind[32];
    c.steps = 3;
    c.profile = PROFILE_ALWAYS;
    struct outcome o = run_on_gpu(&c, steady_script, &f);
    assert_string_equal(f.orders, "ahhha");
    assert_int_equal(f.depth, EVAL_TIME); /* no profile, because the kernel's counters are known */
    assert_string_equal(o.m.run.state, "done");
    assert_string_equal(o.m.run.reason, "");
    assert_int_equal(o.m.run.best, 3);
    assert_int_equal(o.m.nodes.n, 4); /* the confirmation adds no candidate */
    assert_true(recorded_again(&o, 3, kind));
    assert_string_equal(kind, "pass");
    assert_true(o.m.has_with_torch && o.m.confirmed);
    against_baselines_print(&o.m, &sb);
    assert_string_equal(sb.buf,
                        "  candidate 3 against its baselines, evaluated once more at the end of "
                        "the run:\n"
                        "    R=1\n"
                        "      the kernel        85.0 us\n"
                        "      naive            200.0 us  2.35x [2.33, 2.38]\n"
                        "      torch             50.0 us  0.59x [0.58, 0.59]\n");
    report_of(&o, &sb);
    assert_non_null(strstr(sb.buf, "| shape | the kernel | naive | torch |\n"
                                   "| --- | ---: | ---: | ---: |\n"
                                   "| R=1 | 85.0 us | 200.0 us, 2.35x [2.33, 2.38] | 50.0 us, "
                                   "0.59x [0.58, 0.59] |\n"));
    json_t *j = run_summary_json(&o.m);
    assert_true(json_is_true(json_object_get(j, "confirmed")));
    assert_int_equal(json_array_size(json_object_get(j, "beside")), 3);
    json_decref(j);
    run_summary_release(&o.m);
    strbuf_release(&sb);
}

static char *downhill_script(const struct author_call *c)
{
    return c->index ? edit_reply(c, "tuning: worse", c->index == 1 ? "pass 120" : "pass 130")
                    : file_reply("first: x", "pass 90");
}

/* The best kernel is not evaluated again if it was already timed with PyTorch, or if it can never
 * be timed with PyTorch. */
static void test_nothing_to_confirm(void **state)
{
    struct run_config c = config("refine");
    struct fake f;
    c.steps = 2;
    struct outcome o = run_on_gpu(&c, downhill_script, &f);
    assert_string_equal(f.orders, "ahh");
    assert_string_equal(o.m.run.reason, "");
    assert_true(o.m.has_with_torch && !o.m.confirmed);
    run_summary_release(&o.m);

    new_store(); /* on the emulator */
    f = (struct fake){.model = true};
    script = steady_script;
    int64_t id = new_run(&c);
    o = carry_on(&c, id, &f);
    /* On the emulator, BASELINES_ALL means the same as BASELINES_HERE. */
    assert_string_equal(f.orders, "aaa");
    assert_string_equal(o.m.run.reason, "");
    assert_false(o.m.has_with_torch);
    run_summary_release(&o.m);
    c.steps = 4; /* resumed on a GPU */
    f = (struct fake){.gpu = true};
    o = carry_on(&c, id, &f);
    assert_string_equal(f.orders, "aha");
    assert_true(o.m.confirmed);
    run_summary_release(&o.m);
    c.steps = 2;

    new_store(); /* a GPU without PyTorch */
    f = (struct fake){.judged = 0};
    o = carry_on(&c, new_run(&c), &f);
    assert_string_equal(f.orders, "ahh");
    assert_string_equal(o.m.run.state, "done");
    assert_string_equal(o.m.run.reason, "the best kernel is not confirmed: PyTorch did not run "
                                        "beside candidate 0");
    run_summary_release(&o.m);

    c.baselines = false; /* the user wants no baselines */
    o = run_on_gpu(&c, steady_script, &f);
    assert_string_equal(f.orders, "ahh");
    assert_string_equal(o.m.run.reason, "");
    run_summary_release(&o.m);
}

/* Kernels of 100, 80, 70 and 60 us. Those of 80 and 60 us fail when they are evaluated again. */
static char *lucky_script(const struct author_call *c)
{
    static const char *const verdicts[] = {"pass 80 0 again=mismatch", "pass 70",
                                           "pass 60 0 again=unsafe"};
    return c->index ? edit_reply(c, "tuning: more", verdicts[MIN(c->index, 3) - 1])
                    : file_reply("first: x", "pass 100");
}

/* A kernel that passed by luck is not the best, and the summary says that it failed. */
static void test_luck(void **state)
{
    static const char *const aloud = "NOT CONFIRMED: candidate 3 passed, but failed when it was "
                                     "evaluated again: unsafe: made to fail";
    struct run_config c = config("refine");
    struct strbuf sb = STRBUF_INIT(1 << 20);
    struct fake f;
    char kind[32];
    c.steps = 3;
    struct outcome o = run_on_gpu(&c, lucky_script, &f);
    assert_string_equal(f.orders, "ahhhaa");
    assert_string_equal(o.m.run.state, "done");
    assert_string_equal(o.m.run.reason, "");
    assert_int_equal(o.m.run.best, 2);
    assert_string_equal(node(&o, 3)->fate, "unconfirmed");
    assert_string_equal(node(&o, 2)->fate, "best");
    assert_true(recorded_again(&o, 3, kind));
    assert_string_equal(kind, "unsafe");
    assert_true(recorded_again(&o, 2, kind));
    assert_true(o.m.confirmed);
    run_summary_print(&o.m, &sb);
    assert_non_null(strstr(sb.buf, aloud));
    assert_non_null(strstr(sb.buf, "best: 70.0 us"));
    report_of(&o, &sb);
    assert_non_null(strstr(sb.buf, aloud));
    assert_non_null(strstr(sb.buf, "- confirm: candidate 3 passed, but failed"));
    run_summary_release(&o.m);
    strbuf_release(&sb);
}

static char *all_luck_script(const struct author_call *c)
{
    char judge[64];
    snprintf(judge, sizeof judge, "pass %d 0 again=unsafe", 100 - (int)c->index * 5);
    return c->index ? edit_reply(c, "tuning: more", judge) : file_reply("first: x", judge);
}

static void test_much_luck(void **state)
{
    struct run_config c = config("refine");
    struct fake f;
    c.steps = 2; /* the kernel that was timed with PyTorch becomes the best */
    struct outcome o = run_on_gpu(&c, all_luck_script, &f);
    assert_string_equal(f.orders, "ahhaa");
    assert_int_equal(o.m.run.best, 0);
    assert_int_equal(o.m.unconfirmed.n, 2);
    assert_string_equal(o.m.run.reason, "");
    run_summary_release(&o.m);
    c.steps = 5; /* the run gives up after three failures */
    o = run_on_gpu(&c, all_luck_script, &f);
    assert_string_equal(f.orders, "ahhhhhaaa");
    assert_int_equal(o.m.run.best, 2);
    assert_int_equal(o.m.unconfirmed.n, 3);
    assert_string_equal(
        o.m.run.reason,
        "the best kernel is not confirmed: 3 faster kernels failed their confirmation");
    run_summary_release(&o.m);
}

/* If the judge fails at the confirmation, the run is complete without it. */
static void test_unjudged(void **state)
{
    struct run_config c = config("refine");
    struct fake f = {.gpu = true, .unjudged_again = true};
    c.steps = 1;
    new_store();
    script = steady_script;
    int64_t id = new_run(&c);
    struct outcome o = carry_on(&c, id, &f);
    assert_string_equal(f.orders, "ahaaa");
    assert_string_equal(o.m.run.state, "done");
    assert_string_equal(o.m.run.reason,
                        "the best kernel is not confirmed: the judge failed 3 times");
    assert_int_equal(o.m.run.best, 1);
    run_summary_release(&o.m);
    f = (struct fake){.gpu = true};
    o = carry_on(&c, id, &f); /* the judge works again */
    assert_string_equal(f.orders, "a");
    assert_string_equal(o.m.run.reason, "");
    assert_true(o.m.confirmed);
    run_summary_release(&o.m);
}

static struct run_config hasty;

static char *hasty_script(const struct author_call *c)
{
    if (c->index == 2)
        hasty.budget.wall_ns = 1;
    return steady_script(c);
}

/* A confirmation is not a step and asks no author, but it takes time. */
static void test_budgets(void **state)
{
    struct fake f;
    hasty = config("refine");
    hasty.budget.steps = 2;
    struct outcome o = run_on_gpu(&hasty, steady_script, &f);
    assert_string_equal(f.orders, "aha");
    assert_string_equal(o.m.run.reason, "the budget of 2 judged candidates is used up");
    assert_true(o.m.confirmed);
    run_summary_release(&o.m);
    hasty = config("refine");
    o = run_on_gpu(&hasty, hasty_script, &f);
    assert_string_equal(f.orders, "ah");
    assert_string_equal(o.m.run.reason,
                        "the budget of 1e-09 s is used up; the best kernel is not confirmed");
    assert_int_equal(o.m.run.best, 1);
    run_summary_release(&o.m);
}

/* After a confirmation the run makes more steps. The new best kernel is confirmed too, and nothing
 * is done twice. */
static void test_more_steps(void **state)
{
    struct run_config c = config("refine");
    struct fake f;
    char kind[32];
    c.steps = 2;
    struct outcome o = run_on_gpu(&c, lucky_script, &f);
    int64_t id = o.m.run.id;
    assert_string_equal(f.orders, "ahha");
    run_summary_release(&o.m);
    f = (struct fake){.gpu = true};
    o = carry_on(&c, id, &f);
    assert_string_equal(f.orders, "");
    assert_true(o.m.confirmed);
    run_summary_release(&o.m);
    c.steps = 3;
    c.budget.wall_ns = 1; /* recorded confirmations count even if no time is left */
    f = (struct fake){.gpu = true};
    o = carry_on(&c, id, &f);
    assert_string_equal(f.orders, "");
    assert_true(o.m.confirmed);
    run_summary_release(&o.m);
    c.budget.wall_ns = 0;
    o = carry_on(&c, id, &f);
    /* The new best failed, so an earlier, confirmed kernel is the best again. */
    assert_string_equal(f.orders, "ha");
    assert_int_equal(o.m.run.best, 2);
    assert_true(recorded_again(&o, 3, kind) && o.m.confirmed);
    run_summary_release(&o.m);
}

/* ---- killed, interrupted, replayed ---------------------------------------------------------- */

static size_t verdicts_of(int64_t id)
{
    struct verdict_rec_vec list = VEC_INIT;
    struct arena mem = ARENA_INIT;
    struct err err = ERR_INIT;
    if (store_verdict_list(store, id, &list, &mem, &err) < 0)
        fail_with("store_verdict_list", &err);
    size_t n = list.n;
    vec_release(&list);
    arena_release(&mem);
    return n;
}

/* A run that is killed at any moment and then resumed ends with the same best and the same tree. It
 * does not evaluate a candidate with a recorded verdict again. */
static void test_killed(void **state)
{
    struct run_config c = config("refine");
    struct strbuf want = STRBUF_INIT(1 << 20), got = STRBUF_INIT(1 << 20);
    struct fake f;
    int64_t id;
    c.steps = 3;
    struct outcome o = run_on_gpu(&c, lucky_script, &f);
    lineage(&o, &want);
    run_summary_print(&o.m, &got);
    run_summary_release(&o.m);
    unsigned killed = 0, while_confirming = 0;
    bool more = true;
    for (uint64_t n = 0; more; n++) {
        struct killer k = {n, n % 2 == 1};
        more = WIFSIGNALED(run_in_child(&c, (struct fake){.gpu = true}, &k, &id));
        killed += more;
        size_t before = verdicts_of(id);
        while_confirming += before == 5;
        f = (struct fake){.gpu = true};
        o = carry_on(&c, id, &f);
        if (before + strlen(f.orders) != 6)
            fail_msg("killed at write %llu: %zu verdicts, then judged %s", (unsigned long long)n,
                     before, f.orders);
        lineage(&o, &got);
        assert_string_equal(got.buf, want.buf);
        assert_int_equal(o.m.run.best, 2);
        assert_true(o.m.confirmed);
        run_summary_release(&o.m);
    }
    assert_true(killed > 20);
    assert_true(while_confirming > 2);
    strbuf_release(&want);
    strbuf_release(&got);
}

static void test_interrupted(void **state)
{
    struct run_config c = config("refine");
    struct arena mem = ARENA_INIT;
    struct err err = ERR_INIT;
    struct run_rec r;
    int64_t id;
    c.steps = 1;
    script = steady_script;
    run_in_child(&c, (struct fake){.gpu = true, .cut_again = true}, NULL, &id);
    assert_int_equal(store_run_find(store, "last", &r, &mem, &err), 0);
    assert_string_equal(r.state, "stopped");
    assert_string_equal(r.reason, "interrupted; the best kernel is not confirmed");
    assert_int_equal(r.best, 1);
    struct fake f = {.gpu = true};
    struct outcome o = carry_on(&c, id, &f);
    assert_string_equal(f.orders, "a");
    assert_string_equal(o.m.run.state, "done");
    assert_true(o.m.confirmed);
    run_summary_release(&o.m);
    arena_release(&mem);
}

/* Replays a recording of the last run; returns how many candidates differ. */
static int replay_last(const struct run_config *c, const char *path, struct run_summary *m)
{
    struct err err = ERR_INIT;
    struct strbuf differ = STRBUF_INIT(1 << 20);
    char spec[640];
    struct replay *r;
    struct author *replayer = NULL;
    struct agent *a;
    snprintf(spec, sizeof spec, "replay:%s", path);
    if (replay_load(&r, path, &err) < 0 || author_open(&replayer, spec, NULL, &err) < 0)
        fail_with(path, &err);
    new_store();
    struct judge *j = judge_replay(r);
    int64_t id = new_run(c);
    struct agent_setup in = {.store = store,
                             .run = id,
                             .run_name = "again",
                             .task = task,
                             .config = c,
                             .authors = {[AUTHOR_CODE] = replayer},
                             .judge = j};
    assert_int_equal(agent_open(&a, &in, &err), 0);
    if (agent_run(a, &err) != 0)
        fail_with("agent_run", &err);
    agent_close(a);
    int differs = record_compare(store, id, r, &differ, &err);
    if (run_summary_load(m, store, "last", &err) < 0)
        fail_with("run_summary_load", &err);
    judge_close(j);
    author_close(replayer);
    replay_free(r);
    strbuf_release(&differ);
    return differs;
}

/* HONE_EXPORT=DIR writes the recording of t/cases/replay/confirm.jsonl to DIR. */
static void test_fixture(void **state)
{
    struct run_config c = config("refine");
    struct err err = ERR_INIT;
    struct fake f;
    char path[600];
    const char *dir = getenv("HONE_EXPORT");
    c.steps = 3;
    struct outcome o = run_on_gpu(&c, lucky_script, &f);
    snprintf(path, sizeof path, "%s/confirm.jsonl", dir ? dir : tmp.path);
    if (record_export(store, "last", path, &err) < 0)
        fail_with("record_export", &err);
    run_summary_release(&o.m);
}

static void test_replayed(void **state)
{
    struct run_config c = config("refine");
    struct err err = ERR_INIT;
    struct fake f;
    struct run_summary m;
    char path[600];
    c.steps = 3;
    snprintf(path, sizeof path, "%s/rec.jsonl", tmp.path);
    struct outcome o = run_on_gpu(&c, lucky_script, &f);
    if (record_export(store, "last", path, &err) < 0)
        fail_with("record_export", &err);
    run_summary_release(&o.m);
    assert_int_equal(replay_last(&c, path, &m), 0);
    assert_int_equal(m.drift, 0);
    assert_int_equal(m.run.best, 2);
    assert_int_equal(m.unconfirmed.n, 1);
    assert_true(m.confirmed);
    assert_string_equal(m.run.reason, "");
    run_summary_release(&m);

    /* A recording without a confirmation. */
    new_store();
    f = (struct fake){.gpu = true, .unjudged_again = true};
    script = steady_script;
    o = carry_on(&c, new_run(&c), &f);
    if (record_export(store, "last", path, &err) < 0)
        fail_with("record_export", &err);
    run_summary_release(&o.m);
    assert_int_equal(replay_last(&c, path, &m), 0);
    assert_string_equal(m.run.state, "done");
    assert_string_equal(m.run.reason,
                        "the best kernel is not confirmed: the recording has no confirmation");
    run_summary_release(&m);
}

int main(void)
{
    setenv("HONE_LOG", "error", 0); /* the tests provoke warnings */
    cmocka_set_message_output(CM_OUTPUT_TAP);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_confirmed),   cmocka_unit_test(test_nothing_to_confirm),
        cmocka_unit_test(test_luck),        cmocka_unit_test(test_much_luck),
        cmocka_unit_test(test_unjudged),    cmocka_unit_test(test_budgets),
        cmocka_unit_test(test_more_steps),  cmocka_unit_test(test_killed),
        cmocka_unit_test(test_interrupted), cmocka_unit_test(test_replayed),
        cmocka_unit_test(test_fixture),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
