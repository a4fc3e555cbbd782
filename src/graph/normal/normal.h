/*
 * normal.h - rewrites values that can be written in many ways into one form, the normal form.
 *
 *     x * x                              square(x)
 *     sum(x, -1) / C, where x is [R, C]  mean(x, -1)
 *     exp(x) / sum(exp(x), 1, true)      softmax(x, 1)
 *     reshape(sum(x, 1), [R, 1])         sum(x, 1, true)
 *
 * Hone rewrites the operands first. Then it rewrites the value itself until nothing changes, but at
 * most 32 times. In the normal form a value has the same dtype and shape as before. The rules are
 * in rules.c, the steps about shapes in views.c. For a value that is in normal form already,
 * graph_normal() returns the same pointer.
 *
 * Functions that return a value return NULL if the graph has no room for more values or if the
 * rewriting takes too many steps.
 */
#ifndef GRAPH_NORMAL_NORMAL_H
#define GRAPH_NORMAL_NORMAL_H

#include "graph/graph.h"

/* Rewrites all outputs. On -1 the outputs are unchanged. */
int graph_normalise(struct graph *g, struct err *err);
const struct value *graph_normal(struct graph *g, const struct value *v);

/*
 * Writes operations along axes as sums and maxima: mean(x, 1) becomes sum(x, 1) / C. The rules are
 * the list `unfoldings` in rules.c. They cover only the usual attributes of an operation, for
 * example a var with a correction of 0 or 1. Other values stay as they are. v must be in normal
 * form; the result is not in normal form.
 */
const struct value *graph_unfolded(struct graph *g, const struct value *v);

/* Writes v with fewer kinds of operations: a / b becomes a * reciprocal(b). For comparisons
 * (compare.h) only. */
const struct value *graph_reduced(struct graph *g, const struct value *v);
/*
 * Removes casts to a float dtype of two bytes or more. Also removes casts to int32 or int64, if the
 * operand is an input or a scalar of integers or bools. For comparisons only, because dtypes may
 * change. Call this function before graph_reduced(). If an operation refuses its operands without
 * casts, the operands keep their casts.
 */
const struct value *graph_without_casts(struct graph *g, const struct value *v);

#endif
