/*
 * agent_rig.h - for tests of strategies: a scripted author, a judge that reads the verdict from a
 * comment of the candidate, and a store in a temporary directory.
 *
 * The comment names the kind of the verdict. For a pass it also gives the time in us, and may give
 * the roofline in percent (0 = none). `again=` names another kind for the confirmation.
 *
 *     // judge: mismatch                   the candidate fails
 *     // judge: pass 120                   it passes in 120 us
 *     // judge: pass 120 0 again=unsafe    it passes in 120 us, but its confirmation is unsafe
 *
 *     struct run_config c = config("refine");
 *     struct outcome o = run(&c, refine_script);
 *     assert_string_equal(node(&o, 1)->fate, "best");
 *     run_summary_release(&o.m);
 */
#ifndef T_AGENT_RIG_H
#define T_AGENT_RIG_H

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
#include "base/util.h"
#include "report/run_summary.h"
#include "sys/file.h"
#include "sys/hash.h"
#include "sys/interrupt.h"
#include "sys/json.h"

/* ---- a scripted author ---------------------------------------------------------------------- */

/* A script writes the replies of the author. It returns the reply to an author call, which the
 * caller frees. If it returns NULL, the call fails, but a resumed run can repeat the call. */
typedef char *(*script_fn)(const struct author_call *c);

static script_fn script;
static unsigned asked;        /* how many author calls were made */
static struct strbuf prompts; /* all prompts and author facts of all author calls */

static inline int s_open(struct author *a, const char *arg, struct err *err)
{
    return 0;
}

static inline void s_close(struct author *a)
{
}

static inline int s_start(struct author_call *c, struct err *err)
{
    asked++;
    strbuf_addf(&prompts, "\n@@ %s %llu\n%s%s", c->role, (unsigned long long)c->index, c->stable,
                c->turn);
    char *facts = json_dumps(c->facts, JSON_INDENT(1));
    strbuf_addf(&prompts, "\n@facts %s\n", facts);
    free(facts);
    char *text = script(c);
    c->reply.in_tokens = 100;
    c->reply.cached_tokens = 30;
    c->reply.out_tokens = 10;
    c->reply.requests = 1;
    if (text) {
        strbuf_adds(&c->reply.text, text);
        author_succeed(c, "stop");
    } else {
        author_fail(c, ERR_ENV, "the model is away");
    }
    free(text);
    return 0;
}

static inline void s_step(struct author_call *c)
{
}

static inline void s_wait(struct author *a, uint64_t ns)
{
}

static const struct author_ops scripted = {
    "scripted", "scripted", "for tests", s_open, s_close, s_start,
    s_step,     s_wait,     s_step,      false,  false,
};
static struct author author = {.ops = &scripted, .spec = "scripted", .model = ""};

static inline char *file_reply(const char *move, const char *judge)
{
    return xasprintf("MOVE: %s\n```cuda\n/* hone-plan\n{}\n*/\n#include <cute/tensor.hpp>\n"
                     "// judge: %s\nextern \"C\" __global__ void k() {\n"
                     "  auto t = make_tensor(p, l); auto g = local_tile(t, a, b); copy(g, r);\n}\n"
                     "```\n",
                     move, judge);
}

/* Returns a reply with the move `move` that edits the "// judge:" line of the candidate in the
 * prompt. */
static inline char *edit_reply(const struct author_call *c, const char *move, const char *judge)
{
    const char *file =
        json_string_value(json_object_get(json_object_get(c->facts, "node"), "source"));
    const char *at = file ? strstr(file, "// judge: ") : NULL;
    assert_non_null(at);
    size_t n = strcspn(at, "\n");
    return xasprintf("MOVE: %s\n<<<<<<< SEARCH\n%.*s\n=======\n// judge: %s\n>>>>>>> REPLACE\n",
                     move, (int)n, at, judge);
}

/* ---- a judge that reads verdicts from candidates -------------------------------------------- */

