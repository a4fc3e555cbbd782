/*
 * say.h - describes tasks and verdicts to authors: in words for models, as JSON for programs.
 *
 * Authors learn about tasks and verdicts only from these functions. These functions never tell:
 *  1. a held-out shape, or a number measured at one. They do tell that a candidate failed there,
 *     and the kind of the failure;
 *  2. the source of the task's reference;
 *  3. a counter of the profiler or a bottleneck, while `profile` is false.
 */
#ifndef PROMPT_SAY_H
#define PROMPT_SAY_H

#include <jansson.h>
#include <stdbool.h>

#include "base/strbuf.h"
#include "task/task.h"
#include "verdict/verdict.h"

/* `timed_only` leaves out facts that do not help to make a kernel fast: ranges of inputs, how the
 * tolerance is applied, and shapes that are only checked. */
void say_task(const struct task *t, bool timed_only, struct strbuf *out);
json_t *say_task_json(const struct task *t);

struct say_verdict {
    bool profile;                     /* the author may learn counters and the bottleneck */
    const struct verdict *best;       /* to compare times with; or NULL */
    const struct verdict *parent;     /* to compare times with; or NULL */
    const struct verdict *with_torch; /* has PyTorch's times; or NULL */
    uint64_t with_torch_index;        /* the candidate of `with_torch` */
};

/* Appends the failure and its place, or the times and the bottleneck. */
void say_verdict(const struct verdict *v, const struct say_verdict *o, struct strbuf *out);
/* Appends "pass, 12.3 us, 1.42x naive, 71% of the roofline" or "mismatch: ...". */
void say_verdict_short(const struct verdict *v, struct strbuf *out);
json_t *say_verdict_json(const struct verdict *v, const struct say_verdict *o);

/* Returns the candidate's roofline in percent: how close it comes to the highest speed that the GPU
 * allows. This is the geometric mean over the timed shapes; 0 if unknown. Sets *lowest to the
 * percentage at the worst shape, unless `lowest` is NULL. */
double verdict_roofline(const struct verdict *v, double *lowest);

#endif
