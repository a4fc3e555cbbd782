/* optimize_run.c - opens what a run needs, shows progress, and writes the report. */
#include "cmd/optimize_run.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/agent.h"
#include "agent/record.h"
#include "author/limits/pool.h"
#include "base/util.h"
#include "cmd/command.h"
#include "cmd/eval_command.h"
#include "measure/gpu.h"
#include "memory/memory.h"
#include "prompt/say.h"
#include "report/page.h"
#include "report/run_summary.h"
#include "source/dialect.h"
#include "sys/file.h"
#include "sys/gpu_probe.h"
#include "sys/interrupt.h"
#include "sys/json.h"
#include "sys/term.h"
#include "sys/toolchain.h"
#include "task/snapshot.h"

const char *cmd_store_path(const char *given)
{
    const char *env = getenv("HONE_STORE");
    return given ? given : env && *env ? env : "hone-out/hone.db";
}

char *cmd_existing_store(const char *given, struct err *err)
{
    const char *path = cmd_store_path(given);
    if (file_exists(path))
        return xstrdup(path);
    err_set(err, ERR_INPUT,
            "there is no store '%s' yet: `hone optimize` makes one. If the store is elsewhere, "
            "name it with --store or HONE_STORE",
            path);
    return NULL;
}

char *cmd_out_folder(const char *given, const char *name)
{
    return given && *given ? xstrdup(given) : xasprintf("hone-out/%s", name);
}

int cmd_open_store(struct store **out, const char *given, bool must_exist, struct err *err)
{
    char *path = must_exist ? cmd_existing_store(given, err) : xstrdup(cmd_store_path(given));
    int rc = path ? store_open(out, path, err) : -1;
    free(path);
    return rc;
}

static const char the_emulator[] = "the emulator";

static bool on_gpu(const struct run_config *c)
{
    struct gpu_probe g = {.n = 0};
    if (*c->device || !str_starts(c->on, "local"))
        return !str_eq(c->device, "emu");
    return gpu_probe(&g, NULL) == 0 && g.n;
}

int cmd_settle_dialect(bool asked, enum dialect *d, struct err *err)
{
    struct toolchain tc;
    if (*d != DIALECT_CUTE)
        return 0;
    toolchain_find(&tc);
    bool found = *tc.cute_include;
    toolchain_release(&tc);
    if (found)
        return 0;
    if (asked)
        return err_set(err, ERR_ENV,
                       "--dialect cute: the headers of CuTe (cute/tensor.hpp) are not on this "
                       "machine; run tools/setup, set HONE_CUTLASS_HOME, or use --dialect cuda");
    fprintf(stderr,
            "hone: no headers of CuTe here (hone doctor), so kernels are asked for in plain "
            "CUDA\n");
    *d = DIALECT_CUDA;
    return 0;
}

void cmd_settle_proposals(struct run_config *c)
{
    if (!c->proposals && str_starts(c->authors[AUTHOR_CODE], "playbook") && on_gpu(c))
        c->proposals = 4;
}

/* ---- the line of progress ------------------------------------------------------------------- */

struct live {
    struct progress p;
    const struct run_config *cfg;
    bool quiet;
    char waits_for[400];
    uint64_t judging_ns; /* when the judging of candidates began; 0 = none are being judged */
};

static void on_asking(void *ctx, const struct agent *a, const char *role)
{
    struct live *l = ctx;
    if (!l->quiet)
        progress_show(&l->p, "step %u: asking %s ...", a->step, role);
}

/* Updates the line at once if the call waits for something new. */
static void on_waiting(void *ctx, const struct agent *a, const char *role, const char *what,
                       uint64_t ns)
{
    struct live *l = ctx;
    if (l->quiet)
        return;
    if (!str_eq(what, l->waits_for)) {
        snprintf(l->waits_for, sizeof l->waits_for, "%s", what);
        l->p.last_ns = 0;
    }
    if (*what)
        progress_show(&l->p, "step %u: %s, %.0f s: waiting for %s", a->step, role, (double)ns / 1e9,
                      what);
    else
        progress_show(&l->p, "step %u: asking %s, %.0f s ...", a->step, role, (double)ns / 1e9);
}

