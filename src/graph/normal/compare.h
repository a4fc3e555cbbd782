/*
 * compare.h - do two values, or two graphs, compute the same?
 *
 *     graph_same_value(a, b)      x + y + z is z + (y + x); 2 is 2.0
 *
 * Up to 12 operands of a sum or product match in any order and grouping. Other commutative
 * operations match in both orders. Inputs and scalars must have the same name, dtype and shape. The
 * values may belong to different graphs. Values that take too long to compare count as different.
 *
 * Leaves of the first value may be variables. Each stands for one value of the second graph: a
 * number, a scalar, or what accept() allows.
 *
 *     struct value_match m = {.variables = &eps, .n = 1};
 *     if (value_matches(&m, form, task_value))
 *         use(m.bound[0]);                  NULL if the first value does not mention eps
 */
#ifndef GRAPH_NORMAL_COMPARE_H
#define GRAPH_NORMAL_COMPARE_H

#include <stdbool.h>
#include <stddef.h>

#include "graph/graph.h"

#define MATCH_MAX_VARIABLES 32

struct value_match {
    const struct value *const *variables; /* leaves of the first value */
    size_t n;
    /* May the variable stand for v? If accept is NULL, v must be a number or a scalar. */
    bool (*accept)(void *ctx, const struct value *variable, const struct value *v);
    void *ctx;
    /* bound[i] is the value that variable i stands for. The caller may set entries before the
     * match. */
    const struct value *bound[MATCH_MAX_VARIABLES];
    /* The other members are for the matcher. */
    size_t order[MATCH_MAX_VARIABLES]; /* variables in the order in which they were bound */
    size_t norder;
    unsigned steps; /* comparisons left; value_matches() replaces 0 by its own cap */
    /* same[i] matched value i of the first graph, or is NULL. `same` itself may be NULL. */
    const struct value **same;
};

/* Returns whether `a` and b compute the same. If so, binds the variables; otherwise leaves `bound`
 * as it was. */
bool value_matches(struct value_match *m, const struct value *a, const struct value *b);

bool graph_same_value(const struct value *a, const struct value *b);
/* Inputs and scalars may be in any order. Outputs must have the same order, names and
 * declarations. */
bool graph_same(const struct graph *a, const struct graph *b);
/* The attributes may belong to different graphs. */
bool attr_equal(const struct attr *a, const struct attr *b);
/* Writes to `out` the factors of a product (op is OP_MUL) or the terms of a sum (OP_ADD), from left
 * to right, and returns how many there are. Any other v is its own single operand. Returns max + 1
 * if there are more than max. */
size_t value_operands(const struct value *v, enum graph_op op, const struct value **out,
                      size_t max);

#endif
