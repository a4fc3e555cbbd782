/*
 * numbers.h - Python's arithmetic on numbers that are known while an expression is read.
 */
#ifndef TORCH_NUMBERS_H
#define TORCH_NUMBERS_H

#include "torch/object.h"

/* These apply the operator `op`. They return 1 with the result in *out, or -1 if Python would
 * refuse. They return 0 if an operand is a size of unknown value; then the graph must compute the
 * result. */
int number_binary(struct build *b, const char *op, const struct object *l, const struct object *r,
                  struct object *out);
int number_unary(struct build *b, const char *op, const struct object *a, struct object *out);
/* Calls a function of Python's math, as in math.sqrt(2). Returns 1 with the result in *out, -1 if
 * the result would not be a number, 0 if the function or an argument is not known. */
int number_function(struct build *b, const char *name, const struct object *args, size_t n,
                    struct object *out);

#endif
