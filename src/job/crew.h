/*
 * crew.h - runs pieces of work on several threads. The oracles use it for the units of a phase.
 *
 *     static void fill(void *ctx, uint64_t step, uint64_t first, uint64_t count);
 *
 *     struct crew_work w = {.run = fill, .ctx = &data, .units = n, .repeat = 1};
 *     crew_run(&w, nthreads);
 *
 * A thread takes a block of adjacent units, runs it, and comes back for more. If `repeat` is more
 * than 1, the units run several times. Each time is a step. A step begins after all units of the
 * step before have run. The threads start once, not once for each step.
 */
#ifndef JOB_CREW_H
#define JOB_CREW_H

#include <stdint.h>

struct crew_work {
    /* Runs the units [first, first + count) of a step. Several threads call it at the same time,
     * but never for the same unit. */
    void (*run)(void *ctx, uint64_t step, uint64_t first, uint64_t count);
    void *ctx;
    uint64_t units, repeat; /* units * repeat must fit into 64 bits */
    uint64_t grain;         /* a block has at least this many units; 0 means 1 */
};

/* Runs all units of all steps on at most `nthreads` threads; the caller is one of them. */
void crew_run(const struct crew_work *work, unsigned nthreads);

#endif
