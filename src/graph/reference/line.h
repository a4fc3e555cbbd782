/*
 * line.h - for operations in which one unit makes many elements. A unit is one run of a phase's
 * body (emit.h). These functions number the units, and find the places of their elements.
 *
 * A line is all elements along one axis. Usually a unit makes one line, and units are numbered in
 * row-major order of the other axes. line_axis() says how index_add differs. A recurrent operation
 * has a repeated phase: in each step of it, a unit makes one element of the hidden state. In a
 * generated kernel, a unit of a recurrent operation makes all elements at one place of the batch.
 */
#ifndef GRAPH_REFERENCE_LINE_H
#define GRAPH_REFERENCE_LINE_H

#include "graph/reference/emit.h"

/* True for scans, attention, recurrent operations and index_add: one unit makes several elements of
 * the result. */
bool op_makes_lines(enum graph_op op);
/* Returns how many units the phase of v has. */
const struct dim *emit_lines(struct emit *e, const struct value *v);
/* Returns how many steps the phase of v has if it is repeated; else NULL. */
const struct dim *emit_steps(const struct emit *e, const struct value *v);
/* Returns the axis along which a unit of a scan or attention makes its elements. For index_add it
 * returns the axis `dim` of the operation. Then there is a unit for each place along the axes up to
 * and including `dim`, and the unit makes all elements along the axes after `dim`. In a generated
 * kernel, however, a unit of index_add makes one element. v must not be a recurrent operation. */
uint32_t line_axis(const struct value *v);
/* Returns the place of the unit's elements. It has an index only along the axes that number the
 * units. Along the other axes the elements of a unit differ, so the caller sets these indices. The
 * phase of v must not be repeated. */
struct place line_place(struct emit *e, const struct value *v);
/* Writes a statement that changes the element of v at place p: "VAL(p) op t", where `op` is an
 * assignment operator such as "=". Does the same for MAG if with_mag is true. */
void line_put(struct emit *e, const struct value *v, struct place p, const char *op, struct term t,
              bool with_mag);
void emit_attention(struct emit *e, const struct value *v, bool with_mag);
void emit_recurrent(struct emit *e, const struct value *v, bool with_mag);

#endif
