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
 * Lines are in this order. The line of an input or scalar that no output needs ends in "(not
 * used)". Other values have a line only if an output needs them. Attributes are left out if they
 * have their default, or if the type of the result shows them. A reduction without "dim" is over
 * all axes. An operand after an absent one has its parameter's name, such as "bias=%2".
 *
 * On the right of "=" a name means the input or scalar, never an output of that name. An output
 * names its value ("y: float16[R, C] = %3") if the value has another type or another use.
 */
#ifndef GRAPH_PRINT_H
#define GRAPH_PRINT_H

#include "base/strbuf.h"
#include "graph/graph.h"

void graph_print(struct strbuf *out, const struct graph *g);

/* Appends a dtype and a shape: "float32[R, C]", or "float32[]" for rank 0. */
void graph_print_type(struct strbuf *out, enum dtype t, uint32_t rank,
                      const struct dim *const *shape);
/* Prints enough digits to read back the same number. A float always has a point, an exponent or
 * letters, so that 1.0 differs from the integer 1. */
void graph_print_number(struct strbuf *out, const struct value *v);

/* Returns an array by id, in the arena. The entry of a value is the n of its name "%n" in the text
 * and the JSON. It is 0 if the value is a leaf, or if no output needs it. */
const uint32_t *graph_numbers(const struct graph *g, struct arena *a);

#endif
