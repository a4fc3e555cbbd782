/*
 * collapse.h - moves sums into linear maps, where that saves most of the work.
 *
 *     (x @ w).sum(-1)                    x @ w.sum(-1)
 *     conv2d(x, w).mean((2, 3))          a convolution of sums of x
 *     avg_pool2d(conv2d(x, w), 4)        a convolution with a stride of 4
 *
 * Sums, means and poolings of products of matrices and of convolutions are such sums, also if the
 * product is scaled or something is added to it first.
 */
#ifndef GRAPH_NORMAL_COLLAPSE_H
#define GRAPH_NORMAL_COLLAPSE_H

#include "graph/graph.h"

/* Replaces sums in the graph. New values are added at the end, and values that are no longer needed
 * stay. */
void graph_collapse(struct graph *g);
/* The flops that are left if sums move. The outputs of g stay as they are. */
const struct dim *graph_least_flops(struct graph *g);

#endif
