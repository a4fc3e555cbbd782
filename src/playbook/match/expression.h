/*
 * expression.h - writes an elementwise value of a graph as a CUDA C++ expression.
 *
 *     x * sigmoid(x), x being v0   ->   "(v0 * (1.f / (1.f + expf(-v0))))"
 *
 * Floats of all widths are `float`. Integers keep their width and wrap around as in PyTorch. Bools
 * are added with ||. The caller says how to write the leaves: inputs, scalars, and values that
 * another part of the kernel computes (a product, a reduction).
 */
#ifndef PLAYBOOK_MATCH_EXPRESSION_H
#define PLAYBOOK_MATCH_EXPRESSION_H

#include "base/strbuf.h"
#include "graph/graph.h"
#include "playbook/match/meaning.h"

enum { MAX_EXPRESSION = 16 << 10 }; /* bytes */

/* How leaves are written. `write` returns false if the value is not a leaf. For a leaf it returns
 * true and either writes the leaf, or, if the leaf is not allowed, puts the reason into `why`. */
struct leaves {
    bool (*write)(void *ctx, const struct value *v, struct strbuf *out, struct strbuf *why);
    void *ctx;
};

/* Writes v. Returns false, with the reason, in three cases: an operation between the leaves and v
 * is not elementwise; a leaf is not allowed; the text would be too long. */
bool write_expression(const struct value *v, const struct leaves *leaves, struct strbuf *out,
                      struct strbuf *why);

/* Writes an input, a scalar or an axis as v0, v1, ..., or a size as an expression of these. Writes
 * `prefix` before each of these names. Returns false if v is something else. */
bool write_value_number(const struct meaning *m, const struct value *v, const char *prefix,
                        struct strbuf *out);
/* The usual leaves: those of write_value_number(), without a prefix. */
struct leaves usual_leaves(const struct meaning *m);

/* Adds the reason, unless `why` already has one. Returns false. */
bool cannot_write(struct strbuf *why, const char *what, const struct value *v);

#endif
