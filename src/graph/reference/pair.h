/*
 * pair.h - writes one loop for two reductions of the same rows, where the second reduction reads
 * the result of the first. Only for kernels in which the threads of a group (the lanes) share the
 * loop.
 *
 *     struct pair x;
 *     if (pair_find(e, max, sum, &x)) {
 *         pair_write(e, &x, &kept, first, end);
 *         ...                                          x.result[0], x.result[1]
 *     }
 */
#ifndef GRAPH_REFERENCE_PAIR_H
#define GRAPH_REFERENCE_PAIR_H

#include "graph/reference/emit.h"

enum pair_kind {
    PAIR_EXPS,    /* a maximum, and the sum of exp(x - maximum) */
    PAIR_SQUARES, /* a sum, and the sum of squares around the mean */
};

struct pair {
    enum pair_kind kind;
    const struct value *first, *second; /* the reductions */
    bool finite;    /* PAIR_EXPS: if the maximum is not finite, the sum is of exp(x - 0) */
    int64_t vector; /* how many elements a lane reads at once */
    const char *result[2];
};

/* Sets *out and returns true if the two reductions are one of the pairs in enum pair_kind. */
bool pair_find(struct emit *e, const struct value *first, const struct value *second,
               struct pair *out);
/* Writes the loop over the elements from `first` to `end` of the row `kept`. Sets out->result to
 * the names of the variables with the two results. If `first` is not 0, it must be a multiple of
 * u->vector->n. */
void pair_write(struct emit *e, struct pair *out, struct place *kept, struct index first,
                struct index end);

#endif
