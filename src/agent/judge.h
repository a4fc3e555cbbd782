/*
 * judge.h - the interface of a judge, which gives candidates their verdicts. A judge is the
 * evaluator, a recording, or a test's own rules.
 *
 * `submit` hands a candidate over. `wait` returns finished candidates in any order. To judge
 * several at the same time, submit all of them first.
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
    /* Which baselines to time. If the judge was set up without baselines, it times none. */
    enum eval_baselines baselines;
    bool model;         /* get only the modelled time, on the emulator */
    uint64_t index;     /* number of the verdict in the run, and its key in a recording */
    const char *parent; /* the parent's source, or NULL */
};

struct judge_ops {
    /* Returns 0 or -1. Returns 1 if a recording lacks the verdict because the recorded run was
     * stopped or made no confirmation (confirm.h). */
    int (*submit)(struct judge *j, const struct judge_order *o, uint64_t *ticket, struct err *err);
    /* Returns 1 with a verdict, 0 if none came within timeout_ns, -1 on an error. */
    int (*wait)(struct judge *j, uint64_t timeout_ns, uint64_t *ticket, struct verdict *out,
                struct err *err);
    /* An author is writing a child of this source, so the judge can prepare. May be NULL. */
    void (*prepare)(struct judge *j, const struct task *t, const char *parent);
    void (*close)(struct judge *j);
    /* Appends what the judge does for the candidate, such as "compiling". May be NULL. */
    void (*progress)(struct judge *j, uint64_t ticket, struct strbuf *out);
};

struct judge {
    const struct judge_ops *ops;
    void *priv;
};

/* Which baselines a judge may time: none if `some` is false, else the task's own. An order with
 * BASELINES_ALL also times the variants and programs of PyTorch. */
struct judge_baselines {
    bool some;
    unsigned torch_variants;        /* job/torch_variants.h */
    struct torch_programs programs; /* borrowed */
};

/* Uses the evaluator `e`. For orders with `model` it uses the evaluator `model`, which is on the
 * emulator, or `e` if `model` is NULL. Both are borrowed. */
struct judge *judge_eval(struct evaluator *e, struct evaluator *model, struct judge_baselines b);
/* Gives the verdicts of a recording, which is borrowed. */
struct judge *judge_replay(const struct replay *r);
void judge_close(struct judge *j);

#endif
