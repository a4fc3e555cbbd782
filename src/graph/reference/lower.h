/*
 * lower.h - rewrites a graph with fewer kinds of operations, for the reference and for generated
 * kernels.
 *
 * Softmaxes, norms, means, variances, logsumexp, losses and the like become sums, maxima, minima,
 * elementwise operations and views. cross_entropy also needs a gather. Other operations stay.
 */
#ifndef GRAPH_REFERENCE_LOWER_H
#define GRAPH_REFERENCE_LOWER_H

#include "graph/graph.h"

/* `low` borrows the names of g's axes. It has the values that an output needs, and all scalars,
 * because sizes may mention them. The caller releases `low`, also after an error.
 *
 * If `notes` is not NULL, *notes has a set of enum lowered_note for each value of `low`, in low's
 * arena. */
int graph_lower(const struct graph *g, struct graph *low, const uint8_t **notes, struct err *err);
/* Operations that graph_lower_for_kernel() can leave as they are, for kernel templates. */
enum lower_keep {
    KEEP_HALVES = 1,    /* products of 16-bit matrices */
    KEEP_ATTENTION = 2, /* attention of 16-bit matrices */
};

/* For a kernel there are more steps. Attention becomes two products with a softmax between them.
 * Products of 16-bit matrices become products in float32. A gather from a log_softmax(x) becomes a
 * gather from x. `keep` is a set of enum lower_keep. */
int graph_lower_for_kernel(const struct graph *g, unsigned keep, struct graph *low,
                           const uint8_t **notes, struct err *err);

/* Is v a sum, or a view or a cast of a sum? */
bool value_is_sum(const struct value *v);

/* Facts about a lowered value that the model of rounding errors needs. */
enum lowered_note {
    /* The value is the final result of an operation of g. If that result is a view, the value that
     * the view reads has this note too. Other values are intermediate results. */
    LOWERED_END = 1,
    /* The value is a - b, where b only prevents overflow: softmax subtracts the largest element. */
    LOWERED_SHIFT = 2,
    LOWERED_SHARE = 4, /* the value is a / b, where a is one of the terms that b adds up */
};

#endif
