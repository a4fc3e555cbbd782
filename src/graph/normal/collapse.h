/*
 * collapse.h - moves a sum from the result of a linear map to an operand of the map, so that the
 * map takes far fewer operations. Before and after:
 *
 *     (x @ w).sum(-1)                    x @ w.sum(-1)
 *     conv2d(x, w).mean((2, 3))          a convolution of sums of x
 *     avg_pool2d(conv2d(x, w), 4)        a convolution with a stride of 4
 *
 * This works for sums, means and average poolings of matrix products and convolutions. The product
 * or convolution may be scaled, and something may be added to it.
 */
#ifndef GRAPH_NORMAL_COLLAPSE_H
#define GRAPH_NORMAL_COLLAPSE_H

#include "graph/graph.h"

/* Rewrites the outputs of g. Adds new values at the end, and keeps values that no output needs. */
void graph_collapse(struct graph *g);
/* Returns the flops that the graph would have after graph_collapse(). The outputs of g stay as they
 * are. */
const struct dim *graph_least_flops(struct graph *g);

#endif
