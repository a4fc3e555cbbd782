/*
 * pick_core.h - which neighbours of a node a hop takes: the randomness of the sampler, in the
 * common subset of C17 and C++17, so that a GPU computes the same picks bit for bit.
 *
 * Every random word is a function of (seed, epoch, batch, hop, node, slot, attempt): Philox of that
 * counter, with the seed as the key. Nothing is drawn from a shared stream, so picks depend neither
 * on the order in which nodes are sampled nor on threads, ranks or the device. A GPU gives each
 * node a thread, or each slot a lane.
 *
 * A number below n is the high half of word * n (Lemire). If the low half is below 2^32 mod n, the
 * word is rejected and the slot's next attempt counts, so that all numbers are exactly equally
 * likely. An attempt is part of the counter: a rejection in one slot does not move the others.
 */
#ifndef GNN_SAMPLE_PICK_CORE_H
#define GNN_SAMPLE_PICK_CORE_H

#include "base/number_core.h"

/* The randomness of one hop of one batch. */
struct pick_key {
    uint64_t seed;
    uint32_t epoch, batch, hop; /* hop below 16 */
};

#define PICK_MAX_FANOUT 1024
#define PICK_LANES 16 /* the duplicate test compares this many slots at a time */

/* Four words: slots 4 * block .. 4 * block + 3. */
GEN_FN struct gen_block pick_words(const struct pick_key *k, uint32_t node, uint32_t block,
                                   uint32_t attempt)
{
    return gen_philox(node, k->batch, k->epoch, attempt << 16 | block << 4 | k->hop,
                      (uint32_t)k->seed, (uint32_t)(k->seed >> 32));
}

/* The rest of pick_below, for the rare word that may have to be rejected. */
GEN_FN uint32_t pick_again(const struct pick_key *k, uint32_t node, uint32_t slot, uint32_t n,
                           uint64_t product)
{
    uint32_t limit = (0u - n) % n; /* 2^32 mod n */
    for (uint32_t attempt = 1; (uint32_t)product < limit; attempt++) {
        struct gen_block b = pick_words(k, node, slot / 4, attempt);
        product = (uint64_t)b.w[slot % 4] * n;
    }
    return (uint32_t)(product >> 32);
}

/* The number below n of a slot whose first word is `word`. */
GEN_FN uint32_t pick_below(const struct pick_key *k, uint32_t node, uint32_t slot, uint32_t word,
                           uint32_t n)
{
    uint64_t product = (uint64_t)word * n;
    return (uint32_t)product >= n ? (uint32_t)(product >> 32)
                                  : pick_again(k, node, slot, n, product);
}

/* Rounded up, so that whole blocks and whole lanes fit. */
#define PICK_ROOM(fanout) (((fanout) + PICK_LANES - 1) / PICK_LANES * PICK_LANES)

/*
 * Floyd's algorithm: a uniform set of `fanout` positions below `degree` (fanout < degree). Slot i
 * draws from the first degree - fanout + i + 1 positions; if it meets a position taken already, it
 * takes the last of them, which nobody can have taken. `at` has room for PICK_ROOM(fanout).
 */
GEN_FN void pick_distinct(const struct pick_key *k, uint32_t node, uint32_t degree, uint32_t fanout,
                          uint32_t *at)
{
    for (uint32_t i = 0; i < fanout; i += 4) {
        struct gen_block b = pick_words(k, node, i / 4, 0);
        for (uint32_t j = 0; j < 4; j++)
            at[i + j] = pick_below(k, node, i + j, b.w[j], degree - fanout + i + j + 1);
    }
    for (uint32_t i = 1; i < fanout; i++) {
        uint32_t hit = 0, full = i / PICK_LANES * PICK_LANES;
        for (uint32_t c = 0; c < full; c += PICK_LANES)
            for (uint32_t j = 0; j < PICK_LANES; j++)
                hit |= at[c + j] == at[i];
        for (uint32_t j = 0; j < PICK_LANES; j++)
            hit |= (uint32_t)(full + j < i) & (uint32_t)(at[full + j] == at[i]);
        at[i] = hit ? degree - fanout + i : at[i];
    }
}

/* `fanout` independent positions below `degree` (> 0). `at` has room for PICK_ROOM(fanout). */
GEN_FN void pick_repeated(const struct pick_key *k, uint32_t node, uint32_t degree, uint32_t fanout,
                          uint32_t *at)
{
    for (uint32_t i = 0; i < fanout; i += 4) {
        struct gen_block b = pick_words(k, node, i / 4, 0);
        for (uint32_t j = 0; j < 4; j++)
            at[i + j] = pick_below(k, node, i + j, b.w[j], degree);
    }
}

/* LABOR-0: the variate of a neighbour, the same for all nodes of the hop that have it. */
GEN_FN uint32_t pick_variate(const struct pick_key *k, uint32_t neighbour)
{
    return pick_words(k, neighbour, 0, 0xffffu).w[0];
}

#endif
