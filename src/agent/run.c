/*
 * run.c - the four verbs that strategies use (ask, judge, grow, note). They work on the store, the
 * authors and the judge.
 */
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "agent/agent.h"
#include "agent/confirm.h"
#include "base/log.h"
#include "base/utf8.h"
#include "base/util.h"
#include "measure/gpu.h"
#include "memory/memory.h"
#include "prompt/say.h"
#include "source/dialect.h"
#include "sys/hash.h"
#include "sys/interrupt.h"
#include "sys/json.h"
#include "task/snapshot.h"

#define RNG_STREAM_AGENT 7001 /* the number of the run's random sequence */
#define UNJUDGED_TRIES 3      /* how often we submit a candidate that stays unjudged */

const struct strategy *const strategy_table[] = {
    &strategy_refine, &strategy_team, &strategy_search, &strategy_sample, &strategy_reflect, NULL,
};

const struct strategy *strategy_find(const char *name)
{
    for (size_t i = 0; strategy_table[i]; i++)
        if (str_eq(strategy_table[i]->name, name))
            return strategy_table[i];
    return NULL;
}

int agent_open(struct agent **out, const struct agent_setup *in, struct err *err)
{
    if (!in->authors[AUTHOR_CODE])
        return err_set(err, ERR_INTERNAL, "a run needs an author");
    struct agent *a = xcalloc(1, sizeof *a);
    a->in = *in;
    a->cfg = in->config;
    a->task = in->task;
    a->rng = rng_seeded(in->config->seed, RNG_STREAM_AGENT);
    a->started_ns = a->saved_ns = now_ns();
    strbuf_init(&a->stop, 1024);
    strbuf_init(&a->unconfirmed, 1024);
    a->memory = *a->cfg->memory ? json_loads(a->cfg->memory, 0, NULL) : NULL;
    *out = a;
    return 0;
}

static void node_free(struct node *n)
{
    if (n->judged)
        verdict_release(&n->verdict);
    free(n->source);
    free(n->author);
    free(n);
}

void agent_close(struct agent *a)
{
    if (!a)
        return;
    vec_each (struct node *, n, &a->nodes)
        node_free(*n);
    vec_release(&a->nodes);
    vec_release(&a->ideas);
    vec_release(&a->roles);
    shown_files_release(&a->shown);
    strbuf_release(&a->stop);
    strbuf_release(&a->unconfirmed);
    task_free(a->extended);
    json_decref(a->memory);
    free(a);
}

static uint64_t wall_ns(const struct agent *a)
{
    return a->in.prior_wall_ns + (now_ns() - a->started_ns);
}

static int save_progress(struct agent *a, struct err *err)
{
    a->saved_ns = now_ns();
    return store_run_progress(a->in.store, a->in.run, wall_ns(a),
                              a->best ? (int64_t)a->best->index : -1, err);
}

/* Call it while the run waits. Saves the wall time every two seconds. So if the process is killed,
 * the time budget (--budget-time) misses at most two seconds. */
static int save_time(struct agent *a, struct err *err)
{
    static const uint64_t every_ns = 2000000000;
    return now_ns() - a->saved_ns < every_ns ? 0 : save_progress(a, err);
}

int agent_stop(struct agent *a, const char *fmt, ...)
{
    if (!a->stop.len) {
        va_list ap;
        va_start(ap, fmt);
        strbuf_vaddf(&a->stop, fmt, ap);
        va_end(ap);
    }
    return 1;
}

/* Call it before each new call or evaluation. Returns 0, or 1 if an interrupt or a budget stops the
 * run. */
static int may_go_on(struct agent *a)
{
    struct strbuf why = STRBUF_INIT(256);
    int rc = 0;
    a->spent.wall_ns = wall_ns(a);
    if (interrupted())
        rc = agent_stop(a, "interrupted");
    else if (budget_over(&a->cfg->budget, &a->spent, &why))
        rc = agent_stop(a, "%s", why.buf);
    strbuf_release(&why);
    return rc;
}

/* ---- asking --------------------------------------------------------------------------------- */

void ask_release(struct ask *q)
{
    prompt_release(&q->prompt);
    json_decref(q->facts);
    free(q->reply);
    free(q->by);
    q->facts = NULL;
    q->reply = q->by = NULL;
}

static uint64_t next_index(struct agent *a, const char *role)
{
    for (size_t i = 0; i < a->roles.n; i++)
        if (str_eq(a->roles.items[i].role, role))
            return a->roles.items[i].next++;
    size_t i = a->roles.n;
    vec_push(&a->roles);
    snprintf(a->roles.items[i].role, sizeof a->roles.items[i].role, "%s", role);
    a->roles.items[i].next = 1;
    return 0;
}

