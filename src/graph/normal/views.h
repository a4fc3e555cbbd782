/*
 * views.h - steps of the normal form (normal.h) that deal with shapes. A view is an operation that
 * only moves elements, such as a reshape.
 *
 * Each function returns the value that replaces v, or NULL if v stays. The operands of v must be in
 * normal form.
 */
#ifndef GRAPH_NORMAL_VIEWS_H
#define GRAPH_NORMAL_VIEWS_H

#include "graph/graph.h"

/* Removes views and casts that change nothing. Two reshapes, permutes or expands in a row become
 * one. */
const struct value *views_merge(struct graph *g, const struct value *v);
/* Removes a reshape that only adds or removes the axes of a reduction. Changes the reduction's
 * keepdim instead. */
const struct value *views_keepdim(struct graph *g, const struct value *v);
/* If v reduces all axes of a reshape, without keepdim, reduces the operand of the reshape
 * instead. */
const struct value *views_under_reduction(struct graph *g, const struct value *v);
/* Removes the expands of an elementwise operation's operands, because the operation broadcasts
 * anyway. If this makes the result smaller, expands the result instead. */
const struct value *views_hoist_expand(struct graph *g, const struct value *v);
/* Computes +, -, * and // of sizes and integers: (2*D) // 2 is D. Also replaces the negation of a
 * number by a number. */
const struct value *views_fold_sizes(struct graph *g, const struct value *v);
/* For the value of an output only. If it has one element, its shape does not matter, so this
 * removes reshapes and the axes that a reduction kept. Returns v itself, not NULL, if nothing
 * changes. */
const struct value *views_of_output(struct graph *g, const struct value *v);

#endif
