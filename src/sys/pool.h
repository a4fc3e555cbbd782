/*
 * pool.h - forks several processes that share numbered pieces of work.
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
 * Children die with the process that started them. After a signal (interrupt.h), pool_run() sends
 * SIGINT to them.
 */
#ifndef SYS_POOL_H
#define SYS_POOL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

enum { POOL_MAX_JOBS = 256 };

struct pool_turn; /* a child's view of the pool */

struct pool {
    /* 0 = one process for each processor, at most POOL_MAX_JOBS. Never more than pieces. */
    uint32_t jobs;
    uint32_t pieces;
    /* Runs in each child. Returns its exit status. */
    int (*work)(struct pool_turn *turn, void *ctx);
    /* Called in the parent after a child has called pool_done(). May be NULL. */
    void (*on_done)(uint32_t piece, void *ctx);
    void *ctx;
};

/* Waits until all children have ended. Returns -1 if one could not start, failed, or was killed. */
int pool_run(const struct pool *p, struct err *err);

/* Takes the next piece. Returns false if no piece is left, or after a signal. */
bool pool_next(struct pool_turn *turn, uint32_t *piece);
void pool_done(struct pool_turn *turn, uint32_t piece);

#endif
