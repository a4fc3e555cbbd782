/*
 * print.h - a graph as text, for people and models.
 *
 *     C = 128                                       an axis that is constant
 *     x: float32[R, C]                              an input
 *     eps: float32                                  a scalar
 *     %1 = mean(x, dim=-1, keepdim): float32[R, 1]  a value and its type
 *     y: float32[R, C] = div(x, %1)                 an output
 *
 * Every constant axis, input and scalar has a line, then every value that an output needs, in
 * order, then every output. Numbers and sizes are written where they are used. An attribute is left
 * out if it has its default, or if the type of the result shows it: the dtype of a cast, the shape
 * of a reshape. A reduction without "dim" is over all axes. An operand that follows an absent
 * operand is written with its name.
 *
 * On the right of "=" a name always means the input or scalar, even if an output with the same name
 * overwrites that input.
 *
 * The line of an output shows the operation itself if nothing else uses the output's value and the
 * value has the declared type. Otherwise the line names the value: "y: float16[R, C] = %3".
 */
#ifndef GRAPH_PRINT_H
#define GRAPH_PRINT_H

#include "base/strbuf.h"
#include "graph/graph.h"

void graph_print(struct strbuf *out, const struct graph *g);

/* "float32[R, C]"; a scalar or a number has no brackets. */
void graph_print_type(struct strbuf *out, enum dtype t, uint32_t rank,
                      const struct dim *const *shape);
/* Prints the shortest text that reads back as the same number. A float always has a point, an
 * exponent or letters, so that 1.0 differs from the integer 1. */
void graph_print_number(struct strbuf *out, const struct value *v);

/*
 * The text and the JSON call a value "%1", "%2", ... if it is computed and an output needs it.
 * Returns these numbers, counted in order from 1: one entry for each id, 0 if the value has no
 * number.
 */
const uint32_t *graph_numbers(const struct graph *g, struct arena *a);

#endif
