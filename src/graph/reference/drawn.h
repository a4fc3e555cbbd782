/*
 * drawn.h - adds copies of values to a graph. A copy is computed with random errors, which we call
 * drawn: the operands of TF32 products are rounded at random.
 *
 * All products that read an element share the error of its rounding to TF32: one weight of a
 * convolution is off by the same amount in every pixel. Variances treat errors as independent, so
 * the variance of a later sum misses the shared ones. For this reason, a SIGMA reference
 * (reference_mode.h) also computes a copy of each value between the product and the output,
 * DRAWN_SAMPLES times. The distances of these samples from the exact values give a lower bound for
 * the output's variance (docs/tolerance.md, "Drawn errors").
 *
 * A NOISY reference has no copies: its TF32 products read randomly rounded operands.
 */
#ifndef GRAPH_REFERENCE_DRAWN_H
#define GRAPH_REFERENCE_DRAWN_H

#include "graph/reference/emit.h"

#define DRAWN_SAMPLES 8
/* Behind a path with this many TF32 products, drawn errors also give an upper bound for the
 * variance of a value. */
#define DRAWN_DEEP 4

/* Adds the rounded operands and the copies to e->g, and gives all values new ids. Sets e->notes and
 * the members e->drawn... Does nothing for a MAGNITUDE reference. Returns true if there are
 * copies. */
bool drawn_plan(struct emit *e);

#endif
