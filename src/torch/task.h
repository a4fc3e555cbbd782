/*
 * task.h - the graph of a task: its key "graph", or else its PyTorch expression, "torch".
 *
 *     struct graph g;
 *     if (torch_read_task(&g, task, err) < 0) ...
 *     graph_release(&g);                             before task_free()
 */
#ifndef TORCH_TASK_H
#define TORCH_TASK_H

#include "graph/graph.h"
#include "task/task.h"

/* Reads and verifies. The graph borrows names and sizes from the task. After -1 there is nothing to
 * release. It is an error if the task has neither key. */
int torch_read_task(struct graph *g, const struct task *t, struct err *err);

#endif