static void count_spent(struct agent *a, uint64_t in, uint64_t cached, uint64_t out, bool estimated,
                        double usd)
{
    a->spent.calls++;
    a->spent.in_tokens += in;
    a->spent.cached_tokens += cached;
    a->spent.out_tokens += out;
    a->spent.estimated |= estimated;
    if (usd < 0)
        a->spent.usd_unknown = true;
    else
        a->spent.usd += usd;
}

/* The cost of earlier attempts at a call: attempts that failed and ended the run, which the user
 * then resumed. Their cost counts as part of the call. */
struct prior {
    uint64_t in_tokens, cached_tokens, cache_write_tokens, out_tokens;
    uint32_t requests;
    double usd; /* <0 = unknown */
    bool estimated;
};

/* Takes the reply from the store. Returns 1 if the store has it, 0 if the author must be asked. */
static int ask_recorded(struct agent *a, struct ask *q, bool *begun, struct prior *prior,
                        struct err *err)
{
    struct arena mem = ARENA_INIT;
    struct call_rec c;
    int rc = store_call_get(a->in.store, a->in.run, q->role, q->index, &c, &mem, err);
    *begun = rc == 1;
    *prior = (struct prior){0};
    if (rc == 1 && c.ended) {
        struct strbuf sb = STRBUF_INIT(AUTHOR_MAX_REPLY);
        if (*c.reply_sha && store_blob_get(a->in.store, c.reply_sha, &sb, err) < 0)
            rc = -1;
        q->ok = c.ok;
        q->reply = strbuf_detach(&sb, NULL);
        q->by = xstrdup(c.author);
        snprintf(q->error, sizeof q->error, "%s", c.error);
        count_spent(a, c.in_tokens, c.cached_tokens, c.out_tokens, c.estimated, c.usd);
        a->recorded++;
    } else if (rc == 1) {
        *prior =
            (struct prior){.in_tokens = c.in_tokens,
                           .cached_tokens = c.cached_tokens,
                           .cache_write_tokens = c.cache_write_tokens,
                           .out_tokens = c.out_tokens,
                           .requests = c.requests,
                           .usd = *c.finish ? c.usd : 0, /* if no answer came, there was no cost */
                           .estimated = c.estimated};
        rc = 0;
    }
    arena_release(&mem);
    return rc;
}

struct author *agent_author(const struct agent *a, enum author_role r)
{
    return a->in.authors[r] ? a->in.authors[r] : a->in.authors[AUTHOR_CODE];
}

/* Returns the name under which the run's records keep the author of this role. We take the name
 * from the configuration: a path in that name is absolute, so the name stays the same after `hone
 * resume`. */
static const char *author_name(struct agent *a, enum author_role r)
{
    const char *own = a->cfg->authors[r], *code = a->cfg->authors[AUTHOR_CODE];
    return own ? own : code ? code : author_spec(agent_author(a, r));
}

static int begin_call(struct agent *a, struct ask *q, bool begun, struct author_call **out,
                      struct err *err)
{
    struct author *au = agent_author(a, q->author);
    char sha[65], stable[STORE_SHA], turn[STORE_SHA];
    struct strbuf *s = &q->prompt.stable, *t = &q->prompt.turn;
    replay_prompt_sha(s->buf, t->buf, sha);
    if (!begun) {
        struct call_rec c = {.role = q->role,
                             .index = q->index,
                             .author = author_name(a, q->author),
                             .prompt_sha = sha,
                             .stable_sha = stable,
                             .turn_sha = turn};
        if (store_blob_put(a->in.store, s->buf, s->len, stable, err) < 0 ||
            store_blob_put(a->in.store, t->buf, t->len, turn, err) < 0 ||
            store_call_begin(a->in.store, a->in.run, &c, err) < 0)
            return -1;
    }
    struct author_request rq = {.run = a->in.run_name,
                                .role = q->role,
                                .index = q->index,
                                .stable = s->buf,
                                .turn = t->buf,
                                .temperature = q->temperature,
                                .facts = q->facts,
                                .handle = begun ? "?" : NULL};
    if (a->in.watch.asking)
        a->in.watch.asking(a->in.watch.ctx, a, q->role);
    if (author_start(au, &rq, out, err) < 0)
        return -1;
    /* A built-in author replies at once, so the judge would have no time to prepare. */
    if (q->parent && !author_is_built_in(au) && a->in.judge->ops->prepare)
        a->in.judge->ops->prepare(a->in.judge, a->task, q->parent);
    const char *handle = author_call_handle(*out);
    if (*handle)
        return store_call_handle(a->in.store, a->in.run, q->role, q->index, handle, err);
    return 0;
}

