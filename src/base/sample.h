/*
 * sample.h - which units of an oracle's last phase are computed when not all are.
 *
 * The first and the last units (edges are where kernels go wrong) and ranges drawn at random
 * between them. The CPU's and the device's truth use the same ranges.
 */
#ifndef BASE_SAMPLE_H
#define BASE_SAMPLE_H

#include <stdint.h>

#define SAMPLE_MAX_RANGES 64

struct sample_range {
    uint64_t first, count;
};

/* Fills out[] with at most SAMPLE_MAX_RANGES ranges, together at most max units (0 = all); returns
 * how many. */
uint32_t sample_units(uint64_t units, uint64_t max, uint64_t seed,
                      struct sample_range out[SAMPLE_MAX_RANGES]);

#endif
