/*
 * views.h - steps of the normal form that have to do with shapes: views that change nothing, views
 * that another operation does by itself, sizes that can be worked out.
 *
 * Each function looks at one value whose operands are in normal form, and returns the value that
 * takes its place, or NULL if it has nothing to say.
 */
#ifndef GRAPH_NORMAL_VIEWS_H
#define GRAPH_NORMAL_VIEWS_H

#include "graph/graph.h"

/* Views, and casts, that change nothing; two reshapes, permutations or expansions in a row. */
const struct value *views_merge(struct graph *g, const struct value *v);
/* A reshape that only restores or removes the axes that a reduction drops or keeps. */
const struct value *views_keepdim(struct graph *g, const struct value *v);
/* A reduction over all axes of a reshaped value. */
const struct value *views_under_reduction(struct graph *g, const struct value *v);
/* Elementwise operations broadcast, so their operands need no expansion. The result gets one if it
 * needs it. */
const struct value *views_hoist_expand(struct graph *g, const struct value *v);
/* Integer arithmetic of sizes and numbers: (2*D) // 2 is D. */
const struct value *views_fold_sizes(struct graph *g, const struct value *v);
/* The value of an output: one element has any shape, so no reshape and no kept axis is needed. */
const struct value *views_of_output(struct graph *g, const struct value *v);

#endif
