/*
 * dropout.h - decides which elements dropout drops, in the same way on every device.
 *
 * The element in column c of the row of node v has number i = v * width + c. So a node's dropout
 * does not depend on its batch or process. `place` is the number of the dropout in the model. The
 * Philox block with the counter (i / 8, place, step) and the key `seed` has eight half-words of 16
 * bits. Element i is dropped if half-word i % 8 is below round(65536 p). The other elements are
 * divided by the exact probability to stay, so the mean is right although p is rounded.
 */
#ifndef GNN_OPS_DROPOUT_H
#define GNN_OPS_DROPOUT_H

#include "base/number_core.h"

/* Returns round(65536 p), at most 65535, for 0 <= p < 1. */
GEN_FN uint32_t dropout_limit(double p)
{
    uint32_t limit = (uint32_t)(p * 65536.0 + 0.5);
    return limit > 65535u ? 65535u : limit;
}

/* Returns the factor for the elements that are not dropped. */
GEN_FN double dropout_scale(uint32_t limit)
{
    return 65536.0 / (65536.0 - (double)limit);
}

/* Returns the random bits of elements 8 * group .. 8 * group + 7. */
GEN_FN struct gen_block dropout_words(uint64_t seed, uint32_t step, uint32_t place, uint64_t group)
{
    return gen_words(seed, place, step, group);
}

/* Returns whether element 8 * group + lane stays. *b is the result of dropout_words() for the
 * group. */
GEN_FN int dropout_keeps(const struct gen_block *b, unsigned lane, uint32_t limit)
{
    return (b->w[lane >> 1] >> (16 * (lane & 1)) & 0xffffu) >= limit;
}

#endif
