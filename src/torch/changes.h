/*
 * changes.h - may changes in place be taken for values?
 *
 * x.add_(1) is x + 1 to whoever reads its result. It is not the same to whoever reads x afterwards.
 * So a tensor that is changed in place must be read nowhere else in the expression.
 */
#ifndef TORCH_CHANGES_H
#define TORCH_CHANGES_H

#include "torch/parse.h"

/* -1 with err set, which names the column, if a changed tensor is read elsewhere. */
int changes_check(const struct tree *root, struct arena *mem, struct err *err);

/* "torch", "F", "math" and so on, alone or with ".nn", ".functional" and so on after it. */
bool tree_is_module(const struct tree *t);

#endif
