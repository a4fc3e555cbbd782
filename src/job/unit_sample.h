/*
 * unit_sample.h - chooses which units of an oracle's last phase to compute, if not all of them.
 *
 * A unit is often one output element (task/hone_ref.h). The units lie in rows and columns, as the
 * elements of the largest output do. The sample consists of short runs of adjacent units of a row:
 *
 * - If there are at least as many runs as rows, each row gets the same number of runs. Otherwise
 *   we cut the rows into bands with one run each, in a random row. The first and the last row
 *   always have a run, because kernels often go wrong at the edges.
 * - We cut the columns into blocks, and each run lies in a block, at a random place. The runs go
 *   through the blocks in random order, round after round.
 * - If there is only one column, we cut it into stretches, with one run down the column in each.
 *
 * No kernel can know the sample, because its seed comes from the job.
 */
#ifndef JOB_UNIT_SAMPLE_H
#define JOB_UNIT_SAMPLE_H

#include <stdbool.h>
#include <stdint.h>

#include "job/job.h"

#define UNIT_SAMPLE_MAX_RUNS 8192
#define UNIT_SAMPLE_RUN 8   /* units in a run, if the rows are that long */
#define UNIT_SAMPLE_TILE 64 /* the side of the tiles of unit_sample_finds(), in units */

struct unit_sample {
    uint64_t run; /* units in each run */
    uint32_t n;
    uint64_t start[UNIT_SAMPLE_MAX_RUNS];
};

/* Draws at most `max` units, or all if max is 0. */
void unit_sample_draw(uint64_t rows, uint64_t columns, uint64_t max, uint64_t seed,
                      struct unit_sample *out);

/* Draws at most c->max_units units of the last phase, and all units of another phase. Also draws
 * all units of a repeated phase, because a unit may need any unit of the step before. */
void unit_sample_of_phase(const struct job_case *c, uint32_t phase, uint64_t seed,
                          struct unit_sample *out);
bool unit_sample_is_partial(const struct job_case *c);

/* Considers three errors of a kernel. The first spoils `share` of the rows, the second `share` of
 * the blocks of UNIT_SAMPLE_TILE columns, the third `share` of the square tiles. For each error
 * there is a probability that the sample finds it. Returns the least of the three. */
double unit_sample_finds(const struct job_case *c, uint64_t seed, double share);

/* There are `all` things, and `bad` of them are bad. We draw `seen` of all the things at random.
 * Returns the probability that a bad one is among those drawn. */
double unit_sample_hits(uint64_t all, uint64_t seen, double bad);

#endif
