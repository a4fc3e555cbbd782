/*
 * lower.h - a graph in fewer operations, for the reference.
 *
 * Softmaxes, norms, means, variances and losses become sums, maxima and elementwise operations.
 * The lowered graph has only leaves, elementwise operations, sum, prod, amax, amin, argmax, argmin,
 * scans, matmul, conv, attention, the operations by index, and views.
 */
#ifndef GRAPH_REFERENCE_LOWER_H
#define GRAPH_REFERENCE_LOWER_H

#include "graph/graph.h"

/* Makes `low`, which borrows the names of g's axes. The caller releases `low`, also after an error.
 * `low` has only the values that an output needs.
 *
 * If `ends` is not NULL, *ends has one entry for each value of `low`, in low's arena: whether the
 * value is the result of an operation of g. The other values are inside of such an operation. */
int graph_lower(const struct graph *g, struct graph *low, const bool **ends, struct err *err);

#endif
