/* judge_eval.c - the judge that evaluates candidates. */
#include <stdlib.h>
#include <string.h>

#include "agent/judge.h"
#include "base/util.h"

struct real {
    /* of[0] verifies and times candidates. of[1] computes modelled times; if it is NULL, of[0]
     * does. */
    struct evaluator *of[2];
    struct judge_baselines baselines;
};

/* Submits the candidate to one of the two evaluators. Each evaluator counts its own tickets, so the
 * lowest bit of the judge's ticket says which evaluator has the candidate. */
static int submit(struct judge *j, const struct judge_order *o, uint64_t *ticket, struct err *err)
{
    struct real *r = j->priv;
    struct eval_config cfg = EVAL_CONFIG_INIT;
    bool second = o->model && r->of[1];
    cfg.depth = o->depth;
    cfg.parent = o->parent;
    cfg.baselines = r->baselines.some && !o->model ? o->baselines : BASELINES_NONE;
    cfg.torch_variants = r->baselines.torch_variants;
    if (cfg.baselines == BASELINES_ALL)
        cfg.programs = r->baselines.programs;
    if (second) { /* only the modelled time is wanted; of[0] verifies candidates */
        cfg.workload = "time";
        cfg.sanitize = false;
    }
    int rc = eval_submit(r->of[second], o->task, o->source, o->len, &cfg, ticket, err);
    *ticket = *ticket * 2 + second;
    return rc;
}

static int wait_next(struct judge *j, uint64_t timeout_ns, uint64_t *ticket, struct verdict *out,
                     struct err *err)
{
    struct real *r = j->priv;
    for (unsigned i = 0; i < 2; i++) {
        if (!r->of[i])
            continue;
        int rc = eval_wait(r->of[i], i ? 0 : timeout_ns, ticket, out, err);
        if (rc) {
            *ticket = *ticket * 2 + i;
            return rc;
        }
    }
    return 0;
}

static void prepare(struct judge *j, const struct task *t, const char *parent)
{
    struct real *r = j->priv;
    eval_prepare(r->of[0], t, parent, strlen(parent));
}

static void close_real(struct judge *j)
{
    free(j->priv);
}

static void progress(struct judge *j, uint64_t ticket, struct strbuf *out)
{
    struct real *r = j->priv;
    eval_progress(r->of[ticket % 2], ticket / 2, out);
}

static const struct judge_ops ops = {submit, wait_next, prepare, close_real, progress};

struct judge *judge_eval(struct evaluator *e, struct evaluator *model, struct judge_baselines b)
{
    struct judge *j = xcalloc(1, sizeof *j);
    struct real *r = xcalloc(1, sizeof *r);
    *r = (struct real){{e, model}, b};
    j->ops = &ops;
    j->priv = r;
    return j;
}
