/*
 * functions.h - the functions and methods of PyTorch that graphs can express: their names, their
 * parameters, and the builder of each. To add one, add a row to functions.c.
 */
#ifndef TORCH_FUNCTIONS_H
#define TORCH_FUNCTIONS_H

#include "torch/build.h"

#define TORCH_MAX_PARAMS 12

/* The ways in which an expression can call a function. */
enum function_scope {
    IN_TORCH = 1,   /* torch.name(), F.name() and so on, or name() */
    IN_METHODS = 2, /* x.name() */
    IN_LINALG = 4   /* torch.linalg.name() */
};

struct function {
    const char *names; /* separated by blanks; the first is the usual one */
    const char *takes; /* parameters in order, "=" before a default */
    enum graph_op op;  /* passed to the builder */
    VALUE_BUILDER((*value));
    OBJECT_BUILDER((*object)); /* either this or `value` is set */
    unsigned scopes;
    bool many;  /* the last parameter is a tuple that may be given as separate integers */
    bool views; /* the result may share memory with the input */
};

/* Returns NULL if there is no function with that name. */
const struct function *function_find(const char *name, enum function_scope scope);

/* An argument of a call. Its key is NULL if it is positional. */
struct argument {
    const char *key;
    struct object object;
};

/* Assigns each argument to its parameter and calls the builder. */
bool function_call(struct build *b, const struct function *f, enum function_scope scope,
                   const struct argument *args, size_t n, struct object *out);

#endif