struct fake {
    VEC(struct {
        uint64_t ticket;
        char *source;
        enum eval_baselines baselines;
        bool again;
    })
    queue;
    size_t done;
    unsigned judged;
    unsigned unjudged_first; /* this many verdicts are `unjudged`; then come the real ones */
    unsigned prepared;       /* calls of f_prepare() with a source */
    unsigned with_parent;    /* number of orders that contain the parent's source */
    /* If true, verdicts have times of the baselines that the order asks for: naive takes 200 us,
     * torch 50 us. */
    bool gpu;
    enum eval_depth depth;
    bool model;
    bool unjudged_again; /* the verdict of each confirmation is `unjudged` */
    bool cut_again;      /* the user presses Ctrl-C during a confirmation */
    const char *device;  /* named in each verdict; NULL = none */
    /* A letter for each order says which baselines it asks for: n for BASELINES_NONE, h for
     * BASELINES_HERE, a for BASELINES_ALL. */
    char orders[64];
};

static const char *const no_text = "";

static inline void blank_verdict(struct verdict *v)
{
    memset(v, 0, sizeof *v);
    v->stage = v->detector = v->summary = v->detail = v->bottleneck = no_text;
    v->device = v->gpu = v->driver = v->arch = v->compiler = v->source_sha = v->task = no_text;
}

static inline int f_submit(struct judge *j, const struct judge_order *o, uint64_t *ticket,
                           struct err *err)
{
    struct fake *f = j->priv;
    size_t i = f->queue.n;
    vec_push(&f->queue);
    f->queue.items[i].ticket = *ticket = 1000 + i;
    f->queue.items[i].source = xstrndup(o->source, o->len);
    f->depth = o->depth;
    f->queue.items[i].baselines = o->baselines;
    f->queue.items[i].again = o->index >= STORE_CONFIRM;
    if (strlen(f->orders) + 1 < sizeof f->orders)
        f->orders[strlen(f->orders)] = "nha"[o->baselines];
    f->with_parent += o->parent && strstr(o->parent, "// judge: ");
    return 0;
}

static inline void f_prepare(struct judge *j, const struct task *t, const char *parent)
{
    struct fake *f = j->priv;
    f->prepared += strstr(parent, "// judge: ") != NULL;
}

