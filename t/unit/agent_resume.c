/* Tests runs that are killed and resumed, and runs that are recorded and replayed. */
#include "agent_rig.h"

/* Kills a child process at a write to the store, resumes its run in this process, and compares the
 * result with a run that was not killed.
 */
static bool kill_and_resume(const struct run_config *c, script_fn fn, struct killer k,
                            const char *want, unsigned calls)
{
    struct strbuf got = STRBUF_INIT(1 << 20);
    struct err err = ERR_INIT;
    struct fake f = {.judged = 0};
    int64_t id;
    script = fn;
    int status = run_in_child(c, f, &k, &id);
    struct call_rec_vec before = VEC_INIT;
    struct arena mem = ARENA_INIT;
    unsigned ended = 0;
    store_call_list(store, id, &before, &mem, &err);
    vec_each (struct call_rec, r, &before)
        ended += r->ended;
    struct outcome o = carry_on(c, id, &f);
    lineage(&o, &got);
    if (strcmp(got.buf, want) != 0)
        fail_msg("killed at write %llu: another tree\n%s\n%s", (unsigned long long)k.at, got.buf,
                 want);
    if (o.asked + ended != calls) /* no recorded call is made again */
        fail_msg("killed at write %llu: %u calls recorded and %u made again, not %u in all",
                 (unsigned long long)k.at, ended, o.asked, calls);
    if (store_check(store, &err) < 0)
        fail_with("store_check", &err);
    run_summary_release(&o.m);
    vec_release(&before);
    arena_release(&mem);
    strbuf_release(&got);
    return WIFSIGNALED(status);
}

static void resume_all(const char *strategy, script_fn fn, uint32_t moves, uint64_t stride)
{
    struct strbuf want = STRBUF_INIT(1 << 20);
    struct run_config c = config(strategy);
    c.moves = moves;
    c.steps = str_eq(strategy, "search") ? 8 : 4;
    c.wave = str_eq(strategy, "search") ? 2 : 1;
    c.from = str_eq(strategy, "team") ? given : "";
    struct outcome o = run(&c, fn);
    lineage(&o, &want);
    unsigned calls = o.asked;
    run_summary_release(&o.m);
    unsigned killed = 0;
    bool more = true;
    for (uint64_t n = 0; more; n += stride) {
        more = kill_and_resume(&c, fn, (struct killer){n, n % 2 == 1}, want.buf, calls);
        killed += more;
    }
    assert_true(killed * stride >= 30);
    strbuf_release(&want);
}

static void test_resume(void **state)
{
    bool all = getenv("HONE_TORTURE") != NULL; /* `make torture`: every write of every strategy */
    resume_all("refine", refine_script, 1, all ? 1 : 14);
    resume_all("refine", moves_script, 3, all ? 1 : 19);
    resume_all("search", search_script, 1, all ? 1 : 22);
    resume_all("team", team_script, 1, all ? 1 : 17);
}

/* The first reply is a kernel that uses CuTe. The kernels of all later replies do not. */
static char *plain_script(const struct author_call *c)
{
    if (c->index == 0)
        return file_reply("first: simple", "pass 100");
    return xasprintf("MOVE: tiling: x\n```cuda\n/* hone-plan {} */\n// judge: pass %d\n"
                     "__global__ void k(){}\n```",
                     90 - (int)c->index);
}

