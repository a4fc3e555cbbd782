/* drive.c - campaign_run(): chooses the next task, starts its process, and records how it ended. */
#include <stdlib.h>
#include <string.h>

#include "author/limits/pool.h"
#include "base/log.h"
#include "base/utf8.h"
#include "base/util.h"
#include "campaign/campaign.h"
#include "sys/file.h"
#include "sys/interrupt.h"
#include "sys/loop.h"
#include "sys/proc.h"
#include "sys/term.h"

/* Time for a child to end after SIGTERM. It is `hone` too, and ends within ten seconds. */
#define STOP_NS (12 * SEC)
/* Time to wait for a child that a killed campaign left behind. */
#define LOCK_NS (30 * SEC)

#define NO_PASS "no kernel passes"

/* The state of an entry that goes on because its budget has grown. The store has the state
 * "stopped" for such an entry. So if this process is killed, the next one goes on with the
 * entry. */
#define REOPENED "reopened"

struct job {
    struct child_process child;
    struct arena mem;
    struct entry_rec entry;
    struct str_vec argv;
    struct budget share; /* most that the run may spend in all; 0 = no limit */
    bool used, ended;    /* used: this element has a task; ended: the task's process has ended */
    bool reopened;
};

struct drive {
    struct campaign_run *r;
    struct loop *loop;
    struct arena mem;
    struct entry_rec_vec entries;
    size_t next;
    struct job jobs[CAMPAIGN_MAX_JOBS];
    struct temp_dir pool_dir;
    char *pool_path; /* see open_pool(); NULL without a budget of tokens or money */
    char *program;
    bool stopping;
};

/* ---- what is left to do ---------------------------------------------------------------------- */

static bool is_over(const struct entry_rec *e, const struct campaign_run *r)
{
    if (r->import_only && *e->task_sha)
        return true;
    return str_eq(e->state, "done") || (str_eq(e->state, "failed") && !r->retry);
}

/* Corrects the state of an entry if the campaign was killed before it recorded the end of the run.
 * With more_budget, reopens an entry whose run ended because its budget was used up. */
static int settle_entry(struct drive *d, struct entry_rec *e, struct err *err)
{
    struct run_rec run;
    char number[32];
    bool may_reopen = d->r->more_budget && !d->r->import_only && str_eq(e->state, "done");
    if (e->run < 0 || (is_over(e, d->r) && !may_reopen))
        return 0;
    snprintf(number, sizeof number, "%lld", (long long)e->run);
    if (store_run_find(d->r->store, number, &run, &d->mem, err) < 0)
        return -1;
    if (may_reopen) {
        if (!str_eq(run.state, "stopped") || !budget_ended(run.reason))
            return 0;
        e->state = REOPENED;
        return store_entry_state(d->r->store, d->r->campaign, e->index, "stopped",
                                 "the budget has grown", err);
    }
    if (!str_eq(run.state, "done"))
        return 0;
    e->state = "done";
    return store_entry_state(d->r->store, d->r->campaign, e->index, "done",
                             run.best < 0 ? NO_PASS : "", err);
}

/* Returns the entry's turn, from 0 to 2. Entries with a lower turn start first. */
static int turn_of(const struct entry_rec *e)
{
    return str_eq(e->state, REOPENED) ? 2 : e->run < 0;
}

static int list_entries(struct drive *d, struct err *err)
{
    struct entry_rec_vec all = VEC_INIT;
    int rc = store_entry_list(d->r->store, d->r->campaign, &all, &d->mem, err);
    for (size_t i = 0; i < all.n && rc == 0; i++)
        rc = settle_entry(d, &all.items[i], err);
    for (int turn = 0; rc == 0 && turn <= 2; turn++)
        vec_each (struct entry_rec, e, &all)
            if (!is_over(e, d->r) && turn_of(e) == turn)
                *vec_push(&d->entries) = *e;
    vec_release(&all);
    return rc;
}

