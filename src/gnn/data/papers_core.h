/*
 * papers_core.h - a random graph of communities. The array of neighbours holds the neighbours of
 * node 0, then those of node 1, and so on. A formula gives each element of this array. So CPU and
 * GPU make the same graph without sorting edges.
 *
 * A community has `members` nodes. They are far apart in memory:
 *
 *     node number of member i of community g = g + i * communities
 *
 * Member i has the same degree in every community: prefix[i + 1] - prefix[i], at
 * least 1.
 *
 * An edge has two ends. A node has as many ends as its degree. A permutation mixes the ends of each
 * community. The first `local` of them, an even number, make edges within the community. A second
 * permutation mixes the other ends of all communities. After each permutation, the ends at places 0
 * and 1 make an edge, those at places 2 and 3 make the next edge, and so on. If one end is left
 * over, it makes a self loop.
 *
 * Kernels in kernels/gnn/ compute the same. The code is in the common subset of C17 and C++17.
 */
#ifndef GNN_DATA_PAPERS_CORE_H
#define GNN_DATA_PAPERS_CORE_H

#include "base/number_core.h"

#define PAPERS_ROUNDS 6

/* A community has `ends` ends, and `local` of them make edges within it. communities * ends must be
 * below 2^32. */
struct papers_shape {
    uint32_t communities, members, ends, local;
    uint32_t seed;
};

/* Returns the place to which a permutation of the numbers 0 to 2^bits - 1 moves i. With `inverse`,
 * returns the number that the permutation moves to place i. The permutation is a Feistel network,
 * and `key` selects it. */
GEN_FN uint32_t papers_network(uint32_t key, uint32_t bits, uint32_t i, int inverse)
{
    uint32_t low_bits = bits / 2, low_mask = (1u << low_bits) - 1,
             high_mask = (1u << (bits - low_bits)) - 1;
    uint32_t low = i & low_mask, high = i >> low_bits;
    for (uint32_t n = 0; n < PAPERS_ROUNDS; n++) {
        uint32_t r = inverse ? PAPERS_ROUNDS - 1 - n : n;
        uint32_t word = gen_mix32(key + (r << 20) + (r % 2 ? high : low));
        if (r % 2)
            low ^= word & low_mask;
        else
            high ^= word & high_mask;
    }
    return high << low_bits | low;
}

/* Does the same for a permutation of 0..n-1. */
GEN_FN uint32_t papers_permute(uint32_t key, uint32_t n, uint32_t i, int inverse)
{
    uint32_t bits = 2;
    while (bits < 32 && (n - 1) >> bits)
        bits++;
    do
        i = papers_network(key, bits, i, inverse);
    while (i >= n);
    return i;
}

/* Returns the key of a community's permutation, or with PAPERS_ALL the second permutation's key. */
GEN_FN uint32_t papers_key(const struct papers_shape *p, uint32_t community)
{
    return gen_mix32(gen_mix32(p->seed ^ 0x70617065u) + community);
}
#define PAPERS_ALL 0xffffffffu

/* Returns the member that has end number `end` of a community: prefix[member] <= end <
 * prefix[member + 1]. */
GEN_FN uint32_t papers_member(const struct papers_shape *p, const int32_t *prefix, uint32_t end)
{
    uint32_t low = 0, high = p->members;
    while (high - low > 1) {
        uint32_t middle = (low + high) / 2;
        if ((uint32_t)prefix[middle] <= end)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* Returns element e of the array of neighbours. */
GEN_FN int32_t papers_neighbour(const struct papers_shape *p, const int32_t *prefix, uint32_t e)
{
    uint32_t i = papers_member(p, prefix, e / p->communities), first = (uint32_t)prefix[i];
    uint32_t degree = (uint32_t)prefix[i + 1] - first, rest = e - p->communities * first;
    uint32_t g = rest / degree;
    uint32_t place = papers_permute(papers_key(p, g), p->ends, first + rest % degree, 0);
    if (place < p->local) {
        place ^= 1;
    } else {
        uint32_t others = p->ends - p->local, all = p->communities * others,
                 key = papers_key(p, PAPERS_ALL);
        uint32_t at = g * others + (place - p->local);
        uint32_t partner = papers_permute(key, all, at, 0) ^ 1;
        if (partner < all)
            at = papers_permute(key, all, partner, 1);
        g = at / others;
        place = p->local + at % others;
    }
    return (int32_t)(papers_member(p, prefix, papers_permute(papers_key(p, g), p->ends, place, 1)) *
                         p->communities +
                     g);
}

/* Returns where the neighbours of node v begin in the array of neighbours. If v is the number of
 * nodes, returns the length of the array. */
GEN_FN int64_t papers_offset(const struct papers_shape *p, const int32_t *prefix, uint32_t v)
{
    uint32_t i = v / p->communities, g = v % p->communities;
    if (i == p->members)
        return (int64_t)p->communities * prefix[i];
    return (int64_t)p->communities * prefix[i] + (int64_t)g * (prefix[i + 1] - prefix[i]);
}

/* Returns the class of node v. Three nodes in four have the class of their community, the others a
 * random class. */
GEN_FN int32_t papers_label(const struct papers_shape *p, uint32_t classes, uint32_t v)
{
    uint32_t key = papers_key(p, PAPERS_ALL), own = gen_mix32(key ^ gen_mix32(v));
    uint32_t from = own % 4 ? gen_mix32(key + v % p->communities) : own;
    return (int32_t)((from >> 8) % classes);
}

GEN_FN float papers_mean(const struct papers_shape *p, uint32_t label, uint32_t d)
{
    return gen_mix32(papers_key(p, PAPERS_ALL) ^ (label << 16 | d)) & 1 ? 0.0625f : -0.0625f;
}

/* Returns the noise of value d of node v: a multiple of 1/128 between -2 and 2. So float16 holds
 * the sum of mean and noise exactly. */
GEN_FN float papers_noise(const struct papers_shape *p, uint32_t v, uint32_t d)
{
    struct gen_block b = gen_philox(v, d / 8, 0, 0x66656174u, papers_key(p, PAPERS_ALL), p->seed);
    uint32_t half = b.w[d % 8 / 2] >> (d % 2 * 16);
    return (float)((int32_t)(half & 255) - (int32_t)(half >> 8 & 255)) / 128;
}

#endif
