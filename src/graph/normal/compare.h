/*
 * compare.h - do two values, or two graphs, compute the same?
 *
 *     graph_same_value(a, b)      x + y + z is z + (y + x); 2 is 2.0
 *
 * Operands of sums and products match in any order and grouping, if there are at most 12. Operands
 * of other commutative operations match in both orders. Two inputs or scalars are the same if they
 * have the same name, dtype and shape. Numbers compare by value, sizes by their canonical form. So
 * the two values may belong to different graphs. The work is bounded: two large values that take
 * too long to compare count as different.
 *
 * In a match, some leaves of the first value are variables. Each variable stands for one value of
 * the second graph. That value must be a number or a scalar, unless the caller gives an accept()
 * that allows other values.
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
    size_t n;                             /* at most MATCH_MAX_VARIABLES */
    /* May the variable stand for v? If accept is NULL, v must be a number or a scalar. */
    bool (*accept)(void *ctx, const struct value *variable, const struct value *v);
    void *ctx;
    /* The value that each variable stands for. The caller may fix some entries before the match. */
    const struct value *bound[MATCH_MAX_VARIABLES];
    /* Only the matcher uses the following members. */
    size_t order[MATCH_MAX_VARIABLES]; /* the variables in the order in which they were bound */
    size_t norder;
    unsigned steps; /* how many comparisons are left; value_matches() replaces 0 by its own cap */
    /* A table with an entry for each value of the first graph, indexed by its id. The entry is a
     * value of the second graph that is known to compute the same, or NULL. `same` itself is NULL
     * if the matcher keeps no such table. */
    const struct value **same;
};

/* Binds the variables on success; otherwise leaves `bound` as it was. */
bool value_matches(struct value_match *m, const struct value *a, const struct value *b);

bool graph_same_value(const struct value *a, const struct value *b);
/* True if both graphs have the same inputs and scalars, in any order, and the same outputs. Outputs
 * must have the same order, names and declarations, and compute the same. */
bool graph_same(const struct graph *a, const struct graph *b);
/* Compares sizes by canonical form, so the attributes may belong to different graphs. */
bool attr_equal(const struct attr *a, const struct attr *b);
/*
 * Writes to `out` the factors of a product or the terms of a sum, from left to right. `op` is
 * OP_MUL or OP_ADD. A value of another operation is its own single operand. Returns how many
 * operands there are, or max + 1 if there are more than max.
 */
size_t value_operands(const struct value *v, enum graph_op op, const struct value **out,
                      size_t max);

#endif