static int close_reopened(struct drive *d, struct err *err)
{
    int rc = 0;
    for (size_t i = d->next; i < d->entries.n && rc == 0; i++) {
        const struct entry_rec *e = &d->entries.items[i];
        if (str_eq(e->state, REOPENED))
            rc = store_entry_state(d->r->store, d->r->campaign, e->index, "done", e->reason, err);
    }
    return rc;
}

static unsigned running(const struct drive *d)
{
    unsigned n = 0;
    for (size_t i = 0; i < CAMPAIGN_MAX_JOBS; i++)
        n += d->jobs[i].used;
    return n;
}

/* ---- budgets --------------------------------------------------------------------------------- */

struct amounts {
    double tokens, usd, steps;
};

static int spent_by_run(struct drive *d, int64_t run, struct amounts *out, struct err *err)
{
    struct arena a = ARENA_INIT;
    struct run_rec rec;
    char number[32];
    *out = (struct amounts){0};
    if (run < 0)
        return 0;
    snprintf(number, sizeof number, "%lld", (long long)run);
    int rc = store_run_find(d->r->store, number, &rec, &a, err);
    if (rc == 0)
        *out =
            (struct amounts){(double)(rec.in_tokens + rec.out_tokens), rec.usd, (double)rec.nodes};
    arena_release(&a);
    return rc;
}

/* Adds up what the runs have spent. A running task counts with its whole share. */
static int committed(struct drive *d, struct amounts *out, struct err *err)
{
    struct arena a = ARENA_INIT;
    struct entry_rec_vec all = VEC_INIT;
    int rc = store_entry_list(d->r->store, d->r->campaign, &all, &a, err);
    *out = (struct amounts){0};
    for (size_t i = 0; i < all.n && rc == 0; i++) {
        struct amounts x;
        rc = spent_by_run(d, all.items[i].run, &x, err);
        for (size_t k = 0; k < CAMPAIGN_MAX_JOBS; k++) {
            const struct job *j = &d->jobs[k];
            if (!j->used || j->entry.index != all.items[i].index)
                continue;
            x.tokens = MAX(x.tokens, (double)j->share.tokens);
            x.usd = MAX(x.usd, j->share.usd);
            x.steps = MAX(x.steps, (double)j->share.steps);
        }
        out->tokens += x.tokens;
        out->usd += x.usd;
        out->steps += x.steps;
    }
    vec_release(&all);
    arena_release(&a);
    return rc;
}

/* Returns how much a run may spend: `own`, which it has spent already, and an equal share of what
 * is left of the campaign's limit. */
static double share_of(double limit, double used, double own, size_t tasks)
{
    double left = limit - used;
    return left > 0 ? own + left / (double)tasks : 0;
}

/* Sets j->share, the most that the job's run may spend. Returns 0, 1 if a budget is used up, or -1
 * on an error. */
static int set_share(struct drive *d, struct job *j, struct err *err)
{
    const struct budget *b = &d->r->budget;
    struct amounts used, own;
    size_t tasks = d->entries.n - d->next;
    if (!b->tokens && b->usd <= 0 && !b->steps)
        return 0;
    if (committed(d, &used, err) < 0 || spent_by_run(d, j->entry.run, &own, err) < 0)
        return -1;
    double tokens = share_of((double)b->tokens, used.tokens, own.tokens, tasks);
    double steps = share_of((double)b->steps, used.steps, own.steps, tasks);
    j->share.usd = share_of(b->usd, used.usd, own.usd, tasks);
    j->share.tokens = (uint64_t)tokens;
    j->share.steps = (uint64_t)steps;
    return (b->tokens && j->share.tokens < 1) || (b->usd > 0 && !(j->share.usd > 0)) ||
           (b->steps && j->share.steps < 1);
}