static inline void fill_verdict(struct verdict *v, const char *source, bool again)
{
    const char *at = strstr(source, "// judge: "), *second = strstr(source, "again=");
    char kind[32] = "compile_error";
    double us = 0, roof = 0;
    bool ok;
    if (at)
        sscanf(at + 10, "%31s %lf %lf", kind, &us, &roof);
    if (again && second)
        sscanf(second, "again=%31s", kind);
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
        static const char *const hidden[] = {"heldout", ""}; /* "": a verdict of an older version */
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

static inline void add_baseline(struct verdict *v, const char *who, double us)
{
    if (v->kind == V_PASS)
        *vec_push(&v->times) = (struct verdict_time){.workload = "time:0",
                                                     .shape = "R=1",
                                                     .who = who,
                                                     .median_ns = us * 1000,
                                                     .n = 3,
                                                     .ratio = us * 1000 / v->time_ns,
                                                     .ratio_lo = us * 990 / v->time_ns,
                                                     .ratio_hi = us * 1010 / v->time_ns};
}

static inline int f_wait(struct judge *j, uint64_t ns, uint64_t *ticket, struct verdict *out,
                         struct err *err)
{
    struct fake *f = j->priv;
    if (f->done == f->queue.n)
        return 0;
    blank_verdict(out);
    out->device = f->device ? f->device : no_text;
    *ticket = f->queue.items[f->done].ticket;
    bool again = f->queue.items[f->done].again;
    if (again && f->cut_again) {
        if (!interrupted())
            raise(SIGINT);
        return 0;
    }
    if (f->unjudged_first || (again && f->unjudged_again)) {
        f->unjudged_first -= f->unjudged_first > 0;
        out->kind = V_UNJUDGED;
        out->summary = "the device went away";
    } else {
        fill_verdict(out, f->queue.items[f->done].source, again);
        out->time_is_model = f->model;
        if (f->gpu && f->queue.items[f->done].baselines)
            add_baseline(out, "naive", 200);
        if (f->gpu && f->queue.items[f->done].baselines == BASELINES_ALL)
            add_baseline(out, "torch", 50);
        f->judged++;
    }
    f->done++;
    return 1;
}

static inline void f_close(struct judge *j)
{
}

static const struct judge_ops fake_ops = {f_submit, f_wait, f_prepare, f_close, NULL};

/* ---- a run ---------------------------------------------------------------------------------- */

static struct temp_dir tmp;
static struct task *task;
static struct store *store;
static unsigned db_number;
static struct prices *prices;

static inline void fail_with(const char *what, const struct err *err)
{
    fail_msg("%s: %s", what, err->msg);
}

static inline int set_up(void **state)
{
    struct problem_vec problems = VEC_INIT;
    if (access("/dev/shm", W_OK) == 0)
        setenv("TMPDIR", "/dev/shm", 0); /* a store syncs many small writes, fast only in memory */
    tmp = (struct temp_dir)TEMP_DIR_INIT;
    strbuf_init(&prompts, 256u << 20);
    if (temp_dir_make(&tmp, NULL) < 0)
        return -1;
    task = task_find("softmax", &problems);
    return task ? 0 : -1;
}

static inline int tear_down(void **state)
{
    store_close(store);
    task_free(task);
    strbuf_release(&prompts);
    temp_dir_release(&tmp);
    return 0;
}

static char store_file[600];

static inline void new_store(void)
{
    struct err err = ERR_INIT;
    store_close(store);
    snprintf(store_file, sizeof store_file, "%s/%u.db", tmp.path, db_number++);
    if (store_open(&store, store_file, &err) < 0)
        fail_with("store_open", &err);
}

static inline struct run_config config(const char *strategy)
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
    struct run_summary m;
    char stop[256];
    unsigned asked, judged;
    uint64_t recorded;
};

static inline struct outcome carry_on(const struct run_config *c, int64_t run, struct fake *f)
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
                             .judge = &j,
                             .prices = prices};
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
    if (run_summary_load(&o.m, store, number, &err) < 0)
        fail_with("run_summary_load", &err);
    for (size_t i = 0; i < f->queue.n; i++)
        free(f->queue.items[i].source);
    vec_release(&f->queue);
    f->done = 0;
    return o;
}

static inline int64_t new_run(const struct run_config *c)
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

static inline struct outcome run_on_gpu(const struct run_config *c, script_fn fn, struct fake *f)
{
    *f = (struct fake){.gpu = true};
    new_store();
    strbuf_clear(&prompts);
    script = fn;
    return carry_on(c, new_run(c), f);
}

static inline struct outcome run(const struct run_config *c, script_fn fn)
{
    struct fake f = {.judged = 0};
    new_store();
    strbuf_clear(&prompts);
    script = fn;
    return carry_on(c, new_run(c), &f);
}

static inline const struct node_rec *node(const struct outcome *o, size_t i)
{
    if (i >= o->m.nodes.n)
        fail_msg("there are only %zu nodes", o->m.nodes.n);
    return &o->m.nodes.items[i];
}

/* ---- scripts that several test files use ----------------------------------------------------- */

static inline bool role_is(const struct author_call *c, const char *role)
{
    return str_eq(c->role, role);
}

