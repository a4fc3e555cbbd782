/*
 * precision.h - makes precision data: inputs that show how precisely a kernel computes.
 *
 * A sum of many terms hides rounding errors: a product in TF32 can be as close to the truth as one
 * in float32. So on this data, each element of a product has at most GEN_FEW (4) terms that are not
 * zero. Where possible, one operand is multiplied by 2^20 and the other by 2^-20. Float16 cannot
 * hold such values (docs/regimes.md).
 *
 * A large variance hides a wrong epsilon. So other data has inputs so small that the variance is
 * about the epsilon that is added to it.
 */
#ifndef EVAL_PRECISION_H
#define EVAL_PRECISION_H

#include "compile/compile.h"
#include "job/job.h"
#include "task/task.h"

struct precision_data;

/* Finds the inputs to make thin: zero at all but a few places (graph/thin.h). Returns NULL if there
 * are none, or if the task does not compute in float32 or has no graph. For a task with sums but no
 * products, returns NULL unless `code` could compute less precisely than float32. */
const struct precision_data *precision_data_find(const struct task *t, const struct compiled *code,
                                                 struct arena *a);
/* Finds the inputs to scale so that epsilons matter (graph/near_epsilon.h) at the shape of w.
 * Returns NULL if there are none, or if an output has a fixed tolerance. */
const struct precision_data *
precision_data_near_epsilon(const struct task *t, const struct task_workload *w, struct arena *a);
void precision_data_apply(const struct precision_data *d, struct job_case *c);
/* Returns a description such as "at most 4 terms in each product, a * 2^20, b / 2^20". */
const char *precision_data_text(const struct precision_data *d);

#endif
