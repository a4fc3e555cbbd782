/*
 * place.h - indices, and the elements of tensors that they name.
 *
 *     struct index row = index_div(&u, unit_index(), columns);
 *     struct place p = place_empty(2, v->shape);
 *     place_set(&p, 0, row);
 *     ...
 *     place_number(&u, &p)         the row-major number of the element
 */
#ifndef GRAPH_REFERENCE_PLACE_H
#define GRAPH_REFERENCE_PLACE_H

#include "graph/reference/vector.h"

/* ---- indices --------------------------------------------------------------------------------- */

struct index unit_index(void);
struct index index_number(struct unit_text *u, int64_t v);
struct index index_dim(struct unit_text *u, const struct dim *d);
struct index index_add(struct unit_text *u, struct index a, struct index b);
struct index index_sub(struct unit_text *u, struct index a, struct index b);
struct index index_mul(struct unit_text *u, struct index a, struct index b);
struct index index_div(struct unit_text *u, struct index a, struct index b);
struct index index_mod(struct unit_text *u, struct index a, struct index b);

/* ---- places ---------------------------------------------------------------------------------- */

/* An element of a tensor: its row-major number, its index along each axis, or both. */
struct place {
    uint32_t rank;
    const struct dim *shape[GRAPH_MAX_RANK];
    bool has_linear, has_at[GRAPH_MAX_RANK];
    struct index linear, at[GRAPH_MAX_RANK];
};

struct place place_linear(uint32_t rank, const struct dim *const *shape, struct index linear);
struct place place_empty(uint32_t rank, const struct dim *const *shape);
void place_set(struct place *p, uint32_t axis, struct index at);
struct index place_at(struct unit_text *u, struct place *p, uint32_t axis);
struct index place_number(struct unit_text *u, struct place *p);
/* Each row `outer` has as many elements as the shape of `inner`. Returns the row-major number of
 * element `inner` in row `outer`. */
struct index place_join(struct unit_text *u, struct place *outer, struct place *inner);

#endif