/* Returns whether a call failed only because its reply is unusable. An unusable reply does not end
 * the run; the store keeps it like a good reply. Any other failure (no connection, a bad key) ends
 * the run. The user can remove the cause and resume the run. */
static bool is_unusable(const struct author_reply *r)
{
    return !r->ok && r->err.kind == ERR_LIMIT && !r->over_budget;
}

static int end_call(struct agent *a, struct ask *q, const struct author_reply *r,
                    const struct prior *prior, struct err *err)
{
    if (!r->ok && str_eq(r->err.msg, REPLAY_END))
        return agent_stop(a, REPLAY_END);
    struct author *au = agent_author(a, q->author);
    struct price price;
    char sha[STORE_SHA] = "";
    double usd = -1;
    if (prior->usd >= 0 && a->in.prices &&
        prices_find(a->in.prices, author_scheme(au), author_model(au), &price))
        usd = prior->usd + price_of(&price, r->in_tokens, r->cached_tokens, r->cache_write_tokens,
                                    r->out_tokens);
    if (r->text.len && store_blob_put(a->in.store, r->text.buf, r->text.len, sha, err) < 0)
        return -1;
    struct call_rec c = {.role = q->role,
                         .index = q->index,
                         .ended = r->ok || is_unusable(r),
                         .ok = r->ok,
                         .author = author_name(a, q->author),
                         .model = r->model,
                         .reply_sha = sha,
                         .in_tokens = r->in_tokens + prior->in_tokens,
                         .cached_tokens = r->cached_tokens + prior->cached_tokens,
                         .cache_write_tokens = r->cache_write_tokens + prior->cache_write_tokens,
                         .out_tokens = r->out_tokens + prior->out_tokens,
                         .estimated = r->estimated || prior->estimated,
                         .drift = r->drift,
                         .usd = usd,
                         .latency_ns = r->latency_ns,
                         .requests = r->requests + prior->requests,
                         .continued = r->continued,
                         .finish = is_unusable(r) ? "unusable" : r->finish,
                         .error = r->ok ? "" : r->err.msg,
                         .notes = r->notes.buf};
    if (store_call_end(a->in.store, a->in.run, &c, err) < 0)
        return -1;
    count_spent(a, c.in_tokens, c.cached_tokens, c.out_tokens, c.estimated, usd);
    q->ok = r->ok;
    q->reply = xstrndup(r->ok ? r->text.buf : "", r->ok ? r->text.len : 0);
    q->by = xstrdup(c.author);
    snprintf(q->error, sizeof q->error, "%.399s", r->ok ? "" : r->err.msg);
    if (r->over_budget)
        return agent_stop(a, "%s", r->err.msg);
    if (!r->ok && !is_unusable(r)) {
        a->failed = true;
        return agent_stop(a, "author '%s': %s", author_spec(au), r->err.msg);
    }
    return 0;
}

static int wait_for_calls(struct agent *a, struct ask *asks, struct author_call **calls,
                          const struct prior *prior, size_t n, struct err *err)
{
    int rc = 0;
    uint64_t began = now_ns();
    for (;;) {
        struct author *waiting = NULL;
        size_t pending = 0;
        for (size_t i = 0; i < n; i++) {
            if (!calls[i])
                continue;
            if (!author_poll(calls[i])) {
                waiting = agent_author(a, asks[i].author);
                if (!pending++ && a->in.watch.waiting)
                    a->in.watch.waiting(a->in.watch.ctx, a, asks[i].role,
                                        author_call_waits_for(calls[i]), now_ns() - began);
                continue;
            }
            int e = end_call(a, &asks[i], author_reply(calls[i]), &prior[i], err);
            author_call_free(calls[i]);
            calls[i] = NULL;
            if (e < 0)
                return -1;
            rc = e ? e : rc;
        }
        if (!pending)
            return rc;
        if (interrupted())
            return agent_stop(a, "interrupted");
        if (save_time(a, err) < 0)
            return -1;
        if (a->cfg->budget.wall_ns && wall_ns(a) >= a->cfg->budget.wall_ns)
            return may_go_on(a);
        author_wait(waiting, 100000000);
    }
}