/* A script for a run that allows several moves in one reply. */
static inline char *moves_script(const struct author_call *c)
{
    char *one, *two, *three, *all;
    if (role_is(c, "diagnose"))
        return xstrdup("CAUSE: line 5");
    if (role_is(c, "repair"))
        return edit_reply(c, "repair: the tail", "pass 40");
    if (c->index == 0)
        return file_reply("first: simple", "pass 100");
    one = edit_reply(c, "tiling: bigger", c->index == 1 ? "pass 80" : "fault");
    two = edit_reply(c, "layout: rows", c->index == 1 ? "mismatch" : "unsafe");
    three = edit_reply(c, "unroll: by four", "pass 60");
    switch (c->index) {
    case 1: /* four moves: a faster kernel, a wrong one, the best one, and one move too many */
        all = xasprintf("Three moves.\n%s\n%s\n**%s\n%s", one, two, three, two);
        break;
    case 2: /* three moves: an edit that does not fit, a good one, and the good one again */
        free(three);
        three = edit_reply(c, "unroll: by eight", "pass 50");
        all = xasprintf("MOVE: layout: x\n<<<<<<< SEARCH\nno such line\n=======\ny\n"
                        ">>>>>>> REPLACE\n%s%s",
                        three, three);
        break;
    default: /* two moves, and both kernels fail */
        all = xasprintf("%s%s", one, two);
    }
    free(one);
    free(two);
    free(three);
    return all;
}

/* A script whose first kernels take 100 us, then 80 us, then 200 us (too slow for a parent). The
 * kernel of step 3 is wrong, and a repair of it takes 60 us. Later kernels take 70 us. */
static inline char *refine_script(const struct author_call *c)
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

static inline char *hopeless_script(const struct author_call *c)
{
    if (role_is(c, "diagnose"))
        return xstrdup("CAUSE: unknown");
    if (role_is(c, "repair"))
        return edit_reply(c, "repair: again", c->index % 2 ? "mismatch" : "compile_error");
    return file_reply("first: broken", "compile_error");
}

static inline char *steady_script(const struct author_call *c)
{
    char judge[64];
    snprintf(judge, sizeof judge, "pass %d", 100 - (int)c->index * 5);
    return c->index == 0 ? file_reply("first: x", judge) : edit_reply(c, "tuning: more", judge);
}

/* A script whose structural changes never beat the first kernel. */
static inline char *no_pay_script(const struct author_call *c)
{
    static const char *const times[] = {"pass 100", "pass 110", "pass 108", "pass 109", "pass 107"};
    if (c->index == 0)
        return file_reply("first: simple", times[0]);
    return edit_reply(c, "rewrite: structure", times[MIN(c->index, 4)]);
}

static inline unsigned hash_of(const struct author_call *c)
{
    return (unsigned)(c->index * 2654435761u >> 16);
}

static inline char *search_script(const struct author_call *c)
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

static inline void lineage(const struct outcome *o, struct strbuf *out)
{
    strbuf_clear(out);
    lineage_print(&o->m, out);
}

static const char *const given =
    "/* hone-plan\n{}\n*/\n// judge: pass 100\n__global__ void k(){}\n";

static inline char *team_script(const struct author_call *c)
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

/* Tells kill_here() to kill the process at write number `at` to the store: before the write, or
 * after it. */
struct killer {
    uint64_t at;
    bool after;
};

static inline void kill_here(void *ctx, uint64_t n, bool after)
{
    struct killer *k = ctx;
    if (n == k->at && after == k->after)
        kill(getpid(), SIGKILL);
}

/* Makes a run in a new store, and executes it in a child process. If k is not NULL, the child dies
 * at the write that k names. Writes the number of the run to *id, opens the store again, and
 * returns the child's status as waitpid() gives it. */
static inline int run_in_child(const struct run_config *c, struct fake f, struct killer *k,
                               int64_t *id)
{
    struct err err = ERR_INIT;
    new_store();
    *id = new_run(c);
    char *path = xstrdup(store_file);
    store_close(store);
    store = NULL;
    pid_t pid = fork();
    if (pid == 0) {
        signal(SIGINT, SIG_DFL); /* a shell ignores SIGINT in background jobs */
        interrupt_catch();
        if (store_open(&store, path, &err) < 0)
            _exit(3);
        if (k)
            store_set_hook(store, kill_here, k);
        struct outcome o = carry_on(c, *id, &f);
        run_summary_release(&o.m);
        _exit(0);
    }
    int status;
    waitpid(pid, &status, 0);
    if (store_open(&store, path, &err) < 0)
        fail_with("store_open", &err);
    free(path);
    return status;
}

#endif