static void on_refused(void *ctx, const struct agent *a, const char *role, uint64_t index,
                       const char *why, bool again)
{
    struct live *l = ctx;
    char text[400];
    snprintf(text, sizeof text, "%.390s", why);
    term_clean(text, 300);
    if (!l->quiet)
        progress_say(&l->p, "step %u: the reply %s/%llu cannot be used%s: %s", a->step, role,
                     (unsigned long long)index, again ? ", asking once more" : "", text);
}

static void on_judging(void *ctx, const struct agent *a, size_t n, const char *what)
{
    struct live *l = ctx;
    if (!l->judging_ns)
        l->judging_ns = now_ns();
    if (!l->quiet)
        progress_show(&l->p, "step %u: judging %zu candidate%s, %.0f s%s%s ...", a->step, n,
                      n > 1 ? "s" : "", (double)(now_ns() - l->judging_ns) / 1e9, *what ? ": " : "",
                      what);
}

static void add_ratio(const struct verdict *v, struct strbuf *sb)
{
    struct verdict_ratio r;
    if (!verdict_ratio(v, &r))
        return;
    strbuf_addf(sb, "  %.2fx", r.mid);
    if (!v->time_is_model) /* modelled times have no spread */
        strbuf_addf(sb, " [%.2f, %.2f]", r.lo, r.hi);
    strbuf_addf(sb, " %s", r.who);
}

static void say_judged(struct live *l, const struct agent *a, const struct node *n,
                       const char *stage, const struct verdict *v)
{
    struct strbuf sb = STRBUF_INIT(2048);
    if (l->quiet)
        return;
    strbuf_addf(&sb, "%3llu %-10s %-13s ", (unsigned long long)n->index, stage,
                verdict_kind_name(v->kind));
    if (v->time_ns > 0) {
        print_time(v->time_ns, v->time_is_model, &sb);
        if (verdict_timed_shapes(v) > 1)
            strbuf_adds(&sb, " geomean");
        add_ratio(v, &sb);
        if (verdict_roofline(v, NULL) > 0)
            strbuf_addf(&sb, "  %.0f%% roofline", verdict_roofline(v, NULL));
    } else {
        size_t from = sb.len;
        strbuf_adds(&sb, v->summary);
        term_clean(sb.buf + from, 60);
        sb.len = strlen(sb.buf);
    }
    if (n == a->best && v->kind == V_PASS)
        strbuf_adds(&sb, "  *best*");
    if (n->recorded)
        strbuf_adds(&sb, "  (recorded)");
    if (n->source[0] && l->cfg->dialect == DIALECT_CUTE &&
        !dialect_is_cute(n->source, strlen(n->source), NULL))
        strbuf_adds(&sb, "  not CuTe");
    strbuf_addf(&sb, "  | %.0fk tokens%s", (double)(a->spent.in_tokens + a->spent.out_tokens) / 1e3,
                a->spent.estimated ? "~" : "");
    if (a->spent.usd > 0 || a->spent.usd_unknown)
        strbuf_addf(&sb, ", $%.2f%s", a->spent.usd, a->spent.usd_unknown ? "+?" : "");
    strbuf_addf(&sb, ", %.0f s", (double)a->spent.wall_ns / 1e9);
    struct strbuf left = STRBUF_INIT(256);
    budget_describe(&l->cfg->budget, &a->spent, &left);
    if (left.len)
        strbuf_addf(&sb, " (%s)", left.buf);
    term_clean(sb.buf, 400);
    progress_say(&l->p, "%s", sb.buf);
    strbuf_release(&left);
    strbuf_release(&sb);
}

static void on_judged(void *ctx, const struct agent *a, const struct node *n)
{
    ((struct live *)ctx)->judging_ns = 0;
    say_judged(ctx, a, n, n->stage, &n->verdict);
}

static void on_confirming(void *ctx, const struct agent *a, const struct node *n)
{
    struct live *l = ctx;
    if (!l->quiet)
        progress_show(&l->p, "evaluating candidate %llu once more, with PyTorch ...",
                      (unsigned long long)n->index);
}

