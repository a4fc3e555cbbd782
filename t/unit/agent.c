/*
 * agent.c - the strategies as state machines: a scripted author, a judge that reads its verdict
 * off the candidate's own comment, and a store in a temporary directory.
 *
 *     // judge: pass 120        passes in 120 us        // judge: mismatch       fails
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "agent/agent.h"
#include "agent/record.h"
#include "agent/summary.h"
#include "base/util.h"
#include "sys/file.h"
#include "sys/hash.h"
#include "sys/json.h"

/* ---- a scripted author ---------------------------------------------------------------------- */

typedef char *(*script_fn)(const struct author_call *c); /* the reply; caller frees */

static script_fn script;
static unsigned asked;
static struct strbuf prompts; /* everything any author was ever shown */

static int s_open(struct author *a, const char *arg, struct err *err)
{
    return 0;
}

static void s_close(struct author *a)
{
}

static int s_start(struct author_call *c, struct err *err)
{
    asked++;
    strbuf_addf(&prompts, "\n@@ %s %llu\n%s%s", c->role, (unsigned long long)c->index, c->stable,
                c->turn);
    char *facts = json_dumps(c->facts, JSON_INDENT(1));
    strbuf_addf(&prompts, "\n@facts %s\n", facts);
    free(facts);
    char *text = script(c);
    strbuf_adds(&c->reply.text, text);
    c->reply.in_tokens = 100;
    c->reply.out_tokens = 10;
    author_succeed(c, "stop");
    free(text);
    return 0;
}

static void s_step(struct author_call *c)
{
}

static void s_wait(struct author *a, uint64_t ns)
{
}

static const struct author_ops scripted = {
    "scripted", "scripted", "for tests", s_open, s_close, s_start, s_step, s_wait, s_step,
};
static struct author author = {.ops = &scripted, .spec = "scripted", .model = ""};

static char *file_reply(const char *move, const char *judge)
{
    return xasprintf("MOVE: %s\n```cuda\n/* hone-plan\n{}\n*/\n#include <cute/tensor.hpp>\n"
                     "// judge: %s\nextern \"C\" __global__ void k() {\n"
                     "  auto t = make_tensor(p, l); auto g = local_tile(t, a, b); copy(g, r);\n}\n"
                     "```\n",
                     move, judge);
}

/* An edit of the "// judge:" line of the file in the prompt. */
static char *edit_reply(const struct author_call *c, const char *move, const char *judge)
{
    const char *at = strstr(c->turn, "// judge: ");
    assert_non_null(at);
    size_t n = strcspn(at, "\n");
    return xasprintf("MOVE: %s\n<<<<<<< SEARCH\n%.*s\n=======\n// judge: %s\n>>>>>>> REPLACE\n",
                     move, (int)n, at, judge);
}

/* ---- a judge that believes what it reads ---------------------------------------------------- */

struct fake {
    VEC(struct {
        uint64_t ticket;
        char *source;
        enum eval_depth depth;
    })
    queue;
    size_t done;
    unsigned judged;
    unsigned unjudged_first; /* so many verdicts are `unjudged` before the real ones */
};

static const char *const no_text = "";

static void blank_verdict(struct verdict *v)
{
    memset(v, 0, sizeof *v);
    v->stage = v->detector = v->summary = v->detail = v->bottleneck = no_text;
    v->device = v->gpu = v->driver = v->arch = v->compiler = v->source_sha = v->task = no_text;
}

static int f_submit(struct judge *j, const struct judge_order *o, uint64_t *ticket, struct err *err)
{
    struct fake *f = j->priv;
    size_t i = f->queue.n;
    vec_push(&f->queue);
    f->queue.items[i].ticket = *ticket = 1000 + i;
    f->queue.items[i].source = xstrndup(o->source, o->len);
    f->queue.items[i].depth = o->depth;
    return 0;
}

