/* judging.c - keeps the tree of candidates, has them judged and records their verdicts. */
#include <stdlib.h>
#include <string.h>

#include "agent/agent.h"
#include "agent/run.h"
#include "base/log.h"
#include "base/utf8.h"
#include "base/util.h"
#include "prompt/say.h"
#include "sys/hash.h"
#include "sys/interrupt.h"
#include "sys/json.h"
#include "task/snapshot.h"

#define UNJUDGED_TRIES 3 /* how often we submit a candidate that stays unjudged */

void node_free(struct node *n)
{
    if (n->judged)
        verdict_release(&n->verdict);
    free(n->source);
    free(n->author);
    free(n);
}

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

/* Gives the node its fate, and makes it a->best if it is the fastest so far. Stores the node; its
 * verdict must be in the store already. */
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
    if (store_node(a, n, err) < 0 || agent_save_progress(a, err) < 0)
        return -1;
    a->spent.wall_ns = agent_wall_ns(a);
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

/* Reads the node's verdict from the store. Returns 1 if it is there, 0 if not, or -1 on an error.
 * It is an error if the stored verdict is about another source, because then this run does not
 * repeat the stored one. */
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
    unsigned tries; /* how often the node was submitted */
    bool waiting;
};

/* Submits the candidate to the judge. Returns 0, -1 on an error, or 1 if the judge is a recording
 * that lacks the verdict. */
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

/* Gives a verdict to its node. `unjudged` means that Hone or the machine failed. Then we submit the
 * node again, up to UNJUDGED_TRIES times in all. We never submit an estimate (`model`) again. */
static int receive(struct agent *a, struct pending *list, size_t n, bool model, uint64_t ticket,
                   struct verdict *v, struct err *err)
{
    struct pending *p = NULL;
    for (size_t i = 0; i < n; i++)
        if (list[i].waiting && list[i].ticket == ticket)
            p = &list[i];
    if (!p) {
        verdict_release(v);
        return 0; /* we no longer wait for this candidate */
    }
    p->waiting = false;
    if (v->kind == V_UNJUDGED) {
        log_warn("agent", "candidate %llu could not be judged: %s", (unsigned long long)p->n->index,
                 v->summary);
        if (model) { /* the strategy can do without an estimate */
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

/* Gets the verdicts of n nodes, from the store or from the judge. With `model`, gets estimates.
 *
 * PyTorch's time does not depend on the candidate. So we time PyTorch only beside nodes[0], and
 * only until nodes[0] of some call has passed; a->with_torch is then that node. */
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
        else if (!found && (rc = agent_may_go_on(a)) == 0) {
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
        if (rc == 0 && (rc = agent_save_time(a, err)) == 0)
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
    /* A verdict from the emulator does not count, because PyTorch does not run there. If the run is
     * resumed on a GPU, PyTorch must still be timed. */
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
        /* Without a verdict (judge_all() failed), node_passes() is false. */
        nodes[i]->judged = true;
        ns[i] = rc == 0 && node_passes(nodes[i]) ? nodes[i]->verdict.time_ns : 0;
        node_free(nodes[i]);
    }
    free(nodes);
    return rc;
}

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

/* Returns 1 with the verdict of p. An interrupt or an error of the judge does not fail the run: the
 * function returns 0 with the reason in `why`. */
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
            verdict_release(out);
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
