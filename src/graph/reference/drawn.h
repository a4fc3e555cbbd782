/*
 * drawn.h - copies of values in which the operands of TF32 products are rounded at random.
 *
 * A product in TF32 rounds its operands first. All products that read an element share the error of
 * its rounding: one weight of a convolution is off by the same amount in every pixel. Variances
 * cannot follow such errors through a later sum, because variances treat the terms' errors as
 * independent. So a SIGMA reference also computes a copy of the values between the product and the
 * output, DRAWN_SAMPLES times, each time with different random roundings. The distances of these
 * copies from the exact values give a lower bound for the variance of the output
 * (docs/tolerance.md, "Drawn errors").
 *
 * In a NOISY reference the operands themselves are replaced by rounded ones.
 */
#ifndef GRAPH_REFERENCE_DRAWN_H
#define GRAPH_REFERENCE_DRAWN_H

#include "graph/reference/emit.h"

#define DRAWN_SAMPLES 8
/* If an output is computed by at least this many TF32 products, each of which reads the result of
 * the one before, drawn errors also give an upper bound for its variance. */
#define DRAWN_DEEP 4

/* Adds the rounded operands and the copies to e->g, and gives all values of e->g new ids. Sets
 * e->drawn, e->drawn_outputs and e->drawn_copies. Returns true if there are copies. */
bool drawn_plan(struct emit *e);

#endif
