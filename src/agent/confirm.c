/* confirm.c - evaluates the best kernel of a run once more (confirm.h). */
#include "agent/confirm.h"

#include "base/util.h"
#include "job/torch_variants.h"
#include "sys/interrupt.h"

/* After this many failed confirmations, the next best kernel stays unconfirmed. */
enum { CONFIRM_TRIES = 3 };

/* Returns whether PyTorch ran beside the node. If its result was wrong, the verdict has no time of
 * PyTorch, but a baseline in the state "wrong". */
static bool timed_with_torch(const struct node *n)
{
    vec_each (struct verdict_time, t, &n->verdict.times)
        if (baseline_is_torch(t->who))
            return true;
    vec_each (struct verdict_baseline, b, &n->verdict.baselines)
        if (baseline_is_torch(b->who) && str_eq(b->state, "wrong"))
            return true;
    return false;
}

static bool wants_torch(const struct agent *a)
{
    if (a->cfg->programs.n || (a->cfg->torch_variants && a->task->torch_src))
        return a->cfg->baselines;
    vec_each (const char *, name, &a->task->baselines)
        if (baseline_is_torch(*name))
            return a->cfg->baselines;
    return false;
}

/* Returns whether the best kernel needs a confirmation. A kernel with a modelled time needs none,
 * because PyTorch does not run on the emulator. */
static bool needs_confirmation(const struct agent *a)
{
    const struct verdict *v = a->best ? &a->best->verdict : NULL;
    return v && v->time_ns > 0 && !v->time_is_model && !timed_with_torch(a->best);
}

static void say_obstacle(struct agent *a, struct strbuf *why)
{
    const struct budget time = {.wall_ns = a->cfg->budget.wall_ns};
    if (a->with_torch && !timed_with_torch(a->with_torch))
        strbuf_addf(why, "PyTorch did not run beside candidate %llu",
                    (unsigned long long)a->with_torch->index);
    else if (interrupted())
        strbuf_adds(why, "interrupted");
    else if (a->failed)
        strbuf_adds(why, "the run failed");
    else
        budget_over(&time, &a->spent, why);
}

/* The best kernel failed its confirmation, with verdict `v`. Records that, and makes the next best
 * kernel the best. */
static int reject_best(struct agent *a, const struct verdict *v, struct err *err)
{
    struct node *old = a->best;
    char key[40];
    struct strbuf text = STRBUF_INIT(4096);
    snprintf(key, sizeof key, "confirm-%06llu", (unsigned long long)old->index);
    strbuf_addf(&text, "candidate %llu passed, but failed when it was evaluated again: %s: %.1000s",
                (unsigned long long)old->index, verdict_kind_name(v->kind), v->summary);
    int rc = store_event_put(a->in.store, a->in.run, key, "confirm", text.buf, err);
    strbuf_release(&text);
    if (rc < 0 || agent_set_fate(a, old, "unconfirmed", err) < 0)
        return -1;
    a->best = NULL;
    vec_each (struct node *, n, &a->nodes)
        if (node_passes(*n) && !str_eq((*n)->fate, "unconfirmed") &&
            (!a->best || node_cmp(*n, a->best) > 0))
            a->best = *n;
    return a->best ? agent_set_fate(a, a->best, "best", err) : 0;
}

/* Gets the verdict of the best kernel's confirmation, from the store or from the judge. Returns 1
 * with the verdict, 0 with the reason in `why` if something prevented the confirmation, or -1 on an
 * error. */
static int judge_best(struct agent *a, struct verdict *v, struct strbuf *why, struct err *err)
{
    int rc = agent_recorded_confirmation(a, a->best, v, err);
    if (rc)
        return rc;
    say_obstacle(a, why);
    if (why->len)
        return 0;
    if (a->in.watch.confirming)
        a->in.watch.confirming(a->in.watch.ctx, a, a->best);
    rc = agent_judge_confirmation(a, a->best, v, why, err);
    if (rc == 1 && a->in.watch.confirmed)
        a->in.watch.confirmed(a->in.watch.ctx, a, a->best, v);
    return rc;
}

static int confirm_best(struct agent *a, bool *passes, struct strbuf *why, struct err *err)
{
    struct verdict v;
    int rc = judge_best(a, &v, why, err);
    if (rc <= 0)
        return rc;
    *passes = v.kind == V_PASS;
    if (!*passes && reject_best(a, &v, err) < 0)
        rc = -1;
    verdict_release(&v);
    return rc;
}

int agent_confirm(struct agent *a, struct err *err)
{
    struct strbuf why = STRBUF_INIT(1024);
    bool passes = !wants_torch(a);
    int rc = 1;
    for (unsigned n = 0; rc == 1 && !passes && needs_confirmation(a); n++) {
        rc = 0;
        if (n == CONFIRM_TRIES)
            strbuf_addf(&why, "%d faster kernels failed their confirmation", CONFIRM_TRIES);
        else
            rc = confirm_best(a, &passes, &why, err);
    }
    bool cut = why.len && interrupted();
    if (cut)
        agent_stop(a, "interrupted");
    if (why.len)
        strbuf_adds(&a->unconfirmed, "the best kernel is not confirmed");
    if (why.len && !str_eq(why.buf, a->stop.buf))
        strbuf_addf(&a->unconfirmed, ": %s", why.buf);
    strbuf_release(&why);
    return rc < 0 ? -1 : cut;
}