static void fill_verdict(struct verdict *v, const char *source, enum eval_depth depth)
{
    const char *at = strstr(source, "// judge: ");
    char kind[32] = "compile_error";
    double us = 0, roof = 0;
    bool ok;
    if (at)
        sscanf(at + 10, "%31s %lf %lf", kind, &us, &roof);
    v->kind = verdict_kind_from(kind, &ok);
    assert_true(ok);
    v->summary = v->kind == V_PASS ? "" : "made to fail";
    v->stage = v->kind == V_PASS ? "time" : "check";
    if (v->kind == V_PASS) {
        v->time_ns = us * 1000;
        *vec_push(&v->times) = (struct verdict_time){.workload = "time:0",
                                                     .shape = "R=1",
                                                     .who = "candidate",
                                                     .median_ns = us * 1000,
                                                     .n = 3,
                                                     .roofline_pct = roof};
        *vec_push(&v->counters) = (struct verdict_counter){.workload = "time:0",
                                                           .role = "time",
                                                           .kernel = "k",
                                                           .name = "dram_sectors",
                                                           .unit = "sector",
                                                           .value = 4242};
        static const char *const hidden[] = {"heldout", ""}; /* "": an older verdict, unknown */
        for (size_t i = 0; i < ARRAY_LEN(hidden); i++)
            *vec_push(&v->counters) = (struct verdict_counter){.workload = "heldout:0",
                                                               .role = hidden[i],
                                                               .kernel = "k",
                                                               .name = "dram_sectors",
                                                               .unit = "sector",
                                                               .value = 77777};
        v->bottleneck = "dram-bound: SECRETBOTTLENECK";
    } else {
        *vec_push(&v->workloads) = (struct verdict_workload){.name = "heldout:0",
                                                             .role = "heldout",
                                                             .shape = "R=77777",
                                                             .output = "y",
                                                             .note = "row 77777 is wrong",
                                                             .max_ratio = 3};
        v->detail = "at shape R=77777 row 5";
        *vec_push(&v->findings) = (struct verdict_finding){.workload = "heldout:0",
                                                           .role = "heldout",
                                                           .kind = FIND_OOB,
                                                           .kernel = "k",
                                                           .file = "",
                                                           .line = 12,
                                                           .block = {77777, 0, 0},
                                                           .thread = {1, 0, 0},
                                                           .object = "y",
                                                           .index = 77777,
                                                           .text = "y[77777] is outside",
                                                           .other = "block (77777,0,0)",
                                                           .count = 77777};
    }
    verdict_set_score(v);
}

static int f_wait(struct judge *j, uint64_t ns, uint64_t *ticket, struct verdict *out,
                  struct err *err)
{
    struct fake *f = j->priv;
    if (f->done == f->queue.n)
        return 0;
    blank_verdict(out);
    *ticket = f->queue.items[f->done].ticket;
    if (f->unjudged_first) {
        f->unjudged_first--;
        out->kind = V_UNJUDGED;
        out->summary = "the device went away";
    } else {
        fill_verdict(out, f->queue.items[f->done].source, f->queue.items[f->done].depth);
        f->judged++;
    }
    f->done++;
    return 1;
}

static void f_close(struct judge *j)
{
}

static const struct judge_ops fake_ops = {f_submit, f_wait, f_close};

/* ---- a run ---------------------------------------------------------------------------------- */

static struct temp_dir tmp;
static struct task *task;
static struct store *store;
static unsigned db_number;

static void fail_with(const char *what, const struct err *err)
{
    fail_msg("%s: %s", what, err->msg);
}

static int set_up(void **state)
{
    struct problem_vec problems = VEC_INIT;
    if (access("/dev/shm", W_OK) == 0)
        setenv("TMPDIR", "/dev/shm", 0); /* many small synced writes */
    tmp = (struct temp_dir)TEMP_DIR_INIT;
    strbuf_init(&prompts, 256u << 20);
    if (temp_dir_make(&tmp, NULL) < 0)
        return -1;
    task = task_find("softmax", &problems);
    return task ? 0 : -1;
}

