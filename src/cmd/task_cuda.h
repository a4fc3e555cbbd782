/*
 * task_cuda.h - the parts of `hone task check` that need a CUDA compiler. They are not in
 * task/check.h because they use the evaluator.
 */
#ifndef CMD_TASK_CUDA_H
#define CMD_TASK_CUDA_H

#include "eval/eval.h"
#include "task/check.h"

/* Both functions need an evaluator. If *e is NULL, they open one; the caller closes it. */

/* Compiles reference.c as CUDA C++, as for an evaluation on a GPU. Does nothing if the task has a
 * graph, because then Hone wrote reference.c. Adds a problem if the compile fails, and a note if
 * Hone could not try. */
void task_check_cuda(struct evaluator **e, const struct task *t, struct task_check_result *r);
/* Judges the task's baseline "naive", a simple kernel, on the emulator like a candidate. Adds a
 * problem with file and line if the verdict is not `pass`. Adds a note if the baseline could not be
 * judged, or if the task names it but has no naive.cu. */
void task_check_naive(struct evaluator **e, const struct task *t, struct task_check_result *r);

#endif