static void on_confirmed(void *ctx, const struct agent *a, const struct node *n,
                         const struct verdict *again)
{
    say_judged(ctx, a, n, "confirm", again);
}

/* ---- opening what a run needs --------------------------------------------------------------- */

struct run_resources {
    struct task *task;
    struct author *authors[AUTHOR_ROLES];
    /* `model`, the emulator, ranks proposals before `eval` runs the best on a GPU; may be NULL. */
    struct evaluator *eval, *model;
    struct replay *replay;
    struct judge *judge;
    struct prices *prices;
    struct budget_pool *pool; /* NULL without a budget of tokens or money */
};

static void run_resources_close(struct run_resources *p)
{
    judge_close(p->judge);
    replay_free(p->replay);
    evaluator_close(p->eval);
    evaluator_close(p->model);
    for (int i = 0; i < AUTHOR_ROLES; i++)
        author_close(p->authors[i]);
    budget_pool_close(p->pool);
    prices_free(p->prices);
    task_free(p->task);
}

static int check_price(const struct prices *prices, const struct author *a, const struct budget *b,
                       struct err *err)
{
    struct price x;
    if (b->usd <= 0 || prices_find(prices, author_scheme(a), author_model(a), &x))
        return 0;
    return err_set(err, ERR_USAGE,
                   "no price is known for '%s', so --budget-usd cannot be checked: add it to "
                   "~/.config/hone/prices.json or drop --budget-usd",
                   author_spec(a));
}

int cmd_check_author(const char *spec, const struct budget *b, struct err *err)
{
    struct prices *prices = NULL;
    struct author *a = NULL;
    int rc = prices_load(&prices, err);
    if (rc == 0)
        rc = author_open(&a, spec, NULL, err);
    if (rc == 0)
        rc = check_price(prices, a, b, err);
    author_close(a);
    prices_free(prices);
    return rc;
}

static int open_authors(struct run_resources *p, const struct optimize_run *s, struct err *err)
{
    for (int i = 0; i < AUTHOR_ROLES; i++) {
        const char *spec = s->config->authors[i];
        if (!spec)
            continue;
        if (author_open(&p->authors[i], spec, &s->author, err) < 0 ||
            check_price(p->prices, p->authors[i], &s->config->budget, err) < 0)
            return -1;
    }
    return 0;
}

/* Opens the pool of the campaign's budget, or else a pool for this run, and gives it to the
 * authors. */
static int open_pool(struct run_resources *p, const struct optimize_run *s, struct arena *mem,
                     struct err *err)
{
    const struct budget *b = &s->config->budget;
    struct run_rec r;
    char number[32];
    if (s->pool ? budget_pool_join(&p->pool, s->pool, err) < 0 : false)
        return err_prefix(err, "the campaign's budget");
    if (!s->pool && (b->tokens || b->usd > 0)) {
        snprintf(number, sizeof number, "%lld", (long long)s->run);
        if (store_run_find(s->store, number, &r, mem, err) < 0 ||
            budget_pool_open(&p->pool, NULL, &(struct pool_sum){b->tokens, b->usd},
                             &(struct pool_sum){r.in_tokens + r.out_tokens, r.usd}, err) < 0)
            return -1;
    }
    for (int i = 0; i < AUTHOR_ROLES && p->pool; i++) {
        struct price price;
        if (!p->authors[i])
            continue;
        prices_find(p->prices, author_scheme(p->authors[i]), author_model(p->authors[i]), &price);
        author_set_budget(p->authors[i], p->pool, &price);
    }
    return 0;
}