static int tear_down(void **state)
{
    store_close(store);
    task_free(task);
    strbuf_release(&prompts);
    temp_dir_release(&tmp);
    return 0;
}

static void new_store(void)
{
    char path[600];
    struct err err = ERR_INIT;
    store_close(store);
    snprintf(path, sizeof path, "%s/%u.db", tmp.path, db_number++);
    if (store_open(&store, path, &err) < 0)
        fail_with("store_open", &err);
}

static struct run_config config(const char *strategy)
{
    struct run_config c;
    run_config_init(&c);
    c.strategy = strategy;
    c.task = "softmax";
    run_config_settle(&c, task);
    return c;
}

struct outcome {
    int rc;
    struct summary m;
    char stop[256];
    unsigned asked, judged;
    uint64_t recorded;
};

/* Runs (or carries on) a run in the current store. */
static struct outcome carry_on(const struct run_config *c, int64_t run, struct fake *f)
{
    struct outcome o = {0};
    struct err err = ERR_INIT;
    struct judge j = {&fake_ops, f};
    struct agent *a;
    char number[32];
    asked = 0;
    struct agent_setup in = {.store = store,
                             .run = run,
                             .run_name = "test",
                             .task = task,
                             .config = c,
                             .authors = {[AUTHOR_CODE] = &author},
                             .judge = &j};
    if (agent_open(&a, &in, &err) < 0)
        fail_with("agent_open", &err);
    o.rc = agent_run(a, &err);
    if (o.rc < 0)
        fail_with("agent_run", &err);
    snprintf(o.stop, sizeof o.stop, "%.250s", a->stop.buf);
    o.asked = asked;
    o.recorded = a->recorded;
    o.judged = f->judged;
    agent_close(a);
    snprintf(number, sizeof number, "%lld", (long long)run);
    if (summary_load(&o.m, store, number, &err) < 0)
        fail_with("summary_load", &err);
    for (size_t i = 0; i < f->queue.n; i++)
        free(f->queue.items[i].source);
    vec_release(&f->queue);
    f->done = 0;
    return o;
}

static int64_t new_run(const struct run_config *c)
{
    int64_t run;
    struct err err = ERR_INIT;
    json_t *j = run_config_to_json(c);
    char *text = json_dumps(j, 0);
    if (store_run_create(store, c->task, c->strategy, text, "scripted", &run, &err) < 0)
        fail_with("store_run_create", &err);
    free(text);
    json_decref(j);
    return run;
}

static struct outcome run(const struct run_config *c, script_fn fn)
{
    struct fake f = {.judged = 0};
    new_store();
    strbuf_clear(&prompts);
    script = fn;
    return carry_on(c, new_run(c), &f);
}

static const struct node_rec *node(const struct outcome *o, size_t i)
{
    if (i >= o->m.nodes.n)
        fail_msg("there are only %zu nodes", o->m.nodes.n);
    return &o->m.nodes.items[i];
}

/* ---- refine --------------------------------------------------------------------------------- */

static bool role_is(const struct author_call *c, const char *role)
{
    return str_eq(c->role, role);
}

/* first 100 us; step 1: 80; step 2: 200 (too slow to stay); step 3: fails, repaired to 60; 4: 70 */
static char *refine_script(const struct author_call *c)
{
    if (role_is(c, "diagnose"))
        return xstrdup("CAUSE: line 5");
    if (role_is(c, "repair"))
        return edit_reply(c, "repair: the tail", c->index == 0 ? "unsafe" : "pass 60");
    switch (c->index) {
    case 0:
        return file_reply("first: simple", "pass 100");
    case 1:
        return edit_reply(c, "tiling: bigger", "pass 80");
    case 2:
        return edit_reply(c, "layout: rows", "pass 200");
    case 3:
        return edit_reply(c, "vectorize: 16 bytes", "mismatch");
    default:
        return edit_reply(c, "unroll: by four", "pass 70");
    }
}

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
    assert_int_equal(node(&o, 5)->parent, 4); /* a near miss is gone on from */
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
    /* what was tried is told to the next step */
    const char *last = strstr(prompts.buf, "@@ code 4");
    assert_non_null(last);
    assert_non_null(strstr(last, "layout: rows => 0.40x"));
    summary_release(&o.m);
}

