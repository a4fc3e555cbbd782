/*
 * unit_sample.h - chooses which units of an oracle's last phase to compute, if not all of them.
 *
 * A unit is a part of the phase that can be computed alone, often one output element
 * (task/hone_ref.h). The units lie in rows and columns, as the elements of the largest output do.
 * The sample consists of short runs of adjacent units of a row:
 *
 * - If there are at least as many runs as rows, every row has the same number of runs. Otherwise we
 *   cut the rows into as many bands as there are runs. Each band has one run, in a random row. But
 *   the first run is in the first row, and the last run is in the last row.
 * - The columns are cut into blocks. The runs in neighbouring rows lie in different blocks. The
 *   rows take the blocks in random order, and no block twice until every block had its turn. So
 *   every block of columns has a run too, if there are enough runs.
 * - The place of a run in its block is random.
 * - If there is only one column, we cut the units into as many stretches as there are runs. Each
 *   stretch has a run at a random place.
 *
 * So if every row has a run, we certainly notice that a kernel leaves out or spoils a row. If every
 * block of columns has a run, we also certainly notice that a kernel spoils a whole block of
 * columns. The sample holds the first and the last units, because kernels often go wrong at the
 * edges. The sample holds no unit twice. The oracle computes the same sample on the CPU as on the
 * device. No kernel can know the sample, because its seed comes from the job.
 */
#ifndef JOB_UNIT_SAMPLE_H
#define JOB_UNIT_SAMPLE_H

#include <stdbool.h>
#include <stdint.h>

#include "job/job.h"

#define UNIT_SAMPLE_MAX_RUNS 8192
#define UNIT_SAMPLE_RUN 8   /* units in a run, if the rows are that long */
#define UNIT_SAMPLE_TILE 64 /* the side of the tiles of unit_sample_finds() */

struct unit_sample {
    uint64_t run;                         /* units in each run */
    uint32_t n;                           /* the number of runs */
    uint64_t start[UNIT_SAMPLE_MAX_RUNS]; /* the first unit of each run */
};

/* Draws at most `max` of the rows * columns units. If max is 0, takes all units. */
void unit_sample_draw(uint64_t rows, uint64_t columns, uint64_t max, uint64_t seed,
                      struct unit_sample *out);

/* Sets *out to the units to compute in a phase of a case. In the last phase these are at most the
 * case's max_units, in the other phases all units. A repeated phase always runs all units, because
 * a unit may need any unit of the step before. */
void unit_sample_of_phase(const struct job_case *c, uint32_t phase, uint64_t seed,
                          struct unit_sample *out);
/* Whether the case leaves out some units. */
bool unit_sample_is_partial(const struct job_case *c);

/* Finds in how many rows and columns the units of the last phase lie. */
void unit_sample_shape(const struct job_case *c, uint64_t *rows, uint64_t *columns);
/* Returns the probability that the sample of this seed finds an error of one of three kinds. The
 * error spoils `share` of the rows, or of the blocks of UNIT_SAMPLE_TILE columns, or of the square
 * tiles. The result is the least of the three probabilities. It is 1 if the case leaves out no
 * units. */
double unit_sample_finds(const struct job_case *c, uint64_t seed, double share);

/* Returns the probability that at least one of `bad` things is among `seen` things that are drawn
 * at random from `all` things. */
double unit_sample_hits(uint64_t all, uint64_t seen, double bad);

#endif