static int open_judge(struct run_resources *p, const struct optimize_run *s, struct err *err)
{
    const struct run_config *c = s->config;
    const char *author = c->authors[AUTHOR_CODE];
    if (str_starts(author, "replay:")) {
        if (replay_load(&p->replay, author + 7, err) < 0)
            return -1;
        if (!c->rejudge) {
            p->judge = judge_replay(p->replay);
            return 0;
        }
    }
    struct eval_options o = {.device = *c->device ? c->device : NULL,
                             .on = str_eq(c->on, "local") ? NULL : c->on,
                             .gpu = c->gpu,
                             .arch = c->arch,
                             .compiler = *c->compiler ? c->compiler : NULL};
    if (evaluator_open(&p->eval, &o, err) < 0)
        return -1;
    if (c->proposals > 1 && !str_eq(evaluator_device(p->eval), "emu")) {
        o.device = "emu";
        o.on = NULL;
        if (evaluator_open(&p->model, &o, err) < 0)
            return -1;
    }
    p->judge = judge_eval(p->eval, p->model,
                          (struct judge_baselines){c->baselines, c->torch_variants, c->programs});
    return 0;
}

static int print_end(struct optimize_run *s, struct run_resources *p, int rc, struct err *err)
{
    struct run_summary m;
    struct strbuf text = STRBUF_INIT(1u << 20), differ = STRBUF_INIT(64 << 10);
    char *dir = cmd_out_folder(s->out_dir ? s->out_dir : s->config->out, s->run_name);
    int code = HONE_OK, other = 0;
    if (run_summary_load(&m, s->store, s->run_name, err) < 0) {
        free(dir);
        return cmd_fail(err);
    }
    if (report_write(&m, s->store, dir, err) < 0)
        code = cmd_fail(err);
    if (p->replay && !s->config->rejudge)
        other = record_compare(s->store, s->run, p->replay, &differ, err);
    if (s->json) {
        json_t *j = run_summary_json(&m);
        json_object_set_new(j, "dir", json_text(dir));
        if (p->replay)
            json_object_set_new(j, "lineage_differs", json_integer(other));
        json_print(stdout, j);
        json_decref(j);
    } else {
        run_summary_print(&m, &text);
        against_baselines_print(&m, &text);
        if (m.best && code == HONE_OK)
            strbuf_addf(&text, "  kernel: %s/best.cu\n", dir);
        if (code == HONE_OK)
            strbuf_addf(&text, "  report: %s/report.md\n", dir);
        if (p->replay && !s->config->rejudge)
            strbuf_addf(&text, "  %s the recording's lineage\n%s",
                        other ? "NOT the same as" : "the same as", differ.buf);
        fputs(text.buf, stdout);
    }
    if (code == HONE_OK)
        code = interrupted()                   ? HONE_INTERRUPTED
               : str_eq(m.run.state, "failed") ? HONE_ENV
               : !m.best || other              ? HONE_NEGATIVE
                                               : HONE_OK;
    if (!s->json && (interrupted() || str_eq(m.run.state, "failed")))
        fprintf(stderr, "hone: everything is recorded: `hone resume %s` continues the run\n",
                s->run_name);
    else if (!s->json && budget_ended(m.run.reason))
        fprintf(stderr, "hone: `hone resume %s` continues the run; give it a larger budget\n",
                s->run_name);
    if (!s->json && s->was_done && m.nodes.n == s->nodes_before)
        fprintf(stderr,
                "hone: run %s was done before, and nothing was left to do. To go further: "
                "`hone resume %s --steps N` with N over %u, or another --author\n",
                s->run_name, s->run_name, s->config->steps);
    run_summary_release(&m);
    strbuf_release(&text);
    strbuf_release(&differ);
    free(dir);
    return code;
}

static const char *in_full(const char *text, const char *prefix, struct arena *mem)
{
    char *full = str_starts(text, prefix) ? realpath(text + strlen(prefix), NULL) : NULL;
    if (full)
        text = arena_printf(mem, "%s%s", prefix, full);
    free(full);
    return text;
}

/* Makes paths absolute, because the user may resume the run from any directory. */
static void keep_full_paths(struct run_config *c, const struct task *t, struct arena *mem)
{
    static const char *const schemes[] = {"mailbox:", "playbook:", "replay:"};
    if (*t->dir && !t->is_copy)
        c->task = in_full(c->task, "", mem);
    c->on = in_full(c->on, "spool:", mem);
    for (int i = 0; i < AUTHOR_ROLES; i++)
        for (size_t k = 0; c->authors[i] && k < ARRAY_LEN(schemes); k++)
            c->authors[i] = in_full(c->authors[i], schemes[k], mem);
}

