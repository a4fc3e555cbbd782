/*
 * generated_task.h - a copy of a task with another reference.c, which was written from a graph. The
 * copy can be built and run on the shapes of the task.
 *
 *     struct task copy;
 *     if (generated_task_init(&copy, task, &reference, &arena, err) == 0 &&
 *         oracle_build(&copy, "x.so", err) == 0)
 *         ...
 *     generated_task_release(&copy);
 */
#ifndef GRAPH_TOLERANCE_GENERATED_TASK_H
#define GRAPH_TOLERANCE_GENERATED_TASK_H

#include "graph/reference/reference.h"
#include "task/task.h"

/* `copy` borrows from t and ref. The caller calls generated_task_release(), also after an error. */
int generated_task_init(struct task *copy, const struct task *t, const struct graph_reference *ref,
                        struct arena *a, struct err *err);
void generated_task_release(struct task *copy);

#endif