/* A structural step 10% slower stays parent, and its child pays. */
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
    summary_release(&o.m);
}

/* ... and one that never pays is given up after regress_steps. */
static char *no_pay_script(const struct author_call *c)
{
    static const char *const times[] = {"pass 100", "pass 110", "pass 108", "pass 109", "pass 107"};
    if (c->index == 0)
        return file_reply("first: simple", times[0]);
    return edit_reply(c, "rewrite: structure", times[MIN(c->index, 4)]);
}

static void test_refine_trial_ends(void **state)
{
    struct run_config c = config("refine");
    c.steps = 4;
    struct outcome o = run(&c, no_pay_script);
    assert_int_equal(node(&o, 2)->parent, 1);
    assert_int_equal(node(&o, 3)->parent, 2); /* nearer */
    assert_int_equal(node(&o, 4)->parent, 0); /* the best again */
    summary_release(&o.m);
}

static char *hopeless_script(const struct author_call *c)
{
    if (role_is(c, "diagnose"))
        return xstrdup("CAUSE: unknown");
    if (role_is(c, "repair"))
        return edit_reply(c, "repair: again", c->index % 2 ? "mismatch" : "compile_error");
    return file_reply("first: broken", "compile_error");
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
    summary_release(&o.m);
}

static char *steady_script(const struct author_call *c)
{
    char judge[64];
    snprintf(judge, sizeof judge, "pass %d", 100 - (int)c->index * 5);
    return c->index == 0 ? file_reply("first: x", judge) : edit_reply(c, "tuning: more", judge);
}

/* Counters are in no prompt and in no facts before the delay, and in all after it. */
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
    summary_release(&o.m);
    c.profile = PROFILE_NEVER;
    o = run(&c, steady_script);
    assert_null(strstr(prompts.buf, "dram_sectors"));
    summary_release(&o.m);
    c.profile = PROFILE_ALWAYS;
    o = run(&c, steady_script);
    char *second = strstr(prompts.buf, "@@ code 1\n");
    assert_non_null(strstr(second, "dram_sectors"));
    summary_release(&o.m);
}

static char *roofline_script(const struct author_call *c)
{
    return c->index == 0 ? file_reply("first: x", "pass 100 50")
                         : edit_reply(c, "tuning: y", "pass 50 97");
}

static void test_stops_at_roofline(void **state)
{
    struct run_config c = config("refine");
    struct outcome o = run(&c, roofline_script);
    assert_int_equal(o.rc, 1);
    assert_non_null(strstr(o.stop, "roofline"));
    assert_int_equal(o.m.nodes.n, 2);
    assert_string_equal(o.m.run.state, "done");
    summary_release(&o.m);
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
    summary_release(&o.m);
    c.budget = (struct budget){.tokens = 450};
    o = run(&c, steady_script);
    assert_int_equal(o.asked, 5); /* 110 each: the fifth goes over, the sixth is not asked */
    summary_release(&o.m);
}

/* ---- replies that cannot be used ------------------------------------------------------------ */

static char *refused_script(const struct author_call *c)
{
    switch (c->index) {
    case 0:
        return xstrdup("I would rather talk about it.");
    case 1:
        assert_non_null(strstr(c->turn, "could not be used"));
        return file_reply("first: x", "pass 100");
    case 2: /* an edit that fits nothing, twice */
    case 3:
        return xstrdup("MOVE: tiling: x\n<<<<<<< SEARCH\nnot there\n=======\ny\n>>>>>>> REPLACE\n");
    case 4: /* no CuTe */
    default:
        return xstrdup("```cuda\n/* hone-plan {} */\n// judge: pass 1\n__global__ void k(){}\n```");
    }
}