/* Stores a copy of the task, for a resumed run. */
static int keep_task(struct optimize_run *s, const struct task *t, struct arena *mem,
                     struct err *err)
{
    struct strbuf text = STRBUF_INIT(TASK_MAX_SNAPSHOT);
    char sha[STORE_SHA];
    task_snapshot(t, &text);
    int rc = store_blob_put(s->store, text.buf, text.len, sha, err);
    s->config->task_sha = arena_strdup(mem, sha);
    strbuf_release(&text);
    return rc;
}

/* One transaction creates the run and notes it in the campaign. If the process is killed here, a
 * resumed campaign begins no second run. */
static int create_run(struct optimize_run *s, const char *task, const char *config, struct err *err)
{
    const char *author = s->config->authors[AUTHOR_CODE];
    if (!s->campaign)
        return store_run_create(s->store, task, s->config->strategy, config, author, &s->run, err);
    if (store_begin(s->store, err) < 0)
        return -1;
    int rc = store_run_create(s->store, task, s->config->strategy, config, author, &s->run, err);
    if (rc == 0)
        rc = store_entry_run(s->store, s->campaign, s->entry, s->run, s->hone, err);
    return store_end(s->store, rc == 0, err);
}

static int prepare_out(struct optimize_run *s, struct arena *mem, struct err *err)
{
    const char *dir = s->out_dir ? s->out_dir : *s->config->out ? s->config->out : "hone-out";
    if (dir_make(dir, err) < 0)
        return err_prefix(err, "--out");
    if (access(dir, W_OK) < 0)
        return err_errno(err, "--out: cannot write in '%s'", dir);
    if (s->out_dir)
        s->config->out = in_full(arena_strdup(mem, s->out_dir), "", mem);
    return 0;
}

/* Finds the lessons for a new run. A replay has them in its recording. */
static int recall(struct optimize_run *s, const struct task *t, const struct evaluator *e,
                  struct arena *mem, struct err *err)
{
    struct run_config *c = s->config;
    const char *author = c->authors[AUTHOR_CODE];
    if (!c->use_memory || str_starts(author, "replay:"))
        return 0;
    char *text =
        memory_recall(s->store, t, evaluator_gpu(e, mem), !str_eq(evaluator_device(e), "emu"),
                      str_starts(author, "playbook:") ? author + 9 : NULL, err);
    if (!text)
        return -1;
    c->memory = arena_strdup(mem, text);
    if (*text && !s->quiet)
        fprintf(stderr, "hone: memory has lessons of earlier runs on similar tasks (`hone memory "
                        "show`; `--ablate memory=off` does without)\n");
    free(text);
    return 0;
}

static int begin_run(struct optimize_run *s, const struct task *t, const struct evaluator *e,
                     struct arena *mem, struct err *err)
{
    struct run_rec r;
    const char *given = s->config->task;
    keep_full_paths(s->config, t, mem);
    if (keep_task(s, t, mem, err) < 0 || recall(s, t, e, mem, err) < 0)
        return -1;
    char number[32], *text = run_config_text(s->config, err);
    if (!text)
        return -1;
    int rc = create_run(s, given, text, err);
    free(text);
    snprintf(number, sizeof number, "%lld", (long long)s->run);
    if (rc < 0 || store_run_find(s->store, number, &r, mem, err) < 0)
        return -1;
    s->run_name = r.name;
    return 0;
}

/* Stores the configuration, because the options of `hone resume` hold for the rest of the run. */
static int keep_config(const struct optimize_run *s, const struct task *t, struct arena *mem,
                       struct err *err)
{
    keep_full_paths(s->config, t, mem);
    char *text = run_config_text(s->config, err);
    int rc = text ? store_run_configure(s->store, s->run, text, err) : -1;
    if (rc == 0 && s->campaign)
        rc = store_entry_run(s->store, s->campaign, s->entry, s->run, s->hone, err);
    free(text);
    return rc;
}

/* Sets *name to the device on which the run's recorded times were measured or modelled; NULL if the
 * run has no times. */
