/*
 * line.h - for values of which one unit (one run of a phase's body, emit.h) makes many elements.
 * Says how the units are numbered, and where their elements are.
 *
 * A line is all elements along one axis. Units are numbered in the order of their lines, which is
 * the row-major order of the axes other than the line's. line_axis() says how index_add differs.
 */
#ifndef GRAPH_REFERENCE_LINE_H
#define GRAPH_REFERENCE_LINE_H

#include "graph/reference/emit.h"

/* True for scans, attention, recurrent operations and index_add: one unit makes several elements of
 * v. */
bool op_makes_lines(enum graph_op op);
/* Returns how many units the phase of v has. */
const struct dim *emit_lines(struct emit *e, const struct value *v);
/* The axis along which a unit of a scan or attention makes its elements. For index_add it is the
 * axis `dim`; the axes up to and including `dim` number the units, and a unit makes all elements
 * along the axes after it. Recurrent operations have no such axis. */
uint32_t line_axis(const struct value *v);
/* The place of the unit's elements along the axes that number the units. The other axes are not
 * set. */
struct place line_place(struct emit *e, const struct value *v);
/* Writes "VAL(p) op value", and the same for MAG if with_mag is true. */
void line_put(struct emit *e, const struct value *v, struct place p, const char *op, struct term t,
              bool with_mag);
void emit_attention(struct emit *e, const struct value *v, bool with_mag);
void emit_recurrent(struct emit *e, const struct value *v, bool with_mag);

#endif
