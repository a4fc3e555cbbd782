/*
 * numbers.h - Python's arithmetic on numbers that are known while an expression is read.
 */
#ifndef TORCH_NUMBERS_H
#define TORCH_NUMBERS_H

#include "torch/object.h"

/* 1: *out is the result; 0: a size that is no number is in it, the graph computes it; -1: refused.
 */
int number_binary(struct build *b, const char *op, const struct object *l, const struct object *r,
                  struct object *out);
int number_unary(struct build *b, const char *op, const struct object *a, struct object *out);
/* math.sqrt(2) and so on. 0: the function or the argument is not known here. */
int number_function(struct build *b, const char *name, const struct object *args, size_t n,
                    struct object *out);

#endif
