/*
 * kind.h - finds the kind of work of a task. A campaign shows it in the task's row, and computes a
 * mean for each kind.
 *
 *     struct work_kind k;
 *     work_kind_of(task, &k);
 *     k.name                        "convolution chain"
 *
 * The kind follows from the task's graph, not from its key "class". The heaviest kind of operation
 * gives the name. If the task is a chain of operations, the name says that too.
 */
#ifndef CAMPAIGN_KIND_H
#define CAMPAIGN_KIND_H

#include <stdbool.h>

#include "graph/graph.h"
#include "task/task.h"

struct work_kind {
    const char *name; /* static; "unknown" if the task has no graph */
    /* The task only sums or averages the result of a product or convolution. Algebra can replace
     * both operations by much less work, so a kernel may be faster than the task's flops allow. */
    bool collapsed;
    bool degenerate;    /* as in struct task: a kernel that writes constants would pass */
    unsigned free_axes; /* axes that are not constant */
    bool may_convolve;  /* the result of torch_may_convolve() (torch/task.h) */
};

void work_kind_of(const struct task *t, struct work_kind *out);
/* The same for a graph, but sets only name and collapsed. */
void work_kind_of_graph(const struct graph *g, struct work_kind *out);

#endif