int agent_ask(struct agent *a, struct ask *asks, size_t n, struct err *err)
{
    struct author_call **calls = xcalloc(n, sizeof(struct author_call *));
    struct prior *prior = xcalloc(n, sizeof *prior);
    int rc = 0;
    for (size_t i = 0; i < n && rc == 0; i++) {
        bool begun;
        asks[i].index = next_index(a, asks[i].role);
        int found = ask_recorded(a, &asks[i], &begun, &prior[i], err);
        if (found < 0)
            rc = -1;
        else if (!found && (rc = may_go_on(a)) == 0)
            rc = begin_call(a, &asks[i], begun, &calls[i], err);
    }
    if (rc == 0)
        rc = wait_for_calls(a, asks, calls, prior, n, err);
    for (size_t i = 0; i < n; i++)
        author_call_free(calls[i]);
    free(calls);
    free(prior);
    return rc;
}

/* ---- the tree ------------------------------------------------------------------------------- */

bool node_passes(const struct node *n)
{
    return n->judged && n->verdict.kind == V_PASS;
}

int node_cmp(const struct node *a, const struct node *b)
{
    if (node_passes(a) && node_passes(b)) {
        double x = a->verdict.time_ns, y = b->verdict.time_ns;
        if (x > 0 && y > 0)
            return x < y ? 1 : x > y ? -1 : 0;
    }
    return verdict_cmp(&a->verdict, &b->verdict);
}

struct node *agent_grow(struct agent *a, struct node *parent, const char *source, const char *role,
                        const char *stage, const char *kind, const char *move)
{
    struct node *n = xcalloc(1, sizeof *n);
    n->index = a->nodes.n;
    n->parent = parent ? (int64_t)parent->index : -1;
    n->source = xstrdup(source);
    hash_hex(source, strlen(source), n->source_sha);
    n->verdict_index = -1;
    n->role = role;
    n->stage = stage;
    n->fate = "open";
    n->depth = parent ? parent->depth + 1 : 0;
    snprintf(n->kind, sizeof n->kind, "%s", kind);
    snprintf(n->move, sizeof n->move, "%s", move);
    utf8_trim(n->move);
    if (parent)
        parent->children++;
    *vec_push(&a->nodes) = n;
    return n;
}

static int store_node(struct agent *a, const struct node *n, struct err *err)
{
    struct node_rec r = {.index = n->index,
                         .parent = n->parent,
                         .verdict = n->verdict_index,
                         .source_sha = n->source_sha,
                         .role = n->role,
                         .author = n->author,
                         .stage = n->stage,
                         .move = n->move,
                         .fate = n->fate,
                         .kind = verdict_kind_name(n->verdict.kind),
                         .time_ns = n->verdict.time_ns,
                         .speedup = n->verdict.speedup,
                         .roofline_pct = verdict_roofline(&n->verdict, NULL),
                         .is_model = n->verdict.time_is_model};
    return store_node_put(a->in.store, a->in.run, &r, err);
}

int agent_set_fate(struct agent *a, struct node *n, const char *fate, struct err *err)
{
    if (str_eq(n->fate, fate))
        return 0;
    n->fate = fate;
    return store_node(a, n, err);
}

/* Updates the tree after a verdict: fate, best kernel, counts. The verdict must be in the store
 * already; this function stores the node. */
static int settle(struct agent *a, struct node *n, struct err *err)
{
    struct node *parent = n->parent >= 0 ? a->nodes.items[n->parent] : NULL;
    n->judged = true;
    if (parent && !node_passes(n))
        parent->failed_children++;
    n->fate = node_passes(n) ? "kept" : "failed";
    bool better = node_passes(n) && (!a->best || node_cmp(n, a->best) > 0);
    if (better) {
        if (a->best && agent_set_fate(a, a->best, "kept", err) < 0)
            return -1;
        a->best = n;
        n->fate = "best";
    }
    if (store_node(a, n, err) < 0 || save_progress(a, err) < 0)
        return -1;
    a->spent.wall_ns = wall_ns(a);
    if (a->in.watch.judged)
        a->in.watch.judged(a->in.watch.ctx, a, n);
    return 0;
}

static int store_verdict(struct agent *a, struct node *n, struct err *err)
{
    char json_sha[STORE_SHA], source_sha[STORE_SHA];
    struct strbuf text = STRBUF_INIT(16u << 20);
    json_t *j = verdict_to_json(&n->verdict);
    json_add_text(&text, j, false);
    json_decref(j);
    int rc = -1;
    if (store_blob_put(a->in.store, text.buf, text.len, json_sha, err) == 0 &&
        store_blob_put(a->in.store, n->source, strlen(n->source), source_sha, err) == 0)
        rc = store_verdict_put(a->in.store, a->in.run,
                               &(struct verdict_rec){.index = (uint64_t)n->verdict_index,
                                                     .source_sha = source_sha,
                                                     .json_sha = json_sha,
                                                     .kind = verdict_kind_name(n->verdict.kind),
                                                     .score = n->verdict.score,
                                                     .time_ns = n->verdict.time_ns,
                                                     .speedup = n->verdict.speedup},
                               err);
    strbuf_release(&text);
    return rc;
}

