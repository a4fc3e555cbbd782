/*
 * in_place.h - checks whether changes in place, such as x.add_(1), can be treated as new values.
 *
 * The result of x.add_(1) is x + 1, but the call also changes x for every later read of x. So a
 * tensor that is changed in place must be read nowhere else in the expression, and must not be a
 * view of another tensor. A call changes a tensor in place if the function's name ends in "_", or
 * if the call has inplace=True.
 */
#ifndef TORCH_IN_PLACE_H
#define TORCH_IN_PLACE_H

#include "torch/parse.h"

/* Returns -1 if another part of the expression may see a change. Then err says at which character
 * of the expression the change is. */
int in_place_check(const struct tree *root, struct arena *mem, struct err *err);

/* Whether t names a module: "torch", "F", "math" and so on, perhaps followed by ".nn",
 * ".functional", ... */
bool tree_is_module(const struct tree *t);

#endif
