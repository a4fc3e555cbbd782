/*
 * kind.h - what kind of work a task is, for the rows and means of a campaign.
 *
 *     struct work_kind k;
 *     work_kind_of(task, &k);
 *     k.name                        "convolution chain"
 *
 * The kind follows from the task's graph, not from its key "class". The heaviest kind of operation
 * gives the name. A graph with several such operations is a chain on its heaviest one.
 */
#ifndef CAMPAIGN_KIND_H
#define CAMPAIGN_KIND_H

#include <stdbool.h>

#include "graph/graph.h"
#include "task/task.h"

struct work_kind {
    const char *name; /* static; "unknown" if the task has no graph */
    /* A sum, mean or average pooling of a product or convolution is an output: algebra replaces it
     * by much less work, so a kernel may be faster than the task's flops allow. */
    bool collapsed;
    bool degenerate; /* as the task's flags say */
    unsigned free_axes;
};

void work_kind_of(const struct task *t, struct work_kind *out);
/* The same for a graph; sets name and collapsed. */
void work_kind_of_graph(const struct graph *g, struct work_kind *out);

#endif
