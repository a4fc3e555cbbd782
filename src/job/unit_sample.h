/*
 * unit_sample.h - chooses which units of an oracle's last phase to compute, if not all of them.
 *
 * A unit is a part of the phase that can be computed alone, often one output element
 * (task/hone_ref.h). The units lie in rows and columns, as the elements of the largest output do.
 * The sample consists of short runs of adjacent units of a row:
 *
 * - If there are at least as many runs as rows, each row gets the same number of runs. Otherwise we
 *   cut the rows into bands, and each band has one run, in a random row. The first and the last row
 *   always have a run, because kernels often go wrong at the edges.
 * - We cut the columns into blocks. Each run lies in a block, at a random place. The runs go
 *   through the blocks in random order, round after round.
 * - If there is only one column, we cut it into stretches, with one run down the column in each.
 *
 * So we certainly notice a spoilt row if every row has a run, and a spoilt block of columns if
 * every block has a run. No kernel can know the sample, because its seed comes from the job.
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
    uint64_t run;                         /* units in each run */
    uint32_t n;                           /* number of runs */
    uint64_t start[UNIT_SAMPLE_MAX_RUNS]; /* the first unit of each run */
};

/* Draws at most `max` of the rows * columns units. If max is 0, takes all units. */
void unit_sample_draw(uint64_t rows, uint64_t columns, uint64_t max, uint64_t seed,
                      struct unit_sample *out);

/* Sets *out to the units to compute: at most max_units in the last phase, all in other phases. A
 * repeated phase always runs all units, because a unit may need any unit of the previous
 * repetition. */
void unit_sample_of_phase(const struct job_case *c, uint32_t phase, uint64_t seed,
                          struct unit_sample *out);
/* Whether the case leaves out some units. */
bool unit_sample_is_partial(const struct job_case *c);

/* The rows and columns of the last phase's units. */
void unit_sample_shape(const struct job_case *c, uint64_t *rows, uint64_t *columns);
/* Considers three errors: one spoils `share` of the rows, one `share` of the blocks of
 * UNIT_SAMPLE_TILE columns, one `share` of the square tiles. Computes for each error the
 * probability that the sample finds it, and returns the least of the three. */
double unit_sample_finds(const struct job_case *c, uint64_t seed, double share);

/* There are `all` things, and `bad` of them are bad. Returns the probability that `seen` of them,
 * drawn at random, include a bad one. */
double unit_sample_hits(uint64_t all, uint64_t seen, double bad);

#endif
