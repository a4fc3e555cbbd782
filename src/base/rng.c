/*
 * rng.c - draws random numbers from the Philox generator of number_core.h.
 */
#include "base/rng.h"

#include "base/number_core.h"

/* Keeps the sequences of Hone's own choices apart from the streams of tensors' data. */
#define RNG_DRAW 0x686f6e65u

struct rng rng_seeded(uint64_t seed, uint32_t stream)
{
    return (struct rng){.seed = seed, .stream = stream};
}

uint64_t rng_u64(struct rng *r)
{
    if (r->has_spare) {
        r->has_spare = 0;
        return r->spare;
    }
    struct gen_block b = gen_words(r->seed, r->stream, RNG_DRAW, r->block++);
    r->spare = (uint64_t)b.w[2] << 32 | b.w[3];
    r->has_spare = 1;
    return (uint64_t)b.w[0] << 32 | b.w[1];
}

uint64_t rng_below(struct rng *r, uint64_t n)
{
    /* We multiply a random word by n and return the upper word of the product. If the lower word is
     * below 2^64 mod n, we draw again, so that all results are equally likely. */
    uint64_t limit = -n % n;
    for (;;) {
        unsigned __int128 p = (unsigned __int128)rng_u64(r) * n;
        if ((uint64_t)p >= limit)
            return (uint64_t)(p >> 64);
    }
}

int64_t rng_range(struct rng *r, int64_t lo, int64_t hi)
{
    uint64_t span = (uint64_t)hi - (uint64_t)lo + 1;
    return (int64_t)((uint64_t)lo + (span ? rng_below(r, span) : rng_u64(r)));
}

double rng_unit(struct rng *r)
{
    return (double)(rng_u64(r) >> 11) * 0x1p-53;
}
