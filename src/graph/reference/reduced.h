/*
 * reduced.h - the axes and elements that a reduction or a matrix product combines.
 */
#ifndef GRAPH_REFERENCE_REDUCED_H
#define GRAPH_REFERENCE_REDUCED_H

#include "graph/reference/emit.h"

/* Sets `out` to the sizes of the axes that v adds up over. Returns their number. */
uint32_t reduced_axes(const struct value *v, const struct dim **out);
/* The place of an element in the operand. `kept` is its place in the result, `gone` its place along
 * the reduced axes. */
struct place reduced_place(struct emit *e, const struct value *v, struct place *kept,
                           struct place *gone);
/* May a loop over the `all` elements that a reduction combines run over vectors? */
bool reduced_in_vectors(struct emit *e, const struct dim *all);
/* If v is the sum of the squares of x - centre, and the centre is the mean of x along the same
 * axes, returns the centre: a sum divided by a size. Else returns NULL. */
const struct value *reduced_centre(struct emit *e, const struct value *v);

#endif