/* Makes the pool, a file in which the author calls of all tasks reserve tokens and money. */
static int open_pool(struct drive *d, struct err *err)
{
    const struct budget *b = &d->r->budget;
    struct amounts used;
    struct budget_pool *p;
    if ((!b->tokens && b->usd <= 0) || d->r->import_only)
        return 0;
    if (committed(d, &used, err) < 0 || temp_dir_make(&d->pool_dir, err) < 0)
        return -1;
    d->pool_path = xasprintf("%s/budget", d->pool_dir.path);
    if (budget_pool_open(&p, d->pool_path, &(struct pool_sum){b->tokens, b->usd},
                         &(struct pool_sum){(uint64_t)used.tokens, used.usd}, err) < 0)
        return -1;
    budget_pool_close(p);
    return 0;
}

/* ---- starting -------------------------------------------------------------------------------- */

static void on_end(struct child_process *c, void *ctx)
{
    struct job *j = ctx;
    (void)c;
    j->ended = true;
}

static void add_arg(struct job *j, const char *name, const char *value)
{
    *vec_push(&j->argv) = name;
    if (value)
        *vec_push(&j->argv) = value;
}

static void make_argv(const struct drive *d, struct job *j)
{
    const struct campaign_run *r = d->r;
    struct arena *a = &j->mem;
    unsigned long long number = j->entry.index;
    add_arg(j, d->program, "bench");
    add_arg(j, "--work", arena_printf(a, "%s:%llu", r->name, number));
    add_arg(j, "--store", r->store_path);
    add_arg(j, "--out", arena_printf(a, "%s/%03llu-%s", r->out_dir, number + 1, j->entry.label));
    if (r->import_only)
        add_arg(j, "--import-only", NULL);
    if (j->share.tokens)
        add_arg(j, "--budget-tokens", arena_printf(a, "%llu", (unsigned long long)j->share.tokens));
    if (j->share.usd > 0)
        add_arg(j, "--budget-usd", arena_printf(a, "%.6f", j->share.usd));
    if (j->share.steps)
        add_arg(j, "--budget-steps", arena_printf(a, "%llu", (unsigned long long)j->share.steps));
    if (d->pool_path)
        add_arg(j, "--budget-pool", d->pool_path);
    for (size_t i = 0; r->extra && r->extra[i]; i++)
        add_arg(j, r->extra[i], NULL);
    *vec_push(&j->argv) = NULL;
}

static void release_job(struct job *j)
{
    child_release(&j->child);
    vec_release(&j->argv);
    arena_release(&j->mem);
    *j = (struct job){.used = false};
}

static void wait_for_lock(struct drive *d, int64_t run)
{
    uint64_t until = now_ns() + LOCK_NS;
    while (run >= 0 && store_run_is_locked(d->r->store, run) && now_ns() < until)
        if (loop_step(d->loop, 50 * MS, NULL) < 0)
            return;
}

/* Starts the process of the next entry. Returns 0, 1 if a budget is used up, or -1 on an error. */
static int start_next(struct drive *d, struct err *err)
{
    struct job *j = d->jobs;
    struct entry_rec rec;
    while (j->used)
        j++;
    *j = (struct job){.child = CHILD_INIT, .used = true};
    int rc = store_entry_get(d->r->store, d->r->campaign, d->entries.items[d->next].index, &rec,
                             &j->mem, err);
    j->entry = rec;
    j->reopened = str_eq(d->entries.items[d->next].state, REOPENED);
    if (rc == 1)
        rc = set_share(d, j, err);
    else if (rc == 0)
        rc = err_set(err, ERR_SYSTEM, "the entry of the campaign is no longer in the store");
    if (rc == 1) {
        strbuf_adds(&d->r->stop, "the budget is used up");
        if (close_reopened(d, err) < 0)
            rc = -1;
    }
    if (rc) {
        release_job(j);
        return rc;
    }
    d->next++;
    wait_for_lock(d, j->entry.run);
    make_argv(d, j);
    j->child.argv = j->argv.items;
    j->child.max_err = 256 << 10;
    j->child.max_out = 64 << 10;
    j->child.grace_ns = STOP_NS;
    j->child.on_end = on_end;
    j->child.ctx = j;
    if ((!d->r->import_only &&
         store_entry_state(d->r->store, d->r->campaign, j->entry.index, "running", "", err) < 0) ||
        child_start(&j->child, d->loop, err) < 0) {
        release_job(j);
        return -1;
    }
    if (d->r->watch.started)
        d->r->watch.started(d->r->watch.ctx, &j->entry);
    return 0;
}