/* Returns 1 if the store has this verdict. Fails if the stored verdict belongs to another source,
 * because then this run is not the one that was recorded. */
static int judge_recorded(struct agent *a, struct node *n, struct err *err)
{
    struct arena mem = ARENA_INIT;
    struct verdict_rec r;
    int rc = store_verdict_get(a->in.store, a->in.run, (uint64_t)n->verdict_index, &r, &mem, err);
    if (rc == 1 && !str_eq(r.source_sha, n->source_sha)) {
        rc = err_set(err, ERR_INTERNAL,
                     "verdict %lld in the store belongs to another source than this run has now; "
                     "another version of Hone began the run, and it cannot be resumed",
                     (long long)n->verdict_index);
    } else if (rc == 1) {
        struct strbuf sb = STRBUF_INIT(16u << 20);
        json_t *j = NULL;
        if (store_blob_get(a->in.store, r.json_sha, &sb, err) < 0 ||
            !(j = json_read_text(sb.buf, sb.len, "verdict", NULL, err)) ||
            verdict_from_json(&n->verdict, j, err) < 0)
            rc = -1;
        json_decref(j);
        strbuf_release(&sb);
        a->recorded++;
        n->recorded = true;
    }
    arena_release(&mem);
    return rc;
}

/* ---- judging -------------------------------------------------------------------------------- */

struct pending {
    struct node *n;
    uint64_t ticket;
    enum eval_depth depth;
    enum eval_baselines baselines;
    unsigned tries; /* how often the candidate was submitted */
    bool waiting;   /* the judge has the candidate, and its verdict has not come */
};

/* Gives a candidate to the judge; returns 1 if a recording has no such verdict. */
static int hand_in(struct agent *a, struct pending *p, bool model, struct err *err)
{
    struct judge_order o = {
        .task = a->task,
        .source = p->n->source,
        .len = strlen(p->n->source),
        .depth = p->depth,
        .baselines = p->baselines,
        .model = model,
        .index = (uint64_t)p->n->verdict_index,
        .parent = p->n->parent >= 0 ? a->nodes.items[p->n->parent]->source : NULL,
    };
    p->waiting = true;
    p->tries++;
    return a->in.judge->ops->submit(a->in.judge, &o, &p->ticket, err);
}

static int submit(struct agent *a, struct pending *p, bool model, struct err *err)
{
    int rc = hand_in(a, p, model, err);
    return rc == 1 ? agent_stop(a, REPLAY_END) : rc;
}

/* Passes one verdict from the judge to its node. If the verdict is `unjudged`, submits the node
 * again, unless UNJUDGED_TRIES are used up or only an estimate is wanted. */
static int receive(struct agent *a, struct pending *list, size_t n, bool model, uint64_t ticket,
                   struct verdict *v, struct err *err)
{
    struct pending *p = NULL;
    for (size_t i = 0; i < n; i++)
        if (list[i].waiting && list[i].ticket == ticket)
            p = &list[i];
    if (!p) {
        verdict_release(v);
        return 0; /* the verdict belongs to a wave that was given up */
    }
    p->waiting = false;
    if (v->kind == V_UNJUDGED) {
        log_warn("agent", "candidate %llu could not be judged: %s", (unsigned long long)p->n->index,
                 v->summary);
        if (model) { /* an estimate: the strategy can do without it */
            p->n->verdict = *v;
            return store_verdict(a, p->n, err);
        }
        if (p->tries < UNJUDGED_TRIES) {
            verdict_release(v);
            return submit(a, p, model, err);
        }
        a->failed = true;
        agent_stop(a, "the judge failed %d times: %s", UNJUDGED_TRIES, v->summary);
        verdict_release(v);
        return 1;
    }
    p->n->verdict = *v;
    return store_verdict(a, p->n, err);
}

/* Tells the watcher how many candidates are being judged, and what is done for the first. */
static void tell_judging(struct agent *a, const struct pending *list, size_t n)
{
    struct strbuf what = STRBUF_INIT(512);
    size_t waiting = 0;
    for (size_t i = 0; i < n; i++)
        if (list[i].waiting && ++waiting == 1 && a->in.judge->ops->progress)
            a->in.judge->ops->progress(a->in.judge, list[i].ticket, &what);
    if (waiting && a->in.watch.judging)
        a->in.watch.judging(a->in.watch.ctx, a, waiting, what.buf);
    strbuf_release(&what);
}

