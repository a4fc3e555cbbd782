/* names.h - names that an expression may use besides the inputs and scalars of its graph. */
#ifndef TORCH_NAMES_H
#define TORCH_NAMES_H

#include "graph/ops.h"

/* The name has precedence over an input of the same name. If `value` is made by graph_integer(),
 * the expression may use the name as the number of an axis. */
struct torch_name {
    const char *name; /* may start with "$" */
    const struct value *value;
};
struct torch_names {
    const struct torch_name *items;
    size_t n;
};

#endif