/* The dialect may change when a run is resumed. The recorded part stays as it was. */
static void test_other_dialect(void **state)
{
    struct run_config c = config("refine"), read;
    struct fake f = {.judged = 0};
    struct err err = ERR_INIT;
    struct arena mem = ARENA_INIT;
    c.steps = 2;
    c.repairs = 0;
    c.strict_dialect = true;
    new_store();
    script = plain_script;
    int64_t id = new_run(&c);
    struct outcome o = carry_on(&c, id, &f);
    assert_string_equal(node(&o, 1)->kind, "rejected");
    assert_string_equal(node(&o, 2)->kind, "rejected");
    uint64_t calls = o.m.run.calls;
    run_summary_release(&o.m);
    if (run_config_set_dialect(&c, DIALECT_CUTE, false, calls, &err) < 0)
        fail_with("run_config_set_dialect", &err);
    json_t *j = run_config_to_json(&c);
    if (run_config_from_json(&read, j, &mem, &err) < 0)
        fail_with("run_config_from_json", &err);
    json_decref(j);
    read.steps = 4;
    f = (struct fake){.judged = 0};
    o = carry_on(&read, id, &f);
    assert_int_equal(o.m.nodes.n, 5);
    assert_string_equal(node(&o, 2)->kind, "rejected");
    assert_string_equal(node(&o, 3)->kind, "pass");
    assert_string_equal(node(&o, 4)->kind, "pass");
    assert_int_equal(o.asked, 2);
    run_summary_release(&o.m);
    arena_release(&mem);
    for (int i = 1; i < MAX_DIALECT_RULES; i++)
        assert_int_equal(run_config_set_dialect(&c, DIALECT_CUTE, !c.strict_dialect, calls, &err),
                         0);
    assert_int_equal(run_config_set_dialect(&c, DIALECT_CUDA, false, calls, &err), -1);
}

static void test_export_and_replay(void **state)
{
    struct run_config c = config("refine");
    struct err err = ERR_INIT;
    struct strbuf want = STRBUF_INIT(1 << 20), got = STRBUF_INIT(1 << 20);
    char path[600], spec[640];
    c.steps = 4;
    struct outcome o = run(&c, refine_script);
    lineage(&o, &want);
    snprintf(path, sizeof path, "%s/rec.jsonl", tmp.path);
    if (record_export(store, "last", path, &err) < 0)
        fail_with("record_export", &err);
    run_summary_release(&o.m);

    struct replay *r;
    struct author *replayer;
    snprintf(spec, sizeof spec, "replay:%s", path);
    assert_int_equal(replay_load(&r, path, &err), 0);
    if (author_open(&replayer, spec, NULL, &err) < 0)
        fail_with("author_open", &err);
    new_store();
    struct agent *a;
    struct judge *j = judge_replay(r);
    int64_t id = new_run(&c);
    struct agent_setup in = {.store = store,
                             .run = id,
                             .run_name = "again",
                             .task = task,
                             .config = &c,
                             .authors = {[AUTHOR_CODE] = replayer},
                             .judge = j};
    assert_int_equal(agent_open(&a, &in, &err), 0);
    if (agent_run(a, &err) < 0)
        fail_with("agent_run", &err);
    agent_close(a);
    assert_int_equal(record_compare(store, id, r, &got, &err), 0);
    struct run_summary m;
    assert_int_equal(run_summary_load(&m, store, "last", &err), 0);
    strbuf_clear(&got);
    lineage_print(&m, &got);
    assert_string_equal(got.buf, want.buf);
    assert_int_equal(m.drift, 0);
    run_summary_release(&m);
    judge_close(j);
    author_close(replayer);
    replay_free(r);
    strbuf_release(&want);
    strbuf_release(&got);
}

/* With HONE_EXPORT=DIR, writes the recordings of t/cases/replay to DIR. Shell tests replay them. */
static void test_fixtures(void **state)
{
    static const struct {
        const char *strategy;
        script_fn fn;
        uint32_t steps;
    } runs[] = {
        {"refine", refine_script, 4}, {"search", search_script, 16}, {"team", team_script, 4}};
    const char *dir = getenv("HONE_EXPORT");
    for (size_t i = 0; dir && i < ARRAY_LEN(runs); i++) {
        char path[600];
        struct err err = ERR_INIT;
        struct run_config c = config(runs[i].strategy);
        c.steps = runs[i].steps;
        c.stop_pct = 0;
        c.from = str_eq(c.strategy, "team") ? given : "";
        struct outcome o = run(&c, runs[i].fn);
        snprintf(path, sizeof path, "%s/%s.jsonl", dir, c.strategy);
        if (record_export(store, "last", path, &err) < 0)
            fail_with("record_export", &err);
        run_summary_release(&o.m);
    }
}

int main(void)
{
    cmocka_set_message_output(CM_OUTPUT_TAP);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_resume),
        cmocka_unit_test(test_other_dialect),
        cmocka_unit_test(test_export_and_replay),
        cmocka_unit_test(test_fixtures),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
