/*
 * normal.h - gives one form, the normal form, to values that can be written in many ways.
 *
 *     x * x                              square(x)
 *     sum(x, -1) / C, where x is [R, C]  mean(x, -1)
 *     exp(x) / sum(exp(x), 1, true)      softmax(x, 1)
 *     reshape(sum(x, 1), [R, 1])         sum(x, 1, true)
 *
 * The dtype and the shape stay. For a value in normal form, graph_normal() returns the same
 * pointer. rules.c has the rules, views.c the steps about shapes.
 *
 * Functions that return a value return NULL if the graph has no room for more values or the
 * rewriting takes too many steps.
 */
#ifndef GRAPH_NORMAL_NORMAL_H
#define GRAPH_NORMAL_NORMAL_H

#include "graph/graph.h"

/* Rewrites all outputs. On -1 the outputs are unchanged. */
int graph_normalise(struct graph *g, struct err *err);
const struct value *graph_normal(struct graph *g, const struct value *v);

/* Writes operations along axes as sums and maxima: mean(x, 1) becomes sum(x, 1) / C. The rules
 * (`unfoldings` in rules.c) cover only usual attributes, such as a var with a correction of 0 or 1.
 * v must be in normal form; the result is not. */
const struct value *graph_unfolded(struct graph *g, const struct value *v);

/* Uses fewer kinds of operations, for comparisons (compare.h): a / b becomes a * reciprocal(b). */
const struct value *graph_reduced(struct graph *g, const struct value *v);
/* Removes two kinds of casts: those to a float dtype of two bytes or more, and those to int32 or
 * int64 whose operand is an input or a scalar with an integer or bool dtype. A cast stays if an
 * operation needs it. For comparisons only, because dtypes may change. Call it before
 * graph_reduced(). */
const struct value *graph_without_casts(struct graph *g, const struct value *v);

#endif
