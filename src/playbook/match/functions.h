/*
 * functions.h - a CUDA C++ expression for each elementwise function of a graph, such as abs or exp.
 *
 * $0, $1, ... stand for the operands. max_nan and min_nan (playbooks/parts/values.cu) keep a NaN,
 * as PyTorch does. Operators (add, eq, ...) are not in this table: expression.c writes them.
 */
#ifndef PLAYBOOK_MATCH_FUNCTIONS_H
#define PLAYBOOK_MATCH_FUNCTIONS_H

#include "graph/graph.h"

#define C_INFINITY "__int_as_float(0x7f800000)"
#define C_NAN "__int_as_float(0x7fffffff)"

struct c_function {
    /* The text for floats. Other operands are converted to float first. NULL if there is none. */
    const char *real;
    /* The text for integers, with an integer result. If NULL, integers are converted to float. */
    const char *whole;
    /* The text for operands of any type, with a bool result. NULL if there is none. */
    const char *test;
};

/* Faster texts for floats; NULL if there is none. */
struct c_fast_function {
    const char *rough; /* for a result that PyTorch rounds to 16 bits */
    const char *quick; /* in a kernel that has playbooks/parts/quick.cu */
};

const struct c_function *c_function(enum graph_op op);
const struct c_fast_function *c_fast_function(enum graph_op op);

#endif
