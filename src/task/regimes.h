/*
 * regimes.h - smoke workloads that Hone adds to every task.
 *
 * A kernel often has several paths: a vectorised one and a plain one, one for the last partial
 * block, one for a single row. Nobody checks a path that no workload takes. So Hone adds sizes just
 * below, at and just above a warp, a tile, a block and a block of vectors, and addresses that are
 * multiples of the element size only. docs/regimes.md has the whole rule.
 *
 * Every evaluation of a task runs the same workloads: the rule never depends on a seed.
 */
#ifndef TASK_REGIMES_H
#define TASK_REGIMES_H

#include "task/task.h"

/* Fills t->regimes and t->uncovered. The task's own workloads must be valid. */
void regimes_add(struct task *t);

#endif
