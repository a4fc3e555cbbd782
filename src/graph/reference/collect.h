/*
 * collect.h - writes the statements with which a loop collects one result: a sum, a product, the
 * largest or smallest element, or its index.
 *
 *     struct collector c = collect_start(e, v, COLLECT_SUM, i, 0);
 *     was = unit_loop(...);
 *     collect_add(e, &c, term, "");
 *     unit_close(&e->u, was);
 *     struct term t = collect_end(e, &c);
 *
 * SIGMA and NOISY references (reference_mode.h) model how a kernel rounds a sum. It adds up chains
 * of at most COLLECT_CHAIN terms, and rounds after each term. A tree of additions then adds up the
 * chains.
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
    COLLECT_PRODUCTS = 1, /* the terms are products: a fused multiply-add does not round them */
    COLLECT_PARTS = 2,    /* the terms are partial results: a tree adds them up */
};

/* The strings are names of variables in the text. */
struct collector {
    enum collect kind;
    unsigned flags;
    const struct value *of;
    struct index i; /* the number of the element of `of` that is collected */
    /* The result so far, and its magnitude, its variance, or the index of an argmax. */
    const char *v, *m;
    /* The other members are for sums and products in SIGMA and NOISY references. */
    const char *s, *squares; /* this chain's sum; the sum of its squared partial sums */
    const char *q, *n;       /* the sum of its squared terms; their number */
    const char *rounding; /* variance of earlier chains' roundings, divided by chain_rounding() */
    const char *chains, *chain_squares; /* count of earlier chains; the sum of their squared sums */
    const char *key;                    /* in NOISY references: the seed of the roundings */
    /* Terms share an error if they read the same element of a source (struct shared_error), or for
     * one-sided errors the same column. at[k] is the number of this element or column in source k.
     * If the source is off there by 4 sigma, these terms change by off[k] in all. */
    const char *off[EMIT_SOURCES], *at[EMIT_SOURCES];
    bool biased[EMIT_SOURCES]; /* the errors are one-sided */
    /* For one-sided errors: the sum of the squared changes, which the terms' variances contain. */
    const char *own[EMIT_SOURCES];
    const char *terms; /* the sum of the squared terms of earlier chains */
};

struct collector collect_start(struct emit *e, const struct value *v, enum collect kind,
                               struct index i, unsigned flags);
/* `index` is the index of the term for COLLECT_ARGMAX and COLLECT_ARGMIN, else "". */
void collect_add(struct emit *e, const struct collector *c, struct term t, const char *index);
/* `off` is what the term t becomes if source k is off by 4 sigma. */
void collect_shared(struct emit *e, const struct collector *c, uint32_t k, struct term t,
                    struct term off);
/* Returns the result so far. Its one-sided errors are in the member `bias` and not in the variance,
 * because they do not average out in a later sum of results. */
struct term collect_now(struct emit *e, const struct collector *c);
struct term collect_end(struct emit *e, const struct collector *c);
bool collect_is_index(enum collect k);

#endif
