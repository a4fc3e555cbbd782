/*
 * rules.h - applies rewrite rules to one value of a graph.
 *
 * rules.c has a list of rules for each function rules_apply_...(). The function returns the value
 * that replaces v, with the same dtype and shape, or NULL if no rule applies. The operands of v
 * must be rewritten already. normal.c rewrites the result further.
 */
#ifndef GRAPH_NORMAL_RULES_H
#define GRAPH_NORMAL_RULES_H

#include "graph/graph.h"

/* Gives one spelling to values that mean the same: x * x becomes square(x). */
const struct value *rules_apply_spellings(struct graph *g, const struct value *v);
/* Uses fewer kinds of operations, for comparisons only: a / b becomes a * reciprocal(b). */
const struct value *rules_apply_comparisons(struct graph *g, const struct value *v);
/* Writes operations along axes as sums and maxima: mean(x) becomes sum(x) / n. */
const struct value *rules_apply_unfoldings(struct graph *g, const struct value *v);

/* Can `made` take v's place? It must have v's dtype and shape, and it may be a Python number only
 * if v is one. Returns false if `made` is NULL. */
bool value_fits(const struct value *made, const struct value *v);
/* Returns how many elements the reduction v combines into one. */
const struct dim *reduced_count(struct graph *g, const struct value *v);

#endif