static int recorded_device(const struct optimize_run *s, const char **name, struct arena *mem,
                           struct err *err)
{
    const struct run_summary m = {.run = {.id = s->run, .name = s->run_name}};
    struct node_rec_vec nodes = VEC_INIT;
    int rc = store_node_list(s->store, s->run, &nodes, mem, err);
    *name = NULL;
    vec_each (const struct node_rec, n, &nodes) {
        struct verdict v;
        if (rc < 0 || *name || n->time_ns <= 0)
            continue;
        if (n->is_model) {
            *name = the_emulator;
        } else if ((rc = run_summary_verdict(&m, s->store, n, false, &v, err)) == 1) {
            *name = gpu_name_of(arena_strdup(mem, v.device), mem);
            verdict_release(&v);
        }
    }
    vec_release(&nodes);
    return rc < 0 ? -1 : 0;
}

/* Fails if another device gave the recorded times, because times of two devices cannot be compared.
 * We cannot check the GPUs behind a spool. A campaign has its own check. */
static int check_same_device(const struct optimize_run *s, const struct evaluator *e,
                             struct arena *mem, struct err *err)
{
    const char *was, *now;
    if (!s->resumed || s->campaign || !e)
        return 0;
    if (recorded_device(s, &was, mem, err) < 0)
        return -1;
    if (str_eq(evaluator_device(e), "emu"))
        now = the_emulator;
    else if (str_starts(s->config->on, "local"))
        now = evaluator_gpu(e, mem);
    else
        now = was == the_emulator ? "a GPU" : was;
    if (!was || str_eq(was, now))
        return 0;
    return err_set(err, ERR_INPUT,
                   "the times of run %s come from %s, and %s would judge now: their times cannot "
                   "be compared. `hone show %s best > best.cu` and `hone optimize %s --from "
                   "best.cu` begin a new run with the best kernel",
                   s->run_name, was, now, s->run_name, s->config->task);
}

static void say_changed(const struct optimize_run *s, const struct task *now,
                        const struct strbuf *was, struct strbuf *note)
{
    struct strbuf text = STRBUF_INIT(TASK_MAX_SNAPSHOT), diff = STRBUF_INIT(4096);
    if (now)
        task_snapshot(now, &text);
    if (now)
        task_snapshot_diff(was, &text, &diff);
    strbuf_addf(note,
                "task '%s' %s%s%s since the run began: the run goes on with the task as it was "
                "then (hash %.12s)",
                s->config->task, now ? "has changed (" : "cannot be loaded any more",
                now ? diff.buf : "", now ? ")" : "", s->config->task_sha);
    strbuf_release(&text);
    strbuf_release(&diff);
}

/* Returns the task of a resumed run. If the task has changed since the run began, returns the copy
 * in the store, and `note` says so. */
static struct task *task_of_resumed(const struct optimize_run *s, struct strbuf *note,
                                    struct err *err)
{
    struct strbuf was = STRBUF_INIT(TASK_MAX_SNAPSHOT);
    struct problem_vec problems = VEC_INIT;
    char hash[TASK_HASH] = "";
    if (store_blob_get(s->store, s->config->task_sha, &was, err) < 0) {
        err_prefix(err, "the task with which the run began");
        strbuf_release(&was);
        return NULL;
    }
    struct task *t = task_find(s->config->task, &problems);
    if (t)
        task_hash(t, hash);
    if (!str_eq(hash, s->config->task_sha)) {
        say_changed(s, t, &was, note);
        task_free(t);
        problems_release(&problems);
        t = task_from_snapshot(was.buf, was.len, s->run_name, &problems);
        if (!t)
            err_set(err, ERR_INPUT, "the task with which the run began: %s",
                    problems.n ? problems.items[0].text : "it cannot be loaded");
    }
    problems_release(&problems);
    strbuf_release(&was);
    return t;
}

static void compare_with_recording(const struct optimize_run *s, const struct task *t,
                                   struct strbuf *note)
{
    char now[TASK_HASH];
    const char *was = s->config->task_sha;
    task_hash(t, now);
    if (*was && !str_eq(was, now))
        strbuf_addf(note,
                    "the recording was made with another version of task '%s': its hash is %.12s, "
                    "the hash of this one is %.12s",
                    t->name, was, now);
}

