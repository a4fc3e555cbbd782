/*
 * drawn.h - adds copies of values to a graph. A copy is computed with random errors: the operands
 * of TF32 products are rounded up or down at random. We call these errors drawn.
 *
 * A product in TF32 rounds its operands first. All products that read an element share the error of
 * its rounding. For example, one weight of a convolution is off by the same amount in every pixel.
 * Variances treat the errors of a sum's terms as independent, so they cannot follow shared errors
 * through a later sum. Therefore the reference also computes a copy of each value between the
 * product and the output. It computes the copies DRAWN_SAMPLES times, each time with different
 * random roundings. The distances of these copies from the exact values give a lower bound for the
 * variance of the output (docs/tolerance.md, "Drawn errors"). Only a SIGMA reference has copies,
 * because only that kind of reference computes variances (reference_mode.h).
 *
 * A NOISY reference computes its values as a kernel might, with random roundings
 * (reference_mode.h). It has no copies. Instead, its TF32 products read randomly rounded operands.
 */
#ifndef GRAPH_REFERENCE_DRAWN_H
#define GRAPH_REFERENCE_DRAWN_H

#include "graph/reference/emit.h"

#define DRAWN_SAMPLES 8
/* If a path from an input to an output goes through at least this many TF32 products, drawn errors
 * also give an upper bound for the output's variance. */
#define DRAWN_DEEP 4

/* Adds the rounded operands and the copies to e->g, and gives all values of e->g new ids. Sets
 * e->notes, e->drawn, e->drawn_outputs, e->drawn_copies and e->drawn_depth. Does nothing for a
 * MAGNITUDE reference, which does not model rounding. Returns true if there are copies. */
bool drawn_plan(struct emit *e);

#endif
