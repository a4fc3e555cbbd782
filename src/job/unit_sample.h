/*
 * unit_sample.h - chooses which units of an oracle's last phase to compute, if not all of them.
 *
 * The sample consists of many short runs of adjacent units. We cut the phase into stretches and put
 * one run at a random place in each. So the sample shows a kernel that skips a hundredth of the
 * rows. The sample holds the first and the last units, because kernels often go wrong at the edges.
 * It holds no unit twice. The truth on the CPU and the truth on the device use the same sample.
 */
#ifndef JOB_UNIT_SAMPLE_H
#define JOB_UNIT_SAMPLE_H

#include <stdbool.h>
#include <stdint.h>

#include "job/job.h"

#define UNIT_SAMPLE_MAX_RUNS 1024

struct unit_sample {
    uint64_t run; /* units in each run */
    uint32_t n;
    uint64_t start[UNIT_SAMPLE_MAX_RUNS];
};

/* Draws at most max units in all; max 0 = all units. */
void unit_sample_draw(uint64_t units, uint64_t max, uint64_t seed, struct unit_sample *out);

/* Returns the units to compute in a phase of a case: all of them, but in the last phase at most the
 * case's max_units. */
void unit_sample_of_phase(const struct job_case *c, uint32_t phase, uint64_t seed,
                          struct unit_sample *out);
/* Whether the case leaves out some units. */
bool unit_sample_is_partial(const struct job_case *c);

#endif
