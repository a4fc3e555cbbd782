/*
 * comm.h - sums and averages numbers over the processes (ranks) that train one model.
 *
 *     struct comm *c;
 *     if (comm_open_shared(&c, ranks, n, err) < 0) ...        before the ranks are forked
 *     comm_set_rank(c, rank);                                 in each rank
 *     or:  if (comm_join(&c, err) < 0) ...                    under mpirun or srun
 *     double sums[2] = {rows, loss};
 *     if (comm_reduce(c, sums, 2, gradient, n, err) < 0) ...
 *     comm_close(c);
 *
 * comm_reduce is collective: all ranks call it the same number of times, with the same sizes. Every
 * rank gets the same bits. For each element, comm_reduce adds the ranks' values in double, in the
 * order of the ranks. So shared memory, MPI and TCP give the same bits.
 */
#ifndef GNN_COMM_COMM_H
#define GNN_COMM_COMM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

enum { COMM_MAX_RANKS = 1024, COMM_MAX_SUMS = 8 }; /* most ranks; most `sums` in a call */

/* The message of a rank that stops because another rank stopped. */
#define COMM_STOPPED "another rank stopped"

struct comm;

/* Connects ranks on one machine through memory that they share. `reals` is the largest n that
 * comm_reduce will get. */
int comm_open_shared(struct comm **out, int ranks, int64_t reals, struct err *err);
void comm_set_rank(struct comm *c, int rank);

/* True if mpirun, or srun with an MPI plugin, started this process as one of several ranks. */
bool comm_mpi_wanted(void);
/* Loads libmpi (Open MPI or MPICH) and joins the other ranks. */
int comm_open_mpi(struct comm **out, struct err *err);

/* True if srun started this process as one of several ranks. */
bool comm_slurm_wanted(void);
/* Joins the other ranks through TCP. The ranks must share the working directory. */
int comm_open_slurm(struct comm **out, struct err *err);

/* True if another program started this process as one of several ranks. */
bool comm_wanted(void);
/* Joins the other ranks, through MPI or through TCP. join.c says when it uses which. */
int comm_join(struct comm **out, struct err *err);

/* If c is NULL, there is one rank, number 0. */
int comm_rank(const struct comm *c);
int comm_ranks(const struct comm *c);
/* Returns the number of this rank among the ranks on its machine. */
int comm_local_rank(const struct comm *c);

/* Replaces sums[0..count) by their sums over the ranks, and x[0..n) by the weighted mean over the
 * ranks. The weight of a rank is the sums[0] that it gave. If all weights are 0, x becomes 0. If c
 * is NULL, nothing changes. */
int comm_reduce(struct comm *c, double *sums, int count, float *x, int64_t n, struct err *err);

/* Gives every rank the bytes of rank 0. Collective, like comm_reduce. */
int comm_broadcast(struct comm *c, void *p, size_t bytes, struct err *err);

/* NULL is allowed. */
void comm_close(struct comm *c);

#endif