static void test_refused(void **state)
{
    struct run_config c = config("refine");
    c.steps = 2;
    struct outcome o = run(&c, refused_script);
    assert_int_equal(o.m.nodes.n, 3);
    assert_string_equal(node(&o, 0)->kind, "pass");
    assert_string_equal(node(&o, 1)->kind, "no_code");
    assert_string_equal(node(&o, 2)->kind, "rejected");
    assert_int_equal(o.asked, 6);
    assert_int_equal(o.m.refused, 2);
    summary_release(&o.m);
    c.dialect = DIALECT_CUDA; /* there the last one is welcome */
    o = run(&c, refused_script);
    assert_string_equal(node(&o, 2)->kind, "pass");
    summary_release(&o.m);
}

/* ---- search --------------------------------------------------------------------------------- */

static unsigned hash_of(const struct author_call *c)
{
    return (unsigned)(c->index * 2654435761u >> 16);
}

static char *search_script(const struct author_call *c)
{
    if (role_is(c, "plan"))
        return xstrdup(
            "It is slow.\nPLAN: try harder\nKIND: tiling\nANCHOR 5-5: change the time\n");
    if (role_is(c, "debug"))
        return edit_reply(c, "repair: it", c->index % 3 == 0 ? "pass 90" : "compile_error");
    if (c->index == 0)
        return file_reply("first: root", "pass 100");
    char judge[64];
    snprintf(judge, sizeof judge, hash_of(c) % 3 == 0 ? "mismatch" : "pass %u",
             40 + hash_of(c) % 80);
    return edit_reply(c, "", judge);
}

static void lineage(const struct outcome *o, struct strbuf *out)
{
    strbuf_clear(out);
    lineage_print(&o->m, out);
}

static void test_search(void **state)
{
    struct strbuf a = STRBUF_INIT(1 << 20), b = STRBUF_INIT(1 << 20);
    struct run_config c = config("search");
    c.steps = 24;
    c.stop_pct = 0;
    struct outcome o = run(&c, search_script);
    assert_int_equal(o.m.nodes.n, 24);
    unsigned root_children = 0;
    vec_each (struct node_rec, n, &o.m.nodes)
        root_children += n->parent == 0;
    assert_true(root_children >= 1 && root_children <= c.n_root);
    assert_string_equal(node(&o, 1)->move, "try harder"); /* the plan names it */
    assert_non_null(strstr(prompts.buf, "<<<IMPROVE BEGINS: change the time>>>"));
    lineage(&o, &a);
    summary_release(&o.m);
    o = run(&c, search_script); /* the same seed, the same tree */
    lineage(&o, &b);
    assert_string_equal(a.buf, b.buf);
    summary_release(&o.m);
    c.seed = 99;
    o = run(&c, search_script);
    lineage(&o, &b);
    assert_string_not_equal(a.buf, b.buf);
    summary_release(&o.m);
    c.select = SELECT_GREEDY; /* no seed matters */
    o = run(&c, search_script);
    lineage(&o, &a);
    summary_release(&o.m);
    c.seed = 1;
    o = run(&c, search_script);
    lineage(&o, &b);
    assert_string_equal(a.buf, b.buf);
    summary_release(&o.m);
    c.wave = 4; /* in waves: no node twice in one */
    c.select = SELECT_EPS;
    o = run(&c, search_script);
    assert_int_equal(o.m.nodes.n, 24);
    for (size_t first = 4; first < 24; first += 4) /* waves of 1, 2, then 4 */
        for (size_t i = first; i < first + 4; i++)
            for (size_t k = first; k < i; k++)
                assert_true(node(&o, i)->parent != node(&o, k)->parent);
    summary_release(&o.m);
    strbuf_release(&a);
    strbuf_release(&b);
}

