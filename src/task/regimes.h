/*
 * regimes.h - smoke workloads that every task gets by rule, in addition to those that it lists.
 *
 * A kernel often has several paths: a vectorised one and a plain one, one for the last partial
 * block, one for a single row. A path that no workload takes is a path that nobody checked. So the
 * rule adds workloads with sizes just below, at and just above a warp, a tile, a block and a block
 * of vectors. It also adds workloads with addresses that are multiples of the element size only.
 * docs/regimes.md has the whole rule.
 *
 * The rule depends on the task alone, never on a seed: every evaluation runs the same workloads.
 */
#ifndef TASK_REGIMES_H
#define TASK_REGIMES_H

#include "task/task.h"

/* Fills t->regimes and t->uncovered. The task's own workloads must be valid. */
void regimes_add(struct task *t);

#endif
