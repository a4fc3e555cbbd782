/*
 * compare.h - do two values, or two graphs, say the same?
 *
 *     graph_same_value(a, b)      x + y + z is z + (y + x); 2 is 2.0
 *
 * Operands of sums and products match in any order and grouping, those of other commutative
 * operations in both orders. Leaves are the same if their names, dtypes and shapes are; numbers
 * count by value, sizes by their canonical form. So values of two graphs compare as well as values
 * of one. The work is bounded: two large values that take too long to compare count as different.
 *
 * A match also lets scalars of the first value, the variables, stand for numbers or other scalars
 * of the second:
 *
 *     struct value_match m = {.variables = &eps, .n = 1};
 *     if (value_matches(&m, form, task_value))
 *         use(m.bound[0]);                  NULL if the form does not mention eps
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
    /* May the variable stand for v? NULL: if v is a number or a scalar. */
    bool (*accept)(void *ctx, const struct value *variable, const struct value *v);
    void *ctx;
    /* What each stands for. An entry that is not NULL before the match is fixed. */
    const struct value *bound[MATCH_MAX_VARIABLES];
    /* For the matcher. */
    size_t order[MATCH_MAX_VARIABLES]; /* the variables in the order in which they were bound */
    size_t norder;
    unsigned steps;            /* comparisons left */
    const struct value **same; /* by id of the first: a value it is known to be the same as */
};

/* Binds the variables on success; otherwise leaves `bound` as it was. */
bool value_matches(struct value_match *m, const struct value *a, const struct value *b);

bool graph_same_value(const struct value *a, const struct value *b);
/* The same inputs and scalars by name, and the same outputs by name and declaration. */
bool graph_same(const struct graph *a, const struct graph *b);
/* Compares sizes by form, so attributes of two graphs compare. */
bool attr_equal(const struct attr *a, const struct attr *b);
/*
 * The factors of a product or the terms of a sum, from left to right; `op` is OP_MUL or OP_ADD. A
 * value of another operation is its own single operand. Returns how many there are, and max + 1 if
 * there are more than max.
 */
size_t value_operands(const struct value *v, enum graph_op op, const struct value **out,
                      size_t max);

#endif