/* Returns the task of the run. If the current task is not the one with which the run or the
 * recording began, `note` says so. */
static struct task *load_run_task(struct optimize_run *s, struct strbuf *note)
{
    struct err err = ERR_INIT;
    struct task *t;
    if (!s->resumed && s->task) {
        t = s->task;
    } else if (!s->resumed) {
        t = cmd_load_task(s->config->task);
        if (t)
            compare_with_recording(s, t, note);
    } else if (*s->config->task_sha) {
        t = task_of_resumed(s, note, &err);
        if (!t)
            cmd_fail(&err);
    } else {
        t = cmd_load_task(s->config->task);
        strbuf_addf(note,
                    "an older Hone began this run and kept no copy of task '%s': the run goes on "
                    "with the task as it is now",
                    s->config->task);
    }
    return t;
}

int optimize_run_finish(struct optimize_run *s)
{
    struct err err = ERR_INIT;
    struct strbuf note = STRBUF_INIT(8192);
    struct run_resources p = {0};
    struct arena mem = ARENA_INIT;
    struct live live = {.cfg = s->config, .quiet = s->quiet};
    struct agent *a = NULL;
    bool began = false;
    int code = HONE_ENV, rc = -1;
    if (!(p.task = load_run_task(s, &note))) {
        strbuf_release(&note);
        return HONE_ENV;
    }
    /* Authors and device come first: if one is missing, no store is created and no run begins. */
    if (prices_load(&p.prices, &err) < 0 || open_authors(&p, s, &err) < 0 ||
        open_judge(&p, s, &err) < 0 || prepare_out(s, &mem, &err) < 0 ||
        (!s->store && cmd_open_store(&s->store, s->store_path, false, &err) < 0) ||
        (!s->resumed && begin_run(s, p.task, p.eval, &mem, &err) < 0) ||
        store_run_lock(s->store, s->run, &err) < 0 ||
        check_same_device(s, p.eval, &mem, &err) < 0 ||
        (s->resumed && keep_config(s, p.task, &mem, &err) < 0) ||
        store_run_end(s->store, s->run, "running", "", &err) < 0 ||
        open_pool(&p, s, &mem, &err) < 0 ||
        (note.len && store_event_put(s->store, s->run, "task", "task", note.buf, &err) < 0))
        goto out;
    if (note.len)
        fprintf(stderr, "hone: %s\n", note.buf);
    progress_init(&live.p, stderr);
    struct agent_setup in = {
        .store = s->store,
        .run = s->run,
        .run_name = s->run_name,
        .task = p.task,
        .config = s->config,
        .judge = p.judge,
        .prices = p.prices,
        .watch = {.asking = on_asking,
                  .waiting = on_waiting,
                  .refused = on_refused,
                  .judging = on_judging,
                  .judged = on_judged,
                  .confirming = on_confirming,
                  .confirmed = on_confirmed,
                  .ctx = &live},
        .prior_wall_ns = s->prior_wall_ns,
    };
    memcpy(in.authors, p.authors, sizeof in.authors);
    if (!s->quiet)
        progress_say(&live.p, "%s: %s on %s, written by %s, judged on %s", s->run_name,
                     s->config->strategy, p.task->name, s->config->authors[AUTHOR_CODE],
                     p.eval ? evaluator_device(p.eval) : "the recording");
    began = true;
    if (agent_open(&a, &in, &err) == 0)
        rc = agent_run(a, &err);
    progress_end(&live.p);
    if (a && a->stop.len && !s->quiet)
        fprintf(stderr, "hone: stopped: %s\n", a->stop.buf);
    agent_close(a);
out:
    if (s->store)
        store_run_unlock(s->store);
    code = rc < 0 ? cmd_fail(&err) : print_end(s, &p, rc, &err);
    if (rc < 0 && began)
        fprintf(stderr, "hone: the run is recorded up to here: `hone resume %s` continues it\n",
                s->run_name);
    run_resources_close(&p);
    arena_release(&mem);
    strbuf_release(&note);
    return code;
}
