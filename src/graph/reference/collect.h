/*
 * collect.h - writes the statements with which a loop collects one result: a sum, a product, the
 * largest or smallest element, or its index. The statements are part of the text that computes
 * one element or a few of a value (unit_text.h). The reference runs this text once for each of its
 * units.
 *
 *     struct collector c = collect_start(e, v, COLLECT_SUM, i, 0);
 *     was = unit_loop(...);
 *     collect_add(e, &c, term, "");
 *     unit_close(&e->u, was);
 *     struct term t = collect_end(e, &c);
 *
 * A SIGMA reference computes the variance of each value's rounding error; sigma is the root of the
 * variance. A NOISY reference draws random rounding errors (reference_mode.h). Both model how a
 * kernel rounds a sum. They assume that the kernel adds up chains of at most COLLECT_CHAIN terms
 * and rounds after each term. A tree of additions then adds up the sums of the chains.
 */
#ifndef GRAPH_REFERENCE_COLLECT_H
#define GRAPH_REFERENCE_COLLECT_H

#include "graph/reference/emit.h"

#define COLLECT_CHAIN 1024

enum collect {
    COLLECT_SUM,
    COLLECT_PROD,
    COLLECT_MAX,
    COLLECT_MIN,
    COLLECT_ARGMAX,
    COLLECT_ARGMIN
};

enum {
    COLLECT_PRODUCTS = 1, /* the terms are products, which a fused multiply-add does not round */
    COLLECT_PARTS = 2,    /* the terms are partial results, which a tree of additions adds up */
};

/* The texts in a collector are names of variables in the unit's text. */

struct collector {
    enum collect kind;
    unsigned flags;
    const struct value *of; /* the value whose element is collected */
    struct index i;         /* the number of that element */
    /* `v` is the result so far. `m` is its magnitude, or in a SIGMA reference its variance
     * (emit.h). For COLLECT_ARGMAX and COLLECT_ARGMIN, `m` is the index of the element that was
     * chosen. */
    const char *v, *m;
    /* The following members are for sums and products in SIGMA and NOISY references. `s` is the sum
     * of the terms of the current chain so far. `squares` is the sum of the squares of the partial
     * sums of this chain. */
    const char *s, *squares;
    const char *q, *n;    /* the sum of the squares of the chain's terms, and their number */
    const char *rounding; /* the variance of the roundings in earlier chains, divided by
                           * chain_rounding() */
    /* How many chains there were before this one, and the sum of the squares of their sums. */
    const char *chains, *chain_squares;
    const char *key; /* only for NOISY references: the seed of the random roundings */
    /* For errors that several terms share, because they read the same source (struct shared_error).
     * at[k] is the number of the element of source k that the terms read now. If the source is
     * wrong there by 4 sigma, each of these terms changes. off[k] is the sum of the changes so far.
     * If the errors of the source are one-sided, all elements of a column are wrong together. Then
     * at[k] is the number of the column. */
    const char *off[EMIT_SOURCES], *at[EMIT_SOURCES];
    bool biased[EMIT_SOURCES]; /* the errors of source k are one-sided */
    /* Only for sources with one-sided errors: the sum of the squares of the same changes. The
     * variances of the terms already contain these squares. */
    const char *own[EMIT_SOURCES];
    const char *terms; /* the sum of the squares of the terms of earlier chains */
};

/* Begins to collect element i of v. */
struct collector collect_start(struct emit *e, const struct value *v, enum collect kind,
                               struct index i, unsigned flags);
/* Adds the term t. `index` is its index for COLLECT_ARGMAX and COLLECT_ARGMIN, else "". */
void collect_add(struct emit *e, const struct collector *c, struct term t, const char *index);
/* If source k (struct shared_error) is wrong by 4 sigma, the term has the value `off` and not t.
 * Adds the difference to off[k] of the collector. */
void collect_shared(struct emit *e, const struct collector *c, uint32_t k, struct term t,
                    struct term off);
/* Both functions return the result so far. collect_end() returns it as the finished element.
 * collect_now() returns it as a partial result, one of several that are added later. One-sided
 * errors of the partial results do not average out, so they are no part of the variance. The member
 * `bias` of the result holds them. */
struct term collect_now(struct emit *e, const struct collector *c);
struct term collect_end(struct emit *e, const struct collector *c);
/* True for COLLECT_ARGMAX and COLLECT_ARGMIN. */
bool collect_is_index(enum collect k);

#endif
