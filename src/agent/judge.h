/*
 * judge.h - who judges a candidate: the evaluator, a recording, or a test's own rules.
 *
 * Strategies know only this. submit hands a candidate over, wait returns finished ones in any
 * order, exactly as eval_submit and eval_wait do. submit is what takes the time budget of a wave:
 * hand over all of it, then wait for each.
 */
#ifndef AGENT_JUDGE_H
#define AGENT_JUDGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "author/replay.h"
#include "base/err.h"
#include "eval/eval.h"
#include "task/task.h"
#include "verdict/verdict.h"

struct judge;

struct judge_order {
    const struct task *task;
    const char *source;
    size_t len;
    enum eval_depth depth;
    enum eval_baselines baselines; /* at most: the judge may have been told to do without */
    bool model;                    /* on the emulator, for its modelled time alone */
    uint64_t index;                /* of this verdict in the run: what a recording is keyed by */
    const char *parent;            /* the source it was made from; NULL = none */
};

struct judge_ops {
    /* 0; 1 if there is no such verdict (a recording that was stopped, or has no confirmation); -1.
     */
    int (*submit)(struct judge *j, const struct judge_order *o, uint64_t *ticket, struct err *err);
    /* 1 with a verdict, 0 if none within timeout_ns, -1. */
    int (*wait)(struct judge *j, uint64_t timeout_ns, uint64_t *ticket, struct verdict *out,
                struct err *err);
    /* An author was asked for a child of this source: time to get ready for it. May be NULL. */
    void (*prepare)(struct judge *j, const struct task *t, const char *parent);
    void (*close)(struct judge *j);
};

struct judge {
    const struct judge_ops *ops;
    void *priv;
};

/* The real one; borrows the evaluators. `model` is one on the emulator, for orders that ask for it;
 * NULL if e is on the emulator itself. */
struct judge *judge_eval(struct evaluator *e, struct evaluator *model, bool baselines);
/* Verdicts of a recording; borrows it. A candidate it does not have is an error. */
struct judge *judge_replay(const struct replay *r);
void judge_close(struct judge *j);

#endif
