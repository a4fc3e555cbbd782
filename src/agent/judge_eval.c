#include <stdlib.h>

#include "agent/judge.h"
#include "base/util.h"

static int submit(struct judge *j, const struct judge_order *o, uint64_t *ticket, struct err *err)
{
    struct eval_config cfg = EVAL_CONFIG_INIT;
    cfg.depth = o->depth;
    return eval_submit(j->priv, o->task, o->source, o->len, &cfg, ticket, err);
}

static int wait_next(struct judge *j, uint64_t timeout_ns, uint64_t *ticket, struct verdict *out,
                     struct err *err)
{
    return eval_wait(j->priv, timeout_ns, ticket, out, err);
}

static void close_nothing(struct judge *j)
{
}

static const struct judge_ops ops = {submit, wait_next, close_nothing};

struct judge *judge_eval(struct evaluator *e)
{
    struct judge *j = xcalloc(1, sizeof *j);
    j->ops = &ops;
    j->priv = e;
    return j;
}
