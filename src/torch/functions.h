/*
 * functions.h - PyTorch's functions and methods that graphs can express: their names, what they
 * take, and how each is built. To add one, add a row to functions.c.
 */
#ifndef TORCH_FUNCTIONS_H
#define TORCH_FUNCTIONS_H

#include "torch/build.h"

#define TORCH_MAX_PARAMS 12

/* Where a function is looked up. */
enum function_scope {
    IN_TORCH = 1,   /* torch.name(), F.name() and so on, or name() */
    IN_METHODS = 2, /* x.name() */
    IN_LINALG = 4
};

struct function {
    const char *names; /* separated by blanks; the first is the usual one */
    const char *takes; /* parameters in order, "=" before a default */
    enum graph_op op;  /* for the builder */
    VALUE_BUILDER((*value));
    OBJECT_BUILDER((*object)); /* either this or `value` is set */
    unsigned scopes;
    bool many;  /* integers one by one may stand for a tuple at the second place */
    bool views; /* the result may share memory with the input */
};

/* NULL if there is no function of that name. */
const struct function *function_find(const char *name, enum function_scope scope);

/* An argument of a call; its key is NULL if it is given by place. */
struct argument {
    const char *key;
    struct object object;
};

/* Puts each argument at its parameter's place and calls the builder. */
bool function_call(struct build *b, const struct function *f, enum function_scope scope,
                   const struct argument *args, size_t n, struct object *out);

#endif
