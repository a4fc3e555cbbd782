/*
 * print.h - a graph as text, for people and models.
 *
 *     C = 128                                       an axis that is constant
 *     OH = (H+1)/2                                  an axis that other axes determine
 *     x: float32[R, C]                              an input
 *     eps: float32                                  a scalar
 *     %1 = mean(x, dim=-1, keepdim): float32[R, 1]  a value and its type
 *     y: float32[R, C] = div(x, %1)                 an output
 *
 * The order of the lines is that of the example. An input or scalar has "(not used)" at the end of
 * its line if no output needs it. A value has a line only if an output needs it. Numbers and sizes
 * are written where they are used. An attribute is left out if it has its default. The dtype of a
 * cast and the shape of a reshape or expand are left out too, because the type of the result shows
 * them. A reduction without "dim" is over all axes. An operand that follows an absent operand is
 * written with the name of its parameter, such as "bias=%2".
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

/* "float32[R, C]", or "float32[]" for rank 0. */
void graph_print_type(struct strbuf *out, enum dtype t, uint32_t rank,
                      const struct dim *const *shape);
/* Prints a number with enough digits to read back the same number. A float always has a point, an
 * exponent or letters, so that 1.0 differs from the integer 1. */
void graph_print_number(struct strbuf *out, const struct value *v);

/*
 * The text and the JSON call a value "%1", "%2", ... if it is computed and an output needs it.
 * Returns an array with one entry for each id: the number, counted from 1, or 0 if the value has
 * none. The result lives in the arena.
 */
const uint32_t *graph_numbers(const struct graph *g, struct arena *a);

#endif
