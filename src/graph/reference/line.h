/*
 * line.h - numbers the units (emit.h) that make many elements, and finds the places of their
 * elements.
 *
 * A line is all elements along one axis. Usually a unit makes one line, and units are numbered in
 * row-major order of the other axes. A recurrent operation has a repeated phase: in each step, a
 * unit makes one element of the hidden state. In a generated kernel, its unit makes all elements at
 * one place of the batch.
 */
#ifndef GRAPH_REFERENCE_LINE_H
#define GRAPH_REFERENCE_LINE_H

#include "graph/reference/emit.h"

/* True for scans, attention, recurrent operations and index_add. */
bool op_makes_lines(enum graph_op op);
/* Returns how many units the phase of v has. */
const struct dim *emit_lines(struct emit *e, const struct value *v);
/* Returns how many steps the phase of v has, or NULL if the phase is not repeated. */
const struct dim *emit_steps(const struct emit *e, const struct value *v);
/* Returns the axis along which a unit of a scan or attention makes its elements. For index_add,
 * returns `dim`: a unit makes the elements along the axes after `dim`, or one element in a
 * generated kernel. v must not be recurrent. */
uint32_t line_axis(const struct value *v);
/* Returns the place of the unit's elements, with an index only along the axes that number the
 * units. The caller sets the others. The phase of v must not be repeated. */
struct place line_place(struct emit *e, const struct value *v);
/* Writes "VAL(p) op t", where `op` is an assignment operator such as "=". If with_mag is true, does
 * the same for MAG. */
void line_put(struct emit *e, const struct value *v, struct place p, const char *op, struct term t,
              bool with_mag);
void emit_attention(struct emit *e, const struct value *v, bool with_mag);
void emit_recurrent(struct emit *e, const struct value *v, bool with_mag);

#endif
