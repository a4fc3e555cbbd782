/* functions.h - the functions of PyTorch that graphs can express: names, parameters, and builders.
 * To add one, add a row to functions.c. */
#ifndef TORCH_FUNCTIONS_H
#define TORCH_FUNCTIONS_H

#include "torch/build.h"

#define TORCH_MAX_PARAMS 12

/* The ways to call a function. */
enum function_scope {
    IN_TORCH = 1,   /* torch.name(), F.name(), ..., or name() */
    IN_METHODS = 2, /* x.name() */
    IN_LINALG = 4   /* torch.linalg.name() */
};

struct function {
    const char *names; /* separated by blanks; the first is the usual one */
    const char *takes; /* parameters, "=" before a default */
    enum graph_op op;  /* passed to the builder */
    VALUE_BUILDER((*value));
    OBJECT_BUILDER((*object)); /* either this or `value` is set */
    unsigned scopes;
    bool many;  /* the last parameter, a tuple, may be given as separate integers */
    bool views; /* the result may share memory with the input */
};

/* Returns the function that can be called by this name in this way, or NULL if there is none. */
const struct function *function_find(const char *name, enum function_scope scope);

/* The key is NULL for a positional argument. */
struct argument {
    const char *key;
    struct object object;
};

/* Assigns the arguments to parameters, calls the builder, and puts its result into *out. Returns
 * false with the reason in b->err. */
bool function_call(struct build *b, const struct function *f, enum function_scope scope,
                   const struct argument *args, size_t n, struct object *out);

#endif
