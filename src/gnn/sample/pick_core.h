/*
 * pick_core.h - decides at random which neighbours of a node a hop takes. The code is both C17 and
 * C++17, so that a GPU computes the same picks bit for bit.
 *
 * A node has one slot for every neighbour that the hop takes. Philox makes every random word from
 * (seed, epoch, batch, hop, node, slot, attempt). So picks do not depend on threads, ranks or the
 * device.
 *
 * A random number below n is the high half of word * n (Lemire). If the low half is too small, the
 * slot tries its next word, so that all numbers are equally likely.
 */
#ifndef GNN_SAMPLE_PICK_CORE_H
#define GNN_SAMPLE_PICK_CORE_H

#include "base/number_core.h"

struct pick_key {
    uint64_t seed;
    uint32_t epoch, batch, hop; /* hop < 16 */
};

#define PICK_MAX_FANOUT 1024
/* To draw a number below n, half a random word is enough if n is at most this. */
#define PICK_SMALL 512

GEN_FN struct gen_block pick_words(const struct pick_key *k, uint32_t node, uint32_t block,
                                   uint32_t attempt)
{
    return gen_philox(node, k->batch, k->epoch, attempt << 16 | block << 4 | k->hop,
                      (uint32_t)k->seed, (uint32_t)(k->seed >> 32));
}

/* Draws again, after pick_numbers() rejected the first word. */
GEN_FN uint32_t pick_again(const struct pick_key *k, uint32_t node, uint32_t slot, uint32_t n)
{
    for (uint32_t attempt = 1;; attempt++) {
        struct gen_block b = pick_words(k, node, slot / 4, attempt);
        uint64_t product = (uint64_t)b.w[slot % 4] * n;
        if ((uint32_t)product >= n || (uint32_t)product >= (0u - n) % n)
            return (uint32_t)(product >> 32);
    }
}

/* Draws `count` numbers; number i is below first + i * step. `at` has room for PICK_ROOM(count).
 * With limits up to PICK_SMALL, a block of four words gives eight numbers, of which fewer than 1%
 * are rejected. */
GEN_FN void pick_numbers(const struct pick_key *k, uint32_t node, uint32_t first, uint32_t step,
                         uint32_t count, uint32_t *at)
{
    if (first + (count - 1) * step <= PICK_SMALL) {
        for (uint32_t i = 0; i < count; i += 8) {
            struct gen_block b = pick_words(k, node, i / 8, 0);
            uint32_t unsure = 0;
#pragma GCC unroll 8
            for (uint32_t j = 0; j < 8; j++) {
                uint32_t n = first + (i + j) * step;
                uint32_t product = (b.w[j / 2] >> 16 * (j % 2) & 0xffffu) * n;
                at[i + j] = product >> 16;
                unsure |= (uint32_t)((product & 0xffffu) < n) << j;
            }
            for (uint32_t j = 0; unsure && j < 8; j++) {
                uint32_t n = first + (i + j) * step;
                uint32_t product = (b.w[j / 2] >> 16 * (j % 2) & 0xffffu) * n;
                if ((product & 0xffffu) < 65536u % n)
                    at[i + j] = pick_again(k, node, i + j, n);
            }
        }
        return;
    }
    for (uint32_t i = 0; i < count; i += 4) {
        struct gen_block b = pick_words(k, node, i / 4, 0);
#pragma GCC unroll 4
        for (uint32_t j = 0; j < 4; j++) {
            uint32_t n = first + (i + j) * step;
            uint64_t product = (uint64_t)b.w[j] * n;
            at[i + j] = (uint32_t)(product >> 32);
            if ((uint32_t)product < n && (uint32_t)product < (0u - n) % n)
                at[i + j] = pick_again(k, node, i + j, n);
        }
    }
}

/* A multiple of eight, because pick_numbers() writes four or eight numbers at a time. */
#define PICK_ROOM(fanout) (((fanout) + 7) / 8 * 8)

/*
 * Floyd's algorithm: a uniform set of `fanout` positions below `degree` (fanout < degree). Slot i
 * draws one of the positions 0 .. degree - fanout + i. If that position is taken, the slot takes
 * degree - fanout + i, which no earlier slot could draw. `at` has room for PICK_ROOM(fanout).
 *
 * A bit marks a taken position. Above degree 64, positions share 512 bits. So if the bit of a
 * position is 1, we compare the position with all earlier ones.
 */
GEN_FN void pick_distinct(const struct pick_key *k, uint32_t node, uint32_t degree, uint32_t fanout,
                          uint32_t *at)
{
    uint32_t base = degree - fanout;
    pick_numbers(k, node, base + 1, 1, fanout, at);
    if (degree <= 64) {
        uint64_t taken = 0;
        for (uint32_t i = 0; i < fanout; i++) {
            at[i] = taken >> at[i] & 1 ? base + i : at[i];
            taken |= (uint64_t)1 << at[i];
        }
        return;
    }
    uint64_t shared[8] = {0, 0, 0, 0, 0, 0, 0, 0};
    for (uint32_t i = 0; i < fanout; i++) {
        uint32_t p = at[i];
        if (shared[p >> 6 & 7] >> (p & 63) & 1) {
            uint32_t hit = 0;
            for (uint32_t j = 0; j < i; j++)
                hit |= at[j] == p;
            p = at[i] = hit ? base + i : p;
        }
        shared[p >> 6 & 7] |= (uint64_t)1 << (p & 63);
    }
}

/* Draws `fanout` independent positions below `degree`. `at` has room for PICK_ROOM(fanout). */
GEN_FN void pick_repeated(const struct pick_key *k, uint32_t node, uint32_t degree, uint32_t fanout,
                          uint32_t *at)
{
    pick_numbers(k, node, degree, 0, fanout, at);
}

/* Returns the random number of a neighbour. LABOR-0 takes the neighbours with the smallest numbers.
 * A neighbour has the same number for all nodes of a hop. */
GEN_FN uint32_t pick_variate(const struct pick_key *k, uint32_t neighbour)
{
    return pick_words(k, neighbour, 0, 0xffffu).w[0];
}

#endif
