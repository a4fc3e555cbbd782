/*
 * in_place.h - checks whether changes in place, such as x.add_(1), can be treated as new values.
 *
 * The result of x.add_(1) is x + 1, but the call also changes x. So the expression must read x
 * nowhere else, and x must not be a view of another tensor. A call changes a tensor in place if its
 * name ends in "_", or if it has inplace=True.
 */
#ifndef TORCH_IN_PLACE_H
#define TORCH_IN_PLACE_H

#include "torch/parse.h"

/* Returns -1 if another part of the expression may see a change. Then err has the column of the
 * change. */
int in_place_check(const struct tree *root, struct arena *mem, struct err *err);

/* Returns whether t names a module: "torch", "F", "math" and so on, perhaps followed by ".nn",
 * ".functional", ... */
bool tree_is_module(const struct tree *t);

#endif
