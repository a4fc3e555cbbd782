/*
 * launch.h - runs a function in several processes of this machine, one for each rank.
 *
 *     static int train(void *ctx, struct comm *c, struct err *err);
 *     if (comm_open_shared(&c, 4, reals, err) < 0 || launch_ranks(c, train, &args, err) < 0) ...
 *
 * The ranks are forks of this process, so data that it has opened is in memory only once. This
 * process must have no other threads when it forks. If a rank fails or dies, the launcher kills the
 * other ranks immediately, so that none of them waits for a rank that never comes. If the launcher
 * dies, the ranks die too.
 */
#ifndef GNN_COMM_LAUNCH_H
#define GNN_COMM_LAUNCH_H

#include "gnn/comm/comm.h"

typedef int (*rank_fn)(void *ctx, struct comm *c, struct err *err);

/* Returns 0 if fn returned 0 in every rank. Else the error says which rank failed, and why. */
int launch_ranks(struct comm *c, rank_fn fn, void *ctx, struct err *err);

#endif
