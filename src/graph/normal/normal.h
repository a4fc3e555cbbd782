/*
 * normal.h - one form for values that can be written in many ways.
 *
 *     x * x                              square(x)
 *     sum(x, -1) / C, where x is [R, C]  mean(x, -1)
 *     exp(x) / sum(exp(x), 1, true)      softmax(x, 1)
 *     reshape(sum(x, 1), [R, 1])         sum(x, 1, true)
 *
 * Operands come first, then the value itself, until nothing changes. A rewritten value has the same
 * dtype and shape as before. The rules are in rules.c, the steps about shapes in views.c. Values
 * that are in normal form stay the same pointers.
 *
 * A function that returns a value returns NULL where the graph is full or the work grows too large.
 */
#ifndef GRAPH_NORMAL_NORMAL_H
#define GRAPH_NORMAL_NORMAL_H

#include "graph/graph.h"

/* Rewrites all outputs. On -1 they are as before. */
int graph_normalise(struct graph *g, struct err *err);
const struct value *graph_normal(struct graph *g, const struct value *v);

/*
 * Operations along axes as sums and extremes: mean(x, 1) is sum(x, 1) / C. That covers mean, var,
 * std, norm, logsumexp, softmax, log_softmax, layer_norm, rms_norm and normalize. For a value in
 * normal form; the result is not in normal form.
 */
const struct value *graph_unfolded(struct graph *g, const struct value *v);

/* Fewer operations, for comparisons (compare.h) only: a / b is a * reciprocal(b). */
const struct value *graph_reduced(struct graph *g, const struct value *v);
/*
 * Without casts to floats of two bytes or more, and without casts of integer inputs to int32 and
 * int64. For comparisons only, before graph_reduced(): dtypes may change. A cast stays where an
 * operation refuses its operand without it.
 */
const struct value *graph_without_casts(struct graph *g, const struct value *v);

#endif
