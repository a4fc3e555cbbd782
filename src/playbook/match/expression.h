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

/* `write` returns false for a value that is not a leaf. Otherwise it writes the leaf, or the reason
 * why the leaf is not allowed into `why`, and returns true. */
struct leaves {
    bool (*write)(void *ctx, const struct value *v, struct strbuf *out, struct strbuf *why);
    void *ctx;
    bool quick; /* use the functions of playbooks/parts/quick.cu */
};

/* Returns false, with the reason, if an operation is not elementwise, a leaf is not allowed, or the
 * text would be too long. */
bool write_expression(const struct value *v, const struct leaves *leaves, struct strbuf *out,
                      struct strbuf *why);

/* Writes an input, a scalar or an axis as v0, v1, ..., or a size as an expression of these, each
 * after `prefix`. Returns false for other values. */
bool write_value_number(const struct meaning *m, const struct value *v, const char *prefix,
                        struct strbuf *out);
/* Returns leaves that write_value_number() writes, without a prefix. */
struct leaves usual_leaves(const struct meaning *m);

/* Always returns false. If `why` already has a reason, that one stays. */
bool cannot_write(struct strbuf *why, const char *what, const struct value *v);

#endif
