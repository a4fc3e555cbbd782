/*
 * reduced.h - the axes and elements that a reduction or a matrix product combines.
 */
#ifndef GRAPH_REFERENCE_REDUCED_H
#define GRAPH_REFERENCE_REDUCED_H

#include "graph/reference/emit.h"

/* Sets out[0], out[1], ... to the sizes of the axes that v reduces. Returns how many there are. */
uint32_t reduced_axes(const struct value *v, const struct dim **out);
/* Returns the place of an element in v's operand. `kept` is the place of the element of v into
 * which it is combined, `gone` is its own place along the reduced axes. */
struct place reduced_place(struct emit *e, const struct value *v, struct place *kept,
                           struct place *gone);
/* `all` is the number of elements that a reduction combines. May the loop over them read several
 * neighbouring elements at once (vector.h)? */
bool reduced_in_vectors(struct emit *e, const struct dim *all);
/* If v is the sum of the squares of x - centre, and the centre is the mean of x along the same
 * axes, returns the centre: a sum divided by a size. Else returns NULL. */
const struct value *reduced_centre(struct emit *e, const struct value *v);

#endif