/* ---- ending ---------------------------------------------------------------------------------- */

/* Appends the last lines that the process wrote to stderr, without "hone: ". */
static void last_words(const struct job *j, struct strbuf *out)
{
    enum { MAX_WORDS = 600 };
    const char *text = j->child.err.buf;
    size_t n = j->child.err.len;
    while (n && (text[n - 1] == '\n' || text[n - 1] == ' '))
        n--;
    size_t from = n > MAX_WORDS ? n - MAX_WORDS : 0;
    const char *first = memmem(text + from, n - from, "hone: ", 6);
    if (first)
        from = (size_t)(first + 6 - text);
    char *words = xstrndup(text + from, n - from);
    utf8_clean(words, strlen(words));
    term_clean(words, MAX_WORDS);
    strbuf_adds(out, words);
    free(words);
}

/* Returns whether another version of Hone began the run, and this version cannot resume it. */
static bool must_begin_again(const struct drive *d, const struct job *j)
{
    return j->entry.run >= 0 && *j->entry.hone && !str_eq(j->entry.hone, d->r->hone) &&
           strstr(j->child.err.buf, "cannot be resumed");
}

static int set_state(struct drive *d, const struct job *j, const char *state, const char *reason,
                     struct err *err)
{
    return store_entry_state(d->r->store, d->r->campaign, j->entry.index, state, reason, err);
}

/* Returns 1 if the process has done its work, 0 if not, -1 on an error. With import_only, its work
 * is to import the task; otherwise, to bring the run to its end. If the run ended and no kernel
 * passes, `why` says why. We look into the store, because exit status 1 does not say enough: it may
 * mean that no kernel passes, or that the task cannot be loaded. */
static int carried_out(struct drive *d, const struct job *j, struct strbuf *why, struct err *err)
{
    struct arena a = ARENA_INIT;
    struct entry_rec e;
    struct run_rec run;
    char number[32];
    int rc = store_entry_get(d->r->store, d->r->campaign, j->entry.index, &e, &a, err);
    if (rc == 1 && d->r->import_only) {
        rc = *e.task_sha != '\0';
    } else if (rc == 1 && e.run < 0) {
        rc = 0;
    } else if (rc == 1) {
        snprintf(number, sizeof number, "%lld", (long long)e.run);
        rc = store_run_find(d->r->store, number, &run, &a, err);
        rc = rc < 0 ? rc : str_eq(run.state, "done") || str_eq(run.state, "stopped");
        if (rc == 1 && run.best < 0)
            strbuf_adds(why, *run.reason ? run.reason : NO_PASS);
    }
    arena_release(&a);
    return rc;
}

static int begin_again(struct drive *d, const struct job *j, struct err *err)
{
    vec_each (struct entry_rec, e, &d->entries)
        if (e->index == j->entry.index) {
            struct entry_rec again = *e; /* vec_push may move the items */
            *vec_push(&d->entries) = again;
            break;
        }
    if (store_entry_run(d->r->store, d->r->campaign, j->entry.index, -1, "", err) < 0)
        return -1;
    return set_state(d, j, "waiting", "", err);
}

static int record_end(struct drive *d, struct job *j, struct err *err)
{
    const struct child_process *c = &j->child;
    struct strbuf words = STRBUF_INIT(8192);
    bool exited = c->end == CHILD_EXITED;
    int rc = exited && c->code <= 1 ? carried_out(d, j, &words, err) : 0;
    if (rc == 1) {
        rc = d->r->import_only ? set_state(d, j, "waiting", "", err)
                               : set_state(d, j, "done", words.buf, err);
    } else if (rc == 0 && (d->stopping || (exited && c->code == INTERRUPT_EXIT))) {
        rc = set_state(d, j, "stopped", d->r->stop.buf, err);
    } else if (rc == 0 && must_begin_again(d, j)) {
        /* a new run would replace the result of a reopened entry */
        rc = j->reopened ? set_state(d, j, "done", "this version cannot resume its run", err)
                         : begin_again(d, j, err);
    } else if (rc == 0) {
        if (!exited)
            child_describe(c, &words);
        else
            last_words(j, &words);
        rc = set_state(d, j, "failed", words.len ? words.buf : "it ended and printed nothing", err);
    }
    strbuf_release(&words);
    return rc;
}

