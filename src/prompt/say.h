/*
 * say.h - describes tasks and verdicts to authors: in words for models, as JSON for programs.
 *
 * Invariants. No author is ever told:
 *  1. a held-out shape, or a number measured at a held-out shape. With such shapes Hone checks
 *     whether a kernel is right for shapes that its author does not know. An author may learn that
 *     the candidate failed at one of them, and the kind of the failure;
 *  2. the source of the task's reference;
 *  3. a counter of the profiler or a bottleneck, while `profile` is false.
 * Authors learn about tasks and verdicts only from these functions, so only these functions must
 * keep the invariants.
 */
#ifndef PROMPT_SAY_H
#define PROMPT_SAY_H

#include <jansson.h>
#include <stdbool.h>

#include "base/strbuf.h"
#include "task/task.h"
#include "verdict/verdict.h"

/* Appends the task in words. With `timed_only`, leaves out what a fast kernel does not need: the
 * ranges of the inputs, how the tolerance is applied, and the shapes that are only checked. */
void say_task(const struct task *t, bool timed_only, struct strbuf *out);
json_t *say_task_json(const struct task *t);

/* What say_verdict() and say_verdict_json() tell about a verdict v. */
struct say_verdict {
    bool profile;                 /* whether the author may learn counters and the bottleneck */
    const struct verdict *best;   /* if not NULL, v's time is compared with that of `best` */
    const struct verdict *parent; /* if not NULL, v's time is compared with that of `parent` too */
    const struct verdict *with_torch; /* the verdict that has PyTorch's times; NULL = none */
    uint64_t with_torch_index; /* the number of the candidate with the verdict `with_torch` */
};

/* Appends the whole verdict: the failure and its place, or the times and the bottleneck. */
void say_verdict(const struct verdict *v, const struct say_verdict *o, struct strbuf *out);
/* Appends "pass, 12.3 us, 1.42x naive, 71% of the roofline" or "mismatch: ...". */
void say_verdict_short(const struct verdict *v, struct strbuf *out);
/* Appends a time such as "12.3 us". */
void say_time(double ns, struct strbuf *out);
json_t *say_verdict_json(const struct verdict *v, const struct say_verdict *o);

/* The roofline is the highest speed that the GPU's ceilings allow (see roofline_pct in struct
 * verdict_time). Returns the candidate's percentage of the roofline: the geometric mean over the
 * timed shapes; 0 = unknown. *lowest (may be NULL) gets the percentage of the worst shape. */
double verdict_roofline(const struct verdict *v, double *lowest);

#endif