/* Gets the verdicts of all nodes, from the store or from the judge. PyTorch's time does not depend
 * on the candidate. So only the first candidate of each wave is timed together with PyTorch, until
 * one of these candidates has passed. */
static int judge_all(struct agent *a, struct node **nodes, size_t n, bool model, struct err *err)
{
    struct pending *list = xcalloc(n, sizeof *list);
    size_t fresh = 0;
    int rc = 0;
    for (size_t i = 0; i < n && rc == 0; i++) {
        nodes[i]->verdict_index = (int64_t)a->next_verdict++;
        int found = judge_recorded(a, nodes[i], err);
        if (found < 0)
            rc = -1;
        else if (!found && (rc = may_go_on(a)) == 0) {
            list[i].n = nodes[i];
            list[i].depth = a->cfg->smoke                           ? EVAL_SMOKE
                            : profile_allowed(a, a->step) && !model ? EVAL_PROFILE
                                                                    : EVAL_TIME;
            list[i].baselines = model                                        ? BASELINES_NONE
                                : a->with_torch || a->cfg->torch_at_end || i ? BASELINES_HERE
                                                                             : BASELINES_ALL;
            rc = submit(a, &list[i], model, err);
            fresh++;
        }
    }
    if (rc == 0 && fresh)
        tell_judging(a, list, n);
    for (bool any = true; rc == 0 && any;) {
        any = false;
        for (size_t i = 0; i < n; i++)
            any |= list[i].waiting;
        if (!any)
            break;
        struct verdict v;
        uint64_t ticket;
        int got = a->in.judge->ops->wait(a->in.judge, 250000000, &ticket, &v, err);
        if (got > 0)
            rc = receive(a, list, n, model, ticket, &v, err);
        else if (interrupted())
            rc = agent_stop(a, "interrupted");
        else
            rc = got;
        if (rc == 0 && (rc = save_time(a, err)) == 0)
            tell_judging(a, list, n);
    }
    free(list);
    return rc;
}

int agent_judge(struct agent *a, struct node **nodes, size_t n, struct err *err)
{
    int rc = judge_all(a, nodes, n, false, err);
    for (size_t i = 0; i < n && rc == 0; i++) {
        a->spent.steps++;
        rc = settle(a, nodes[i], err);
    }
    /* A verdict with a modelled time does not set with_torch, because PyTorch does not run on the
     * emulator. If the run is resumed on a GPU, PyTorch must still be timed. */
    if (rc == 0 && n && !a->with_torch && !a->cfg->torch_at_end && node_passes(nodes[0]) &&
        !nodes[0]->verdict.time_is_model)
        a->with_torch = nodes[0];
    return rc;
}

int agent_estimate(struct agent *a, const char *const *sources, size_t n, double *ns,
                   struct err *err)
{
    struct node **nodes = xcalloc(n, sizeof(struct node *));
    for (size_t i = 0; i < n; i++) {
        nodes[i] = xcalloc(1, sizeof *nodes[i]);
        nodes[i]->source = xstrdup(sources[i]);
        nodes[i]->parent = -1;
        hash_hex(sources[i], strlen(sources[i]), nodes[i]->source_sha);
    }
    int rc = judge_all(a, nodes, n, true, err);
    for (size_t i = 0; i < n; i++) {
        nodes[i]->judged = true; /* a node without a verdict does not pass */
        ns[i] = rc == 0 && node_passes(nodes[i]) ? nodes[i]->verdict.time_ns : 0;
        node_free(nodes[i]);
    }
    free(nodes);
    return rc;
}

/* Returns a copy of the node, unjudged, with the verdict index of its confirmation. */
static struct node copy_to_confirm(const struct node *n)
{
    struct node s = *n;
    s.verdict = (struct verdict){.kind = V_UNJUDGED};
    s.verdict_index = (int64_t)(STORE_CONFIRM + n->index);
    return s;
}

int agent_recorded_confirmation(struct agent *a, const struct node *n, struct verdict *out,
                                struct err *err)
{
    struct node s = copy_to_confirm(n);
    int rc = judge_recorded(a, &s, err);
    *out = s.verdict;
    return rc;
}

/* Waits for the verdict of p and returns 1. After an interrupt or an error of the judge, returns 0
 * and puts the reason into `why`; the run does not fail. */
