/*
 * sample.h - which units of an oracle's last phase are computed when not all are.
 *
 * Many short runs, one in each stretch of the whole at a place drawn at random: a kernel that skips
 * a hundredth of the rows is seen. The first and the last units are among them (edges are where
 * kernels go wrong), and no unit twice. The CPU's and the device's truth use the same.
 */
#ifndef BASE_SAMPLE_H
#define BASE_SAMPLE_H

#include <stdbool.h>
#include <stdint.h>

#define SAMPLE_MAX_RUNS 1024

struct sample {
    uint64_t run; /* units of each */
    uint32_t n;
    uint64_t start[SAMPLE_MAX_RUNS];
};

/* Whether some of the units are left out. */
static inline bool sample_is_partial(uint64_t units, uint64_t max)
{
    return max && units > max;
}

/* At most max units in all; 0 = all there are. */
void sample_units(uint64_t units, uint64_t max, uint64_t seed, struct sample *out);

#endif
