/*
 * pool.h - forks several processes that share some work. The work consists of numbered pieces.
 *
 *     static int work(struct pool_turn *turn, void *ctx)     in a child process
 *     {
 *         open what all pieces need
 *         for (uint32_t i; pool_next(turn, &i);)
 *             do piece i, then pool_done(turn, i)
 *         return 0;
 *     }
 *     pool_run(&(struct pool){.jobs = 4, .pieces = 100, .work = work, .ctx = ctx}, err);
 *
 * A child takes the next piece whenever it is free. Children die with the process that started
 * them. If a signal asks Hone to end (interrupt.h), pool_run() sends SIGINT to the children.
 */
#ifndef SYS_POOL_H
#define SYS_POOL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

enum { POOL_MAX_JOBS = 256 };

struct pool_turn; /* a child's view of the pool */

struct pool {
    /* The number of processes; 0 = one for each processor, at most POOL_MAX_JOBS. The pool starts
     * at most one process for each piece. */
    uint32_t jobs;
    uint32_t pieces;
    /* Runs in each child. Returns the exit status of the child. */
    int (*work)(struct pool_turn *turn, void *ctx);
    /* Called in the process that called pool_run(), after a child has called pool_done(). May be
     * NULL. */
    void (*on_done)(uint32_t piece, void *ctx);
    void *ctx;
};

/* Waits until all children have ended. Returns 0, or -1 if a child could not start, failed, or was
 * killed. */
int pool_run(const struct pool *p, struct err *err);

/* Takes the next piece. Returns false if none is left, or after a signal. */
bool pool_next(struct pool_turn *turn, uint32_t *piece);
void pool_done(struct pool_turn *turn, uint32_t piece);

#endif