static int wait_for_confirmation(struct agent *a, const struct pending *p, struct verdict *out,
                                 struct strbuf *why)
{
    struct err err = ERR_INIT;
    for (;;) {
        uint64_t ticket;
        int got = a->in.judge->ops->wait(a->in.judge, 250000000, &ticket, out, &err);
        if (got > 0 && ticket == p->ticket)
            return 1;
        if (got > 0)
            verdict_release(out); /* the verdict belongs to a wave that was given up */
        else if (got < 0 || interrupted()) {
            strbuf_adds(why, got < 0 ? err.msg : "interrupted");
            return 0;
        }
    }
}

int agent_judge_confirmation(struct agent *a, const struct node *n, struct verdict *out,
                             struct strbuf *why, struct err *err)
{
    struct node s = copy_to_confirm(n);
    struct pending p = {.n = &s, .depth = EVAL_TIME, .baselines = BASELINES_ALL};
    struct err failed = ERR_INIT;
    while (p.tries < UNJUDGED_TRIES) {
        int rc = hand_in(a, &p, false, &failed);
        if (rc)
            strbuf_adds(why, rc < 0 ? failed.msg : "the recording has no confirmation");
        if (rc || !wait_for_confirmation(a, &p, out, why))
            return 0;
        if (out->kind != V_UNJUDGED) {
            s.verdict = *out;
            return store_verdict(a, &s, err) < 0 ? -1 : 1;
        }
        log_warn("agent", "candidate %llu could not be judged for its confirmation: %s",
                 (unsigned long long)n->index, out->summary);
        verdict_release(out);
    }
    strbuf_addf(why, "the judge failed %d times", UNJUDGED_TRIES);
    return 0;
}

int agent_refuse(struct agent *a, struct node *n, enum verdict_kind kind, const char *detector,
                 const char *reason, struct err *err)
{
    struct verdict *v = &n->verdict;
    memset(v, 0, sizeof *v);
    v->kind = kind;
    v->stage = "extract";
    v->detector = arena_strdup(&v->arena, detector);
    v->summary = arena_strdup(&v->arena, reason);
    v->detail = v->precision = v->bottleneck = v->device = v->gpu = v->driver = v->arch =
        v->compiler = "";
    v->source_sha = arena_strdup(&v->arena, n->source_sha);
    v->task = arena_strdup(&v->arena, a->task->name);
    char task_sha[TASK_HASH];
    task_hash(a->task, task_sha);
    v->task_sha = arena_strdup(&v->arena, task_sha);
    v->speedup_over = "";
    verdict_set_score(v);
    n->verdict_index = (int64_t)a->next_verdict++;
    if (store_verdict(a, n, err) < 0)
        return -1;
    return settle(a, n, err);
}

/* ---- knowledge ------------------------------------------------------------------------------ */

/* Returns the ledger's idea that is the move of candidate `n`; NULL if there is none yet. */
static struct idea *find_idea(struct agent *a, const struct node *n)
{
    vec_each (struct idea, i, &a->ideas)
        if (i->of == n->index)
            return i;
    return NULL;
}

int agent_add_idea(struct agent *a, const struct node *n, const struct node *result,
                   const struct node *against, struct err *err)
{
    struct idea *i = find_idea(a, n);
    if (i && node_cmp(result, a->nodes.items[i->node]) <= 0)
        return 0;
    if (!i)
        i = vec_push(&a->ideas);
    i->of = n->index;
    i->node = (int64_t)result->index;
    snprintf(i->kind, sizeof i->kind, "%s", n->kind);
    snprintf(i->text, sizeof i->text, "%s", n->move);
    if (!node_passes(result)) {
        i->outcome = "failed";
    } else if (!against || !node_passes(against) || against->verdict.time_ns <= 0 ||
               result->verdict.time_ns <= 0) {
        i->outcome = "";
    } else {
        i->gain = against->verdict.time_ns / result->verdict.time_ns;
        i->outcome = i->gain > 1.01 ? "gain" : i->gain < 0.99 ? "regression" : "no change";
    }
    return store_idea_put(a->in.store, a->in.run,
                          &(struct idea_rec){.index = (uint64_t)(i - a->ideas.items),
                                             .node = i->node,
                                             .kind = i->kind,
                                             .text = i->text,
                                             .outcome = i->outcome,
                                             .gain = i->gain},
                          err);
}