static int reap(struct drive *d, struct err *err)
{
    int rc = 0;
    for (size_t i = 0; i < CAMPAIGN_MAX_JOBS && rc == 0; i++) {
        struct job *j = &d->jobs[i];
        struct entry_rec now;
        if (!j->used || !j->ended)
            continue;
        rc = record_end(d, j, err);
        if (rc == 0)
            rc = store_entry_get(d->r->store, d->r->campaign, j->entry.index, &now, &j->mem, err);
        if (rc > 0) {
            if (d->r->watch.ended)
                d->r->watch.ended(d->r->watch.ctx, &now);
            rc = 0;
        }
        release_job(j);
    }
    return rc;
}

static void stop_all(struct drive *d)
{
    d->stopping = true;
    for (size_t i = 0; i < CAMPAIGN_MAX_JOBS; i++)
        if (d->jobs[i].used)
            child_terminate(&d->jobs[i].child);
}

/* Kills the processes that still run, for example after Ctrl-C. */
static int give_up(struct drive *d, struct err *err)
{
    int rc = 0;
    for (size_t i = 0; i < CAMPAIGN_MAX_JOBS; i++) {
        if (!d->jobs[i].used)
            continue;
        if (set_state(d, &d->jobs[i], "stopped", "interrupted", err) < 0)
            rc = -1;
        release_job(&d->jobs[i]);
    }
    return rc;
}

/* Returns 0 if all entries were worked on, 1 if r->stop says why not, -1 on an error. */
static int work(struct drive *d, struct err *err)
{
    struct campaign_run *r = d->r;
    uint64_t jobs = MIN(MAX(r->jobs, 1), CAMPAIGN_MAX_JOBS);
    int rc = 0;
    for (;;) {
        if (!d->stopping && r->until_ns && now_ns() >= r->until_ns) {
            strbuf_adds(&r->stop, "the time is used up");
            stop_all(d);
        }
        while (rc == 0 && !d->stopping && !r->stop.len && d->next < d->entries.n &&
               running(d) < jobs)
            rc = start_next(d, err);
        if (rc == 1) /* a budget is used up; running tasks go on */
            rc = 0;
        unsigned n = running(d);
        if (rc < 0 || !n)
            return rc < 0 ? -1 : r->stop.len > 0;
        if (r->watch.tick && !d->stopping &&
            r->watch.tick(r->watch.ctx, n, (unsigned)(d->entries.n - d->next)) < 0)
            stop_all(d);
        if (loop_step(d->loop, 200 * MS, err) < 0) {
            if (interrupted())
                strbuf_adds(&r->stop, "interrupted");
            return interrupted() ? 1 : -1;
        }
        rc = reap(d, err);
    }
}

int campaign_run(struct campaign_run *r, struct err *err)
{
    struct drive d = {.r = r,
                      .loop = loop_new(),
                      .program = realpath("/proc/self/exe", NULL),
                      .pool_dir = TEMP_DIR_INIT};
    strbuf_init(&r->stop, 4096);
    int rc = d.program ? store_campaign_lock(r->store, r->campaign, err)
                       : err_errno(err, "cannot find this program");
    if (rc == 0)
        rc = list_entries(&d, err);
    if (rc == 0)
        rc = open_pool(&d, err);
    if (rc == 0)
        rc = work(&d, err);
    if (give_up(&d, err) < 0)
        rc = -1;
    store_run_unlock(r->store);
    vec_release(&d.entries);
    arena_release(&d.mem);
    loop_free(d.loop);
    free(d.program);
    free(d.pool_path);
    temp_dir_release(&d.pool_dir);
    return rc;
}
