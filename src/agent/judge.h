/*
 * judge.h - the interface of a judge. A judge gives candidates their verdicts. It uses the
 * evaluator, a recording, or a test's own rules.
 *
 * Strategies know only this interface. `submit` hands a candidate over and gives it a number, its
 * ticket. `wait` returns finished candidates in any order. A wave is several candidates that are
 * judged at the same time: submit all of them first, then wait for each.
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
    /* The baselines to time. A judge that was set up without baselines times none. */
    enum eval_baselines baselines;
    bool model;         /* evaluate on the emulator, only for the modelled time */
    uint64_t index;     /* the verdict's index in the run; also its key in a recording */
    const char *parent; /* the source of the candidate's parent; NULL if it has none */
};

struct judge_ops {
    /* Returns 0 if the candidate was accepted, -1 on an error. Returns 1 if the judge is a
     * recording that lacks this verdict for a good reason. There are two: the recorded run was
     * stopped, or the verdict is a confirmation (confirm.h) and the recorded run made none. */
    int (*submit)(struct judge *j, const struct judge_order *o, uint64_t *ticket, struct err *err);
    /* Returns 1 with a verdict, 0 if none came within timeout_ns, -1 on an error. */
    int (*wait)(struct judge *j, uint64_t timeout_ns, uint64_t *ticket, struct verdict *out,
                struct err *err);
    /* Announces that an author is writing a child of this source, so that the judge can prepare for
     * the child. May be NULL. */
    void (*prepare)(struct judge *j, const struct task *t, const char *parent);
    void (*close)(struct judge *j);
    /* Appends a word that says what the judge does for the candidate at the moment, such as
     * "compiling" or "running". May be NULL. */
    void (*progress)(struct judge *j, uint64_t ticket, struct strbuf *out);
};

struct judge {
    const struct judge_ops *ops;
    void *priv;
};

/* Returns a judge that uses the evaluator `e`. `model` is a second evaluator, on the emulator. It
 * gets the orders whose `model` is true. It is NULL if `e` itself is on the emulator. Both
 * evaluators are borrowed. If `baselines` is false, no order times baselines. */
struct judge *judge_eval(struct evaluator *e, struct evaluator *model, bool baselines,
                         unsigned torch_variants);
/* Returns a judge that gives the verdicts of a recording. The recording is borrowed. A missing
 * verdict is an error, except in the two cases that `submit` names. */
struct judge *judge_replay(const struct replay *r);
void judge_close(struct judge *j);

#endif
