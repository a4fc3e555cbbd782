/*
 * pattern.h - patterns of values, written as text with the names of operations in ops.def.
 *
 *     "div(exp($a), sum(exp($a), $axes, true))"
 *
 * An operation lists all its operands, then all its attributes, in the order of ops.def. A $name
 * stands for any value or any attribute. If it occurs twice, it stands for the same value or
 * attribute both times. A number (`inf` is one) matches an equal number, an attribute that is an
 * equal number or size, or a list with this single entry. `true` and `false` match bool attributes;
 * `none` matches an operand or attribute that is absent; any other word matches an equal text. Sums
 * and products of at most 8 operands match in any order and grouping, other commutative operations
 * in both orders.
 *
 *     const struct pattern *p = pattern_parse(&arena, "mul($a, $a)");
 *     struct bindings b = BINDINGS_INIT;
 *     if (pattern_matches(p, v, &b))
 *         v = pattern_build(g, pattern_parse(&arena, "square($a)"), &b);
 */
#ifndef GRAPH_NORMAL_PATTERN_H
#define GRAPH_NORMAL_PATTERN_H

#include <stdbool.h>
#include <stddef.h>

#include "graph/graph.h"

#define PATTERN_MAX_NAMES 16
#define PATTERN_STEPS 4000 /* the most comparisons for one match */

struct pattern; /* does not change once it is parsed */

struct bindings {
    struct {
        const char *name;          /* without "$" */
        const struct value *value; /* the name stands for this value, or else for `attr` */
        const struct attr *attr;
    } of[PATTERN_MAX_NAMES];
    size_t n;
    unsigned steps; /* how many comparisons are left */
};

#define BINDINGS_INIT          \
    {                          \
        .steps = PATTERN_STEPS \
    }

/* NULL if the text is not a pattern. */
const struct pattern *pattern_parse(struct arena *a, const char *text);
enum graph_op pattern_op(const struct pattern *p); /* the outermost operation; OP_COUNT for a
                                                      pattern that is only a $name */

/* Adds to `b` what the names stand for. A failed match leaves `b` unchanged. */
bool pattern_matches(const struct pattern *p, const struct value *v, struct bindings *b);
/* Does x match the first of the pattern's two operands, and y the second? */
bool pattern_matches_two(const struct pattern *p, const struct value *x, const struct value *y,
                         struct bindings *b);
void pattern_bind(struct bindings *b, const char *name, const struct value *v);
void pattern_bind_attr(struct bindings *b, const char *name, const struct attr *a);

/* Builds the value that the pattern describes. NULL if the graph refuses one of its operations. */
const struct value *pattern_build(struct graph *g, const struct pattern *p,
                                  const struct bindings *b);

#endif