int agent_note(struct agent *a, const char *kind, struct err *err, const char *fmt, ...)
{
    char key[32];
    struct strbuf text = STRBUF_INIT(64 << 10);
    va_list ap;
    va_start(ap, fmt);
    strbuf_vaddf(&text, fmt, ap);
    va_end(ap);
    snprintf(key, sizeof key, "%06llu", (unsigned long long)a->events++);
    int rc = store_event_put(a->in.store, a->in.run, key, kind, text.buf, err);
    strbuf_release(&text);
    return rc;
}

bool profile_allowed(const struct agent *a, uint32_t step)
{
    switch (a->cfg->profile) {
    case PROFILE_NEVER:
        return false;
    case PROFILE_ALWAYS:
        return true;
    default:
        return (int64_t)step >= a->cfg->profile_delay;
    }
}

bool goal_reached(struct agent *a)
{
    double pct = 0;
    if (a->best && a->cfg->smoke) {
        agent_stop(a, "candidate %llu is right (--smoke)", (unsigned long long)a->best->index);
        return true;
    }
    if (a->best && a->cfg->stop_ns > 0 && a->best->verdict.time_ns <= a->cfg->stop_ns) {
        agent_stop(a, "the best kernel is as fast as was asked for");
        return true;
    }
    if (a->best)
        /* pct is the percentage of the roofline that the worst shape reaches */
        verdict_roofline(&a->best->verdict, &pct);
    if (a->cfg->stop_pct <= 0 || pct < a->cfg->stop_pct)
        return false;
    agent_stop(a, "the best kernel is at %.0f%% of the roofline", pct);
    return true;
}

/* Returns the name of the GPU on which the best kernel was measured, or for which the cost model
 * gave its time. */
static const char *judging_gpu(const struct agent *a, struct arena *mem)
{
    const struct verdict *v = &a->best->verdict;
    if (!v->time_is_model && v->device && *v->device)
        return gpu_name_of(v->device, mem);
    return v->gpu && *v->gpu ? v->gpu : a->cfg->gpu;
}

/* Keeps the lessons of this run for later runs. If that fails, warns; the run does not fail. */
static void learn(struct agent *a)
{
    const char *author = author_spec(a->in.authors[AUTHOR_CODE]);
    VEC(struct memory_outcome) all = VEC_INIT;
    struct memory_run run = {.name = a->in.run_name ? a->in.run_name : "run",
                             .task = a->in.task,
                             .books = str_starts(author, "playbook:") ? author + 9 : NULL};
    struct err err = ERR_INIT;
    if (!a->cfg->use_memory || str_starts(author, "replay:") || !a->best)
        return;
    run.measured = !a->best->verdict.time_is_model;
    struct arena mem = ARENA_INIT;
    run.gpu = judging_gpu(a, &mem);
    vec_each (struct node *, n, &a->nodes)
        if ((*n)->judged)
            *vec_push(&all) =
                (struct memory_outcome){.kind = (*n)->kind,
                                        .move = (*n)->move,
                                        .time_ns = node_passes(*n) ? (*n)->verdict.time_ns : 0,
                                        .gain = -1};
    vec_each (struct idea, i, &a->ideas)
        if (str_eq(i->outcome, "failed") || i->gain > 0)
            *vec_push(&all) =
                (struct memory_outcome){.kind = i->kind, .move = i->text, .gain = i->gain};
    if (memory_learn(a->in.store, &run, all.items, all.n, &err) < 0)
        log_warn("agent", "nothing is kept for later runs: %s", err.msg);
    vec_release(&all);
    arena_release(&mem);
}

int agent_run(struct agent *a, struct err *err)
{
    const struct strategy *s = strategy_find(a->cfg->strategy);
    if (!s)
        return err_set(err, ERR_INPUT, "there is no strategy '%s'", a->cfg->strategy);
    int rc = s->run(a, err);
    const char *state = a->failed ? "failed" : rc == 1 && !goal_reached(a) ? "stopped" : "done";
    int cut = rc < 0 ? -1 : agent_confirm(a, err);
    if (cut < 0) {
        store_run_end(a->in.store, a->in.run, "failed", err ? err->msg : "", NULL);
        return -1;
    }
    if (cut && rc == 0) {
        rc = 1;
        state = "stopped";
    }
    learn(a);
    struct strbuf reason = STRBUF_INIT(4096);
    strbuf_addf(&reason, "%s%s%s", a->stop.buf, a->stop.len && a->unconfirmed.len ? "; " : "",
                a->unconfirmed.buf);
    if (save_progress(a, err) < 0 ||
        store_run_end(a->in.store, a->in.run, state, reason.buf, err) < 0)
        rc = -1;
    strbuf_release(&reason);
    a->spent.wall_ns = wall_ns(a);
    return rc;
}
