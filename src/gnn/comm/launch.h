/*
 * launch.h - runs a function in several processes of this machine, one for each rank.
 *
 *     static int train(void *ctx, struct comm *c, struct err *err);
 *     if (comm_open_shared(&c, 4, reals, err) < 0 || launch_ranks(c, train, &args, err) < 0) ...
 *
 * The launcher is the process that calls launch_ranks(). The ranks are forks of the launcher, so
 * data that it has opened is in memory only once. The launcher must have a single thread when it
 * forks. If a rank fails or dies, the launcher kills the others, because they may wait for that
 * rank for ever. If the launcher dies, the ranks die too.
 */
#ifndef GNN_COMM_LAUNCH_H
#define GNN_COMM_LAUNCH_H

#include "gnn/comm/comm.h"

typedef int (*rank_fn)(void *ctx, struct comm *c, struct err *err);

/* Fails if fn failed in any rank. The error says which rank failed, and why. */
int launch_ranks(struct comm *c, rank_fn fn, void *ctx, struct err *err);

#endif