/* Children of a node that all fail: it is pruned, and the search goes elsewhere. */
static char *prune_script(const struct author_call *c)
{
    if (role_is(c, "plan"))
        return xstrdup("PLAN: p\nKIND: tiling\nANCHOR 5-5: x\n");
    if (role_is(c, "debug"))
        return edit_reply(c, "repair: no", "compile_error");
    if (c->index == 0)
        return file_reply("first: root", "pass 100");
    return edit_reply(c, "", c->index == 1 ? "pass 50" : "compile_error");
}

static void test_search_prunes(void **state)
{
    struct run_config c = config("search");
    c.steps = 20;
    c.select = SELECT_GREEDY;
    c.n_child = 2;
    c.n_root = 2;
    struct outcome o = run(&c, prune_script);
    unsigned pruned = 0;
    vec_each (struct node_rec, n, &o.m.nodes)
        pruned += str_eq(n->fate, "pruned");
    assert_true(pruned >= 1);
    assert_int_equal(o.m.run.best, 1);
    summary_release(&o.m);
}

/* The coder leaves the anchor: refused, asked again, then rejected. */
static char *stray_script(const struct author_call *c)
{
    if (role_is(c, "plan"))
        return xstrdup("PLAN: p\nKIND: tiling\nANCHOR 6-6: only there\n");
    if (c->index == 0)
        return file_reply("first: root", "pass 100");
    return edit_reply(c, "tiling: elsewhere", "pass 10"); /* line 5 */
}

static void test_anchors_hold(void **state)
{
    struct run_config c = config("search");
    c.steps = 2;
    struct outcome o = run(&c, stray_script);
    assert_string_equal(node(&o, 1)->kind, "rejected");
    assert_non_null(strstr(prompts.buf, "outside every anchor"));
    summary_release(&o.m);
    c.anchors = false;
    o = run(&c, stray_script);
    assert_string_equal(node(&o, 1)->kind, "pass");
    summary_release(&o.m);
}

/* ---- team, sample, reflect ------------------------------------------------------------------ */

static const char *const given =
    "/* hone-plan\n{}\n*/\n// judge: pass 100\n__global__ void k(){}\n";

static char *team_script(const struct author_call *c)
{
    static const char *const times[] = {"pass 80", "pass 90", "mismatch", "pass 70"};
    if (role_is(c, "test"))
        return xstrdup(
            "```json\n{\"cases\": [{\"axes\": {\"R\": 3, \"C\": 129}}, {\"axes\": {\"R\": "
            "0, \"C\": 4}}, {\"axes\": {\"R\": 1}}, {\"axes\": {\"R\": 100000, \"C\": "
            "100000}}]}\n```");
    if (role_is(c, "port"))
        return xasprintf("MOVE: rewrite: ported\n```cuda\n%s```\n", given);
    if (role_is(c, "profile") || role_is(c, "advise") || role_is(c, "diagnose"))
        return xstrdup("words");
    if (role_is(c, "repair"))
        return edit_reply(c, "repair: r", "compile_error");
    return edit_reply(c, "vectorize: v", times[MIN(c->index, 3)]);
}

static void test_team(void **state)
{
    struct run_config c = config("team");
    c.steps = 4;
    c.repairs = 1;
    c.profile = PROFILE_ALWAYS;
    c.from = "#include <torch/extension.h>\nvoid host() {}\n";
    c.from_name = "orig.cu";
    struct outcome o = run(&c, team_script);
    assert_string_equal(node(&o, 0)->role, "port");
    assert_string_equal(node(&o, 1)->stage, "tests");
    assert_string_equal(node(&o, 2)->fate, "kept"); /* 80, then beaten by 70 */
    assert_string_equal(node(&o, 3)->fate, "regression");
    assert_int_equal(node(&o, 3)->parent, 2);
    assert_int_equal(node(&o, 4)->parent, 2); /* rollback */
    assert_int_equal(node(&o, 6)->parent, 2);
    assert_string_equal(node(&o, 6)->fate, "best");
    bool told = false;
    vec_each (struct event_rec, e, &o.m.events)
        told |= strstr(e->text, "taken: {\"R\":3,\"C\":129}") &&
                strstr(e->text, "left out: {\"R\":0") && strstr(e->text, "more than");
    assert_true(told);
    /* the tester sees no candidate */
    char *test = strstr(prompts.buf, "@@ test 0"), *after = strstr(test + 1, "\n@@ ");
    char *text = xstrndup(test, (size_t)(after - test));
    assert_null(strstr(text, "// judge"));
    assert_null(strstr(text, "void host"));
    free(text);
    summary_release(&o.m);
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
    summary_release(&o.m);
    c = config("reflect");
    c.steps = 4;
    o = run(&c, no_pay_script);
    for (size_t i = 1; i < 4; i++)
        assert_int_equal(node(&o, i)->parent, (int)i - 1);
    summary_release(&o.m);
}

