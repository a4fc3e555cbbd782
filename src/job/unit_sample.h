/*
 * unit_sample.h - chooses which units of an oracle's last phase to compute, if not all of them.
 *
 * The units of the last phase lie in rows and columns, as the elements of the largest output do.
 * The sample consists of short runs of adjacent units of a row:
 *
 * - Every row has the same number of runs, at least one. If there are more rows than runs, the rows
 *   are cut into as many bands as there are runs, and each band has one run, in a random row.
 * - The columns are cut into blocks. Runs of consecutive rows lie in different blocks, in random
 *   order, until every block had its turn. So every block of columns has a run too.
 * - The place of a run in its block is random.
 *
 * So a kernel that leaves out or spoils rows is found out for certain if every row has a run, and
 * so is one that spoils whole blocks of columns. The sample holds the first and the last units,
 * because kernels often go wrong at the edges. It holds no unit twice. The truth on the CPU and the
 * truth on the device use the same sample. No kernel can know it: the seed is the job's.
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
    uint64_t run; /* units in each run */
    uint32_t n;
    uint64_t start[UNIT_SAMPLE_MAX_RUNS];
};

/* Draws at most max units of rows * columns in all; max 0 = all units. */
void unit_sample_draw(uint64_t rows, uint64_t columns, uint64_t max, uint64_t seed,
                      struct unit_sample *out);

/* Returns the units to compute in a phase of a case: all of them, but in the last phase at most the
 * case's max_units. */
void unit_sample_of_phase(const struct job_case *c, uint32_t phase, uint64_t seed,
                          struct unit_sample *out);
/* Whether the case leaves out some units. */
bool unit_sample_is_partial(const struct job_case *c);

/* Rows and columns of the units of the last phase. */
void unit_sample_shape(const struct job_case *c, uint64_t *rows, uint64_t *columns);
/* The probability that the sample of this seed finds an error in `share` of the rows, of the blocks
 * of UNIT_SAMPLE_TILE columns, or of the square tiles, wherever they lie: the least of the three.
 * 1 if the case leaves out nothing. */
double unit_sample_finds(const struct job_case *c, uint64_t seed, double share);

/* The probability that at least one of `bad` things is among `seen` of `all`, drawn at random. */
double unit_sample_hits(uint64_t all, uint64_t seen, double bad);

#endif
