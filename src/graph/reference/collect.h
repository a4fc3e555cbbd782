/*
 * collect.h - collects a result over a loop of a unit (unit_text.h): a sum, a product, the largest
 * or smallest element, or its index.
 *
 *     struct collector c = collect_start(e, v, COLLECT_SUM, i, 0);
 *     was = unit_loop(...);
 *     collect_add(e, &c, term, "");
 *     unit_close(&e->u, was);
 *     struct term t = collect_end(e, &c);
 *
 * In SIGMA and NOISY references a sum is made of chains of at most COLLECT_CHAIN terms. Each
 * partial sum of a chain is rounded. A tree adds up the chains.
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
    COLLECT_PARTS = 2,    /* the terms are partial results, which a tree adds up */
};

struct collector {
    enum collect kind;
    unsigned flags;
    const struct value *of;
    struct index i;
    /* `v` is the result so far. `m` is its magnitude or variance, or the index of the element
     * that was chosen. */
    const char *v, *m;
    /* The following members are for sums and products in SIGMA and NOISY references. */
    const char *s, *squares; /* the chain so far, and the sum of the squares of its partial sums */
    const char *q, *n;       /* the sum of the squares of the chain's terms, and their number */
    const char *rounding;    /* variance of the earlier chains, divided by chain_rounding() */
    /* How many chains there were before this one, and the sum of the squares of their sums. */
    const char *chains, *chain_squares;
    const char *key; /* only for NOISY: the seed of the random roundings */
    /* Errors that terms share: off[k] adds up the errors of the terms that read element at[k] of
     * source k. */
    const char *off[EMIT_SOURCES], *at[EMIT_SOURCES];
    bool biased[EMIT_SOURCES]; /* source k has one-sided errors */
    /* The sum of the squares of the errors that off[k] adds up, if they are one-sided. The
     * variances of the terms cover these squares already. */
    const char *own[EMIT_SOURCES];
    const char *terms; /* the sum of the squares of the terms of earlier chains */
};

/* Begins to collect element i of v. */
struct collector collect_start(struct emit *e, const struct value *v, enum collect kind,
                               struct index i, unsigned flags);
void collect_add(struct emit *e, const struct collector *c, struct term t, const char *index);
/* Notes that term t becomes `off` if source k (struct shared_error) is off by 4 sigma. */
void collect_shared(struct emit *e, const struct collector *c, uint32_t k, struct term t,
                    struct term off);
/* Both return the result so far: collect_now() as a partial result, collect_end() as the finished
 * element. The variance of a partial result does not include the one-sided errors of its terms,
 * because these errors add up over the parts. They are its `bias`. */
struct term collect_now(struct emit *e, const struct collector *c);
struct term collect_end(struct emit *e, const struct collector *c);
bool collect_is_index(enum collect k);

#endif
