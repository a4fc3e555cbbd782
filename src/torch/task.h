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

/* Reads and verifies the graph. The graph borrows names and sizes from the task. A task that has
 * neither key is an error. After an error there is nothing to release. */
int torch_read_task(struct graph *g, const struct task *t, struct err *err);
/* Whether the task's PyTorch program may use a convolution: the graph has one, or there is no graph
 * and the program's text has the letters "conv". Only then does cudnn.benchmark matter. */
bool torch_may_convolve(const struct task *t);

#endif
