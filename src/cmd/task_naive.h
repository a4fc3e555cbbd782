/*
 * task_naive.h - the part of `hone task check` that judges a task's naive.cu on the emulator,
 * by the rules for candidates. It is separate from task/check.h because it needs a compiler and the
 * evaluator.
 */
#ifndef CMD_TASK_NAIVE_H
#define CMD_TASK_NAIVE_H

#include "eval/eval.h"
#include "task/check.h"

/* Adds a problem with file and line if the verdict of the task's baseline "naive" is not `pass`.
 * Adds a note if the baseline could not be judged, or if the task names it but has no naive.cu.
 * Opens *e at the first use; the caller closes it. */
void task_check_naive(struct evaluator **e, const struct task *t, struct task_check_result *r);

#endif
