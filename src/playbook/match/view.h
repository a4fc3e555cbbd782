/*
 * view.h - a view is a value that has all elements of another value, its base, perhaps in another
 * order.
 *
 *     A.reshape(N * M, K)                 the base is A, in its own order
 *     A.permute(1, 2, 0).flatten(0, 1)    axis 0 is axes 1 and 2 of A, axis 1 is axis 0 of A
 *
 * Only reshapes and permutations lie between view and base. Casts between floats may too, if struct
 * view_end allows it. Each axis of the view is a range of neighbouring axes of the base. A reshape
 * may split axes only before any permutation; the reshaped value then counts as the base.
 */
#ifndef PLAYBOOK_MATCH_VIEW_H
#define PLAYBOOK_MATCH_VIEW_H

#include "graph/graph.h"

struct view {
    const struct value *base;
    uint32_t rank;
    /* Axis i of the view is axes first[i] to end[i] - 1 of the base, apart from axes of size 1. If
     * axis i has size 1, first[i] equals end[i]. */
    uint32_t first[GRAPH_MAX_RANK], end[GRAPH_MAX_RANK];
};

/* read_view() stops where `stops` returns true: such a value is the base. */
struct view_end {
    bool (*stops)(void *ctx, const struct value *v);
    void *ctx;
    bool casts; /* look through casts between floats */
};

/* Finds the base of v, and the axes of the base that make up each axis of v. Returns false if a
 * reshape splits permuted axes, or merges axes that are not neighbours in the base. */
bool read_view(struct dim_pool *dims, const struct value *v, const struct view_end *end,
               struct view *out);
/* Nested loops walk over the view: axes[0] is the outer loop, axes[n - 1] the inner one. Do they
 * meet the elements in the base's order? `axes` must name all axes. */
bool view_in_order(const struct view *v, const uint32_t *axes, uint32_t n);
/* Are all elements in the order of the base? */
bool view_is_array(const struct view *v);

#endif
