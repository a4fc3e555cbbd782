/*
 * views.h - steps of the normal form that deal with shapes. They remove views that change nothing
 * and views that another operation can replace, and they compute with sizes.
 *
 * Each function looks at one value whose operands are in normal form, and returns the value that
 * replaces it, or NULL if the value stays.
 */
#ifndef GRAPH_NORMAL_VIEWS_H
#define GRAPH_NORMAL_VIEWS_H

#include "graph/graph.h"

/* Removes views and casts that change nothing; merges two reshapes, permutations or expansions, one
 * of which is the operand of the other. */
const struct value *views_merge(struct graph *g, const struct value *v);
/* Removes a reshape after a reduction if the reshape only adds or removes the reduced axes. It
 * changes the reduction's keepdim instead. */
const struct value *views_keepdim(struct graph *g, const struct value *v);
/* If v is a reduction over all axes without keepdim and its operand is a reshape, reduces the
 * operand of the reshape instead. */
const struct value *views_under_reduction(struct graph *g, const struct value *v);
/* Removes the expand of an operand, because elementwise operations broadcast. Expands the result
 * instead if its shape would change. */
const struct value *views_hoist_expand(struct graph *g, const struct value *v);
/* Computes +, -, * and // of sizes and integers: (2*D) // 2 is D. Also replaces the negation of a
 * number by a number. */
const struct value *views_fold_sizes(struct graph *g, const struct value *v);
/* For the value of an output only. If it has one element, its shape does not matter, so this
 * function removes a reshape, and the axes that a reduction kept. Returns v itself, not NULL, if
 * nothing changes. */
const struct value *views_of_output(struct graph *g, const struct value *v);

#endif
