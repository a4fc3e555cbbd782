/*
 * shuffle_core.h - a random permutation of 0..n-1 without an array. Any thread, rank or GPU can
 * compute one position of an epoch's shuffle by itself.
 *
 * A Feistel network over the bits of i, with Philox as its round function, permutes 0..2^bits-1. A
 * value outside 0..n-1 goes through the network again (cycle walking). For n >= 2 a value takes at
 * most two passes on average. The code is C17 and C++17.
 */
#ifndef GNN_SAMPLE_SHUFFLE_CORE_H
#define GNN_SAMPLE_SHUFFLE_CORE_H

#include "base/number_core.h"

#define SHUFFLE_ROUNDS 8
/* The shuffle has this in the low four bits of the counter's last word. In pick_core.h these bits
 * hold the hop, which is below GNN_MAX_HOPS. So the two files never use the same random words. */
#define SHUFFLE_STREAM 0x0fu

GEN_FN uint32_t shuffle_bits(uint32_t n) /* bits that hold 0..n-1, at least 2 */
{
    uint32_t bits = 2;
    while (bits < 32 && (n - 1) >> bits)
        bits++;
    return bits;
}

GEN_FN uint32_t shuffle_network(uint64_t seed, uint32_t epoch, uint32_t bits, uint32_t i)
{
    uint32_t low_bits = bits / 2, low_mask = (1u << low_bits) - 1,
             high_mask = (1u << (bits - low_bits)) - 1;
    uint32_t low = i & low_mask, high = i >> low_bits;
    for (uint32_t r = 0; r < SHUFFLE_ROUNDS; r++) {
        struct gen_block b = gen_philox(r % 2 ? high : low, r, epoch, 0xffffff00u | SHUFFLE_STREAM,
                                        (uint32_t)seed, (uint32_t)(seed >> 32));
        if (r % 2)
            low ^= b.w[0] & low_mask;
        else
            high ^= b.w[0] & high_mask;
    }
    return high << low_bits | low;
}

/* Returns which element of the list comes to position i of the shuffled list (i < n). */
GEN_FN uint32_t shuffle_at(uint64_t seed, uint32_t epoch, uint32_t n, uint32_t i)
{
    uint32_t bits = shuffle_bits(n);
    do
        i = shuffle_network(seed, epoch, bits, i);
    while (i >= n);
    return i;
}

#endif
