/*
 * pattern.h - patterns of values, written as text with the names of operations in ops.def.
 *
 *     "div(exp($a), sum(exp($a), $axes, true))"
 *
 * An operation lists all its operands, then all its attributes, in the order of ops.def. Each
 * of them is written in one of these ways:
 *   $name              any value or any attribute; the same one wherever the name occurs
 *   2, inf             an equal number; as an attribute also an equal size, or a list with this
 *                      number as its only entry
 *   true, false        a bool attribute
 *   none               an operand or attribute that is absent
 *   any other word     an attribute with this text
 *   an operation       a value of this operation
 * Sums and products of at most 8 operands match in any order and grouping. Other commutative
 * operations match in both orders.
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
#define PATTERN_STEPS 4000 /* most comparisons in one match */

struct pattern; /* does not change once it is parsed */

struct bindings {
    struct {
        const char *name;          /* without "$" */
        const struct value *value; /* what the name stands for; if NULL, it stands for `attr` */
        const struct attr *attr;
    } of[PATTERN_MAX_NAMES];
    size_t n;
    unsigned steps; /* comparisons left */
};

#define BINDINGS_INIT          \
    {                          \
        .steps = PATTERN_STEPS \
    }

/* Returns NULL if the text is not a pattern. */
const struct pattern *pattern_parse(struct arena *a, const char *text);
/* Returns the outermost operation. Returns OP_COUNT if the pattern is only a name, a number or a
 * word. */
enum graph_op pattern_op(const struct pattern *p);

/* Adds to `b` what the names stand for. A failed match leaves `b` unchanged. */
bool pattern_matches(const struct pattern *p, const struct value *v, struct bindings *b);
/* Matches x with the first of the pattern's two operands, and y with the second. */
bool pattern_matches_two(const struct pattern *p, const struct value *x, const struct value *y,
                         struct bindings *b);
/* Before a match, these say what a name stands for. */
void pattern_bind(struct bindings *b, const char *name, const struct value *v);
void pattern_bind_attr(struct bindings *b, const char *name, const struct attr *a);

/* Returns NULL if the graph refuses an operation of the pattern. */
const struct value *pattern_build(struct graph *g, const struct pattern *p,
                                  const struct bindings *b);

#endif
