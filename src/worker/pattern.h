/*
 * pattern.h - describes a mismatch in words: where the bad elements are, and what they hold.
 *
 *     "rows 64..76, the last 13 of 77; they are all zero"
 *     "every 4th column, starting at column 1"
 *     "the values are those of the transposed matrix"
 *
 * An author who has to find the bug reads this text. It is "" if the bad elements show no
 * structure.
 */
#ifndef WORKER_PATTERN_H
#define WORKER_PATTERN_H

#include "base/arena.h"
#include "worker/compare_input.h"

struct pattern_input {
    const struct compare_input *in;
    const uint8_t *bad; /* one byte per element; not 0 = wrong or unwritten */
    uint64_t nbad, nunwritten, ncompared;
};

const char *pattern_words(const struct pattern_input *p, struct arena *a);

#endif
