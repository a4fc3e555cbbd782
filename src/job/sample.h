/*
 * sample.h - which units of an oracle's last phase are computed when not all are.
 *
 * Many short runs, one in each stretch of the whole at a place drawn at random: a kernel that skips
 * a hundredth of the rows is seen. The first and the last units are among them (edges are where
 * kernels go wrong), and no unit twice. The CPU's and the device's truth use the same.
 */
#ifndef JOB_SAMPLE_H
#define JOB_SAMPLE_H

#include <stdbool.h>
#include <stdint.h>

#include "job/job.h"

#define SAMPLE_MAX_RUNS 1024

struct sample {
    uint64_t run; /* units of each */
    uint32_t n;
    uint64_t start[SAMPLE_MAX_RUNS];
};

/* At most max units in all; 0 = all there are. */
void sample_units(uint64_t units, uint64_t max, uint64_t seed, struct sample *out);

/* Of a phase of a case: all units, but of the last phase at most the case's max_units. */
void sample_phase(const struct job_case *c, uint32_t phase, uint64_t seed, struct sample *out);
/* Whether that leaves some out. */
bool sample_is_partial(const struct job_case *c);

#endif
