/* names.h - names that an expression may use besides the inputs and scalars of its graph. */
#ifndef TORCH_NAMES_H
#define TORCH_NAMES_H

#include "graph/ops.h"

/* Such a name hides an input of the same name. A value made by graph_integer() may be used as an
 * axis number. */
struct torch_name {
    const char *name; /* may start with "$" */
    const struct value *value;
};
struct torch_names {
    const struct torch_name *items;
    size_t n;
};

#endif
