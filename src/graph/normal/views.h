/*
 * views.h - steps of the normal form (normal.h) that deal with shapes. A view is an operation that
 * only moves elements, such as a reshape. The steps remove views that change nothing and views that
 * another operation can replace. They also compute with sizes.
 *
 * Each function looks at one value whose operands are in normal form. It returns the value that
 * replaces this value, or NULL if the value stays.
 */
#ifndef GRAPH_NORMAL_VIEWS_H
#define GRAPH_NORMAL_VIEWS_H

#include "graph/graph.h"

/* Removes views and casts that change nothing. Two reshapes in a row become one, and so do two
 * permutes or two expands in a row. */
const struct value *views_merge(struct graph *g, const struct value *v);
/* Removes a reshape after a reduction if the reshape only adds or removes the reduced axes. It
 * changes the reduction's keepdim instead. */
const struct value *views_keepdim(struct graph *g, const struct value *v);
/* For a reduction over all axes without keepdim. If its operand is a reshape, reduces the operand
 * of the reshape instead. */
const struct value *views_under_reduction(struct graph *g, const struct value *v);
/* Removes the expands of an elementwise operation's operands, because such an operation broadcasts
 * its operands anyway. If this makes the result smaller, expands the result instead. */
const struct value *views_hoist_expand(struct graph *g, const struct value *v);
/* Computes +, -, * and // of sizes and integers: (2*D) // 2 is D. Also replaces the negation of a
 * number by a number. */
const struct value *views_fold_sizes(struct graph *g, const struct value *v);
/* For the value of an output only. If the value has one element, its shape does not matter. So this
 * function removes reshapes from it, and the axes that a reduction kept. Returns v itself, not
 * NULL, if nothing changes. */
const struct value *views_of_output(struct graph *g, const struct value *v);

#endif
