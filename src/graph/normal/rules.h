/*
 * rules.h - the rewrite rules of the graph, and how one is applied to one value.
 *
 * Each function tries its list on a value whose arguments are already rewritten. It returns the
 * value that a rule makes of it, or NULL if no rule applies. The result has the same dtype and
 * shape; it is not rewritten itself yet (normal.h does that).
 */
#ifndef GRAPH_NORMAL_RULES_H
#define GRAPH_NORMAL_RULES_H

#include "graph/graph.h"

/* One spelling for one meaning: x * x is square(x). */
const struct value *rules_apply_spellings(struct graph *g, const struct value *v);
/* Fewer words, for comparisons only: a / b is a * reciprocal(b). */
const struct value *rules_apply_comparisons(struct graph *g, const struct value *v);
/* Sums and extremes along an axis: mean(x) is sum(x) / n. */
const struct value *rules_apply_unfoldings(struct graph *g, const struct value *v);

/* Does `made` have v's dtype and shape, so that it can take v's place? */
bool value_fits(const struct value *made, const struct value *v);
/* How many elements of its operand go into one element of a reduction? */
const struct dim *reduced_count(struct graph *g, const struct value *v);

#endif
