/*
 * lower.h - rewrites a graph with fewer kinds of operations, for the reference.
 *
 * Softmaxes, norms, means, variances and losses become sums, maxima and elementwise operations.
 * The lowered graph has only leaves, elementwise operations, sum, prod, amax, amin, argmax, argmin,
 * scans, matmul, conv, attention, the operations by index, views, and cross_entropy without a
 * reduction.
 */
#ifndef GRAPH_REFERENCE_LOWER_H
#define GRAPH_REFERENCE_LOWER_H

#include "graph/graph.h"

/* Makes `low`, which borrows the names of g's axes. The caller releases `low`, also after an error.
 * `low` has only the values that an output needs. */
int graph_lower(const struct graph *g, struct graph *low, struct err *err);

#endif
