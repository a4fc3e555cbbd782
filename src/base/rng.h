/*
 * rng.h - a sequence of random numbers for Hone's own choices: shapes, samples, orders.
 *
 *     struct rng r = rng_seeded(seed, STREAM_SHAPES);
 *     int64_t m = rng_range(&r, lo, hi);
 *
 * Equal seeds and streams give equal sequences on every machine (the Philox of number_core.h), and
 * different streams are independent. Do not use it for secrets.
 */
#ifndef BASE_RNG_H
#define BASE_RNG_H

#include <stdint.h>

struct rng {
    uint64_t seed, block;
    uint32_t stream;
    uint64_t spare; /* second number of the newest block; rng_u64() returns it next */
    int has_spare;
};

struct rng rng_seeded(uint64_t seed, uint32_t stream);
uint64_t rng_u64(struct rng *r);
uint64_t rng_below(struct rng *r, uint64_t n);            /* 0..n-1, unbiased; n > 0 */
int64_t rng_range(struct rng *r, int64_t lo, int64_t hi); /* lo..hi inclusive */
double rng_unit(struct rng *r);                           /* [0, 1), 53 bits */

#endif
