/*
 * functions.h - the CUDA C++ expression for each elementwise operation of a graph that is a
 * function.
 *
 * In the texts $0, $1, ... stand for the operands. max_nan and min_nan (playbooks/parts/values.cu)
 * keep a NaN, as PyTorch does. expression.c writes operators (add, eq, ...), because integers and
 * bools need other forms.
 */
#ifndef PLAYBOOK_MATCH_FUNCTIONS_H
#define PLAYBOOK_MATCH_FUNCTIONS_H

#include "graph/graph.h"

#define C_INFINITY "__int_as_float(0x7f800000)"
#define C_NAN "__int_as_float(0x7fffffff)"

struct c_function {
    const char *real;  /* for floats; other operands are converted to float first; NULL: none */
    const char *whole; /* for integers, gives an integer; NULL: integers are converted to float */
    const char *test; /* gives a bool, for operands of any type; NULL: the function gives no bool */
};

const struct c_function *c_function(enum graph_op op);

#endif
