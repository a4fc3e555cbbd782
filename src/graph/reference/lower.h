/*
 * lower.h - rewrites a graph with fewer kinds of operations, for the reference.
 *
 * Softmaxes, norms, means, variances, logsumexp, any, all and losses become sums, extremes and
 * elementwise operations. The
 * lowered graph has only leaves, elementwise operations, sum, prod, amax, amin, argmax, argmin,
 * scans, matmul, convolutions, attention, recurrent operations, the operations by index, and views.
 */
#ifndef GRAPH_REFERENCE_LOWER_H
#define GRAPH_REFERENCE_LOWER_H

#include "graph/graph.h"

/* Makes `low`, which borrows the names of g's axes. The caller releases `low`, also after an error.
 * `low` has only the values that an output needs.
 *
 * If `notes` is not NULL, *notes has one entry for each value of `low`, in low's arena: a set of
 * enum lowered_note. */
int graph_lower(const struct graph *g, struct graph *low, const uint8_t **notes, struct err *err);
/* The same for a kernel: attention becomes products and a softmax, too. */
int graph_lower_for_kernel(const struct graph *g, struct graph *low, const uint8_t **notes,
                           struct err *err);

/* Facts about a lowered value that the model of rounding errors needs. */
enum lowered_note {
    LOWERED_END = 1,   /* the result of an operation of g; others are inside of such an operation */
    LOWERED_SHIFT = 2, /* a - b, where any b would do: softmax subtracts the largest element */
    LOWERED_SHARE = 4, /* a / b, where a is one of the terms that b adds up */
};

#endif