static void test_unjudged(void **state)
{
    struct run_config c = config("refine");
    c.steps = 1;
    struct fake f = {.unjudged_first = 2};
    new_store();
    script = steady_script;
    int64_t id = new_run(&c);
    struct outcome o = carry_on(&c, id, &f);
    assert_int_equal(o.m.nodes.n, 2); /* retried, not held against it */
    assert_int_equal(o.m.failures, 0);
    summary_release(&o.m);
    new_store();
    f = (struct fake){.unjudged_first = 3};
    id = new_run(&c);
    o = carry_on(&c, id, &f);
    assert_int_equal(o.m.nodes.n, 0);
    assert_string_equal(o.m.run.state, "failed");
    summary_release(&o.m);
    f = (struct fake){.judged = 0};
    o = carry_on(&c, id, &f); /* and carried on when the device is back */
    assert_int_equal(o.m.nodes.n, 2);
    assert_string_equal(o.m.run.state, "done");
    summary_release(&o.m);
}

/* ---- prompts -------------------------------------------------------------------------------- */

/* No held-out shape, no oracle source, no key, in any prompt of any strategy. */
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
        /* no line of the oracle that could be one of its own */
        for (const char *p = task->reference_c; *p;) {
            size_t n = strcspn(p, "\n");
            char *line = xstrndup(p, n);
            if (n > 24 && strstr(prompts.buf, line))
                fail_msg("%s: a line of the oracle is in a prompt: %s", runs[i].strategy, line);
            free(line);
            p += n + (p[n] == '\n');
        }
        summary_release(&o.m);
    }
    unsetenv("OPENAI_API_KEY");
}

static void test_switches(void **state)
{
    struct run_config c = config("refine");
    c.steps = 1;
    struct outcome o = run(&c, steady_script);
    assert_non_null(strstr(prompts.buf, "What pays for this class"));
    assert_non_null(strstr(prompts.buf, "A complete file, to show the form"));
    /* the stable part comes first and is the same in both calls */
    summary_release(&o.m);
    c.class_prompts = false;
    c.zero_shot = true;
    o = run(&c, steady_script);
    assert_null(strstr(prompts.buf, "What pays for this class"));
    assert_null(strstr(prompts.buf, "A complete file, to show the form"));
    summary_release(&o.m);
}

/* ---- resume --------------------------------------------------------------------------------- */

struct killer {
    uint64_t at;
    bool after;
};

static void kill_here(void *ctx, uint64_t n, bool after)
{
    struct killer *k = ctx;
    if (n == k->at && after == k->after)
        kill(getpid(), SIGKILL);
}

