/*
 * nest.h - the loops of a sum, and where their terms are collected.
 *
 *     struct nest n = nest_start(e, collector);
 *     i = nest_loop(&n, columns);
 *     collect_add(e, nest_sum(&n), term, "");
 *     struct collector c = nest_end(&n);
 *
 * In a reference all terms go to one collector (collect.h). A kernel would lose digits that way, so
 * it cuts the terms into chains of at most COLLECT_CHAIN. Each chain's result goes to the collector
 * around it. A group of threads (the lanes) of a kernel can also share a loop.
 */
#ifndef GRAPH_REFERENCE_NEST_H
#define GRAPH_REFERENCE_NEST_H

#include "graph/reference/collect.h"

#define NEST_MAX (4 * GRAPH_MAX_RANK)

struct nest {
    struct emit *e;
    struct collector sum[NEST_MAX]; /* the collector of the whole sum, then those of open chains */
    uint32_t sums;
    /* The scopes for unit_close(), one per open loop or condition. NULL marks where a chain
     * begins. */
    struct scope *opened[NEST_MAX];
    uint32_t n;
    int64_t terms; /* terms of the innermost chain so far; 0 if not known */
    bool shared;   /* the lanes share a loop, so their results must be combined */
    /* If the loop runs over vectors (vector.h), their length, and a collector for each element. */
    int64_t vector;
    struct collector each[VECTOR_MAX];
    uint32_t each_from; /* opened[each_from] is the loop over vectors */
};

struct nest nest_start(struct emit *e, struct collector c);
/* Opens a loop over n elements and returns its index. If n is 1, opens no loop and returns 0. */
struct index nest_loop(struct nest *x, const struct dim *n);
/* Opens a loop over [first, end) and returns its index. The loop has at most `most` terms; 0 = not
 * known. If `shared` is true, the lanes share the loop. */
struct index nest_range(struct nest *x, struct index first, struct index end, int64_t most,
                        bool shared);
/* Does the same for a loop over vectors of u.vector->n elements, which the lanes share. This number
 * of elements must divide first and end. The index is that of a vector's first element. */
struct index nest_vectors(struct nest *x, struct index first, struct index end, int64_t most);
/* Opens a condition inside the open loops. */
void nest_if(struct nest *x, const char *condition);
/* Returns the collector to which the innermost loop must add its terms. */
const struct collector *nest_sum(const struct nest *x);
/* Returns the collector for element k of a vector. */
const struct collector *nest_sum_of(const struct nest *x, int64_t k);
/* Closes all loops and conditions. Returns the outermost collector. */
struct collector nest_end(struct nest *x);

/* Should several threads share a loop over n elements? True if n may be large. */
bool nest_has_many(const struct dim *n);
/* Do the lanes share a loop over n elements that begins in the current scope? */
bool nest_is_shared(const struct emit *e, const struct dim *n);

#endif
