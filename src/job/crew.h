/*
 * crew.h - runs pieces of work on several threads: the units of an oracle's phase.
 *
 *     static void fill(void *ctx, uint64_t step, uint64_t first, uint64_t count);
 *
 *     struct crew_work w = {.run = fill, .ctx = &data, .units = n, .repeat = 1};
 *     crew_run(&w, nthreads);
 *
 * A thread takes a block of adjacent units, runs it, and comes back for more. The units run
 * `repeat` times; each time is a step, which begins after all units of the step before. The threads
 * start only once.
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
    uint64_t grain;         /* the fewest units in a block; 0 means 1 */
};

/* Returns when all steps are done. The caller is one of the at most `nthreads` threads. */
void crew_run(const struct crew_work *work, unsigned nthreads);

#endif