/* Kills a child at a write, carries the run on here, and compares with a run never killed. */
static bool kill_and_resume(const struct run_config *c, script_fn fn, struct killer k,
                            const char *want, unsigned calls)
{
    struct strbuf got = STRBUF_INIT(1 << 20);
    struct err err = ERR_INIT;
    struct fake f = {.judged = 0};
    new_store();
    script = fn;
    int64_t id = new_run(c);
    char *path = xstrdup(store_path(store));
    store_close(store);
    store = NULL;
    pid_t pid = fork();
    if (pid == 0) {
        if (store_open(&store, path, &err) < 0)
            _exit(3);
        store_set_hook(store, kill_here, &k);
        struct outcome o = carry_on(c, id, &f);
        summary_release(&o.m);
        _exit(0);
    }
    int status;
    waitpid(pid, &status, 0);
    if (store_open(&store, path, &err) < 0)
        fail_with("store_open", &err);
    free(path);
    struct call_vec before = VEC_INIT;
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
    if (o.asked + ended != calls) /* what was recorded is not asked again */
        fail_msg("killed at write %llu: %u recorded and %u asked of %u", (unsigned long long)k.at,
                 ended, o.asked, calls);
    if (store_check(store, &err) < 0)
        fail_with("store_check", &err);
    summary_release(&o.m);
    vec_release(&before);
    arena_release(&mem);
    strbuf_release(&got);
    return WIFSIGNALED(status);
}

static void resume_all(const char *strategy, script_fn fn, uint64_t stride)
{
    struct strbuf want = STRBUF_INIT(1 << 20);
    struct run_config c = config(strategy);
    c.steps = str_eq(strategy, "search") ? 8 : 4;
    c.wave = str_eq(strategy, "search") ? 2 : 1;
    c.from = str_eq(strategy, "team") ? given : "";
    struct outcome o = run(&c, fn);
    lineage(&o, &want);
    unsigned calls = o.asked;
    summary_release(&o.m);
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
    resume_all("refine", refine_script, all ? 1 : 14);
    resume_all("search", search_script, all ? 1 : 22);
    resume_all("team", team_script, all ? 1 : 17);
}

/* ---- recording ------------------------------------------------------------------------------ */

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
    summary_release(&o.m);

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
    struct summary m;
    assert_int_equal(summary_load(&m, store, "last", &err), 0);
    strbuf_clear(&got);
    lineage_print(&m, &got);
    assert_string_equal(got.buf, want.buf);
    assert_int_equal(m.drift, 0);
    summary_release(&m);
    judge_close(j);
    author_close(replayer);
    replay_free(r);
    strbuf_release(&want);
    strbuf_release(&got);
}

/* HONE_EXPORT=DIR writes the recordings of t/cases/replay, which the shell tests play. */
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
        summary_release(&o.m);
    }
}

static void test_config_json(void **state)
{
    struct arena mem = ARENA_INIT;
    struct err err = ERR_INIT;
    struct run_config c = config("search"), d;
    c.authors[AUTHOR_PLAN] = "exec:planner";
    c.budget.usd = 1.5;
    c.anchors = false;
    c.select = SELECT_GREEDY;
    c.from = "source";
    json_t *j = run_config_to_json(&c), *k;
    if (run_config_from_json(&d, j, &mem, &err) < 0)
        fail_with("run_config_from_json", &err);
    k = run_config_to_json(&d);
    assert_true(json_equal(j, k));
    json_object_set_new(k, "wave", json_integer(-1));
    assert_int_equal(run_config_from_json(&d, k, &mem, &err), -1);
    json_decref(j);
    json_decref(k);
    arena_release(&mem);
}

int main(void)
{
    cmocka_set_message_output(CM_OUTPUT_TAP);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_refine),
        cmocka_unit_test(test_refine_trial),
        cmocka_unit_test(test_refine_trial_ends),
        cmocka_unit_test(test_refine_gives_up),
        cmocka_unit_test(test_delayed_profile),
        cmocka_unit_test(test_stops_at_roofline),
        cmocka_unit_test(test_budgets),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_search),
        cmocka_unit_test(test_search_prunes),
        cmocka_unit_test(test_anchors_hold),
        cmocka_unit_test(test_team),
        cmocka_unit_test(test_sample_and_reflect),
        cmocka_unit_test(test_unjudged),
        cmocka_unit_test(test_secrets),
        cmocka_unit_test(test_switches),
        cmocka_unit_test(test_resume),
        cmocka_unit_test(test_export_and_replay),
        cmocka_unit_test(test_fixtures),
        cmocka_unit_test(test_config_json),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
