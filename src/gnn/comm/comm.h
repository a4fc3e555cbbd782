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
 * All ranks must call comm_reduce equally often, with equal sizes. It adds in double, in the order
 * of the ranks. So all ranks get the same bits.
 */
#ifndef GNN_COMM_COMM_H
#define GNN_COMM_COMM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

enum { COMM_MAX_RANKS = 1024, COMM_MAX_SUMS = 8 };

#define COMM_STOPPED "another rank stopped"

struct comm;

/* Connects ranks on one machine. `reals` is the largest n for comm_reduce. */
int comm_open_shared(struct comm **out, int ranks, int64_t reals, struct err *err);
void comm_set_rank(struct comm *c, int rank);

/* True if mpirun, or srun with an MPI plugin, started several ranks. */
bool comm_mpi_wanted(void);
/* Connects through libmpi (Open MPI or MPICH), which is loaded at run time. */
int comm_open_mpi(struct comm **out, struct err *err);

/* True if srun started several ranks. */
bool comm_slurm_wanted(void);
/* Connects through TCP. All ranks must share the working directory. */
int comm_open_slurm(struct comm **out, struct err *err);

/* True if mpirun or srun started several ranks. */
bool comm_wanted(void);
/* Joins through MPI or TCP; join.c says when it uses which. */
int comm_join(struct comm **out, struct err *err);

/* c may be NULL: then there is one rank, number 0. */
int comm_rank(const struct comm *c);
int comm_ranks(const struct comm *c);
/* Returns the rank's number among the ranks on its machine, from 0. */
int comm_local_rank(const struct comm *c);

/* Replaces sums[0..count) by their sums over the ranks. Replaces x[0..n) by the mean over the
 * ranks, weighted with each rank's sums[0]. If all weights are 0, x becomes 0. If c is NULL,
 * nothing changes. */
int comm_reduce(struct comm *c, double *sums, int count, float *x, int64_t n, struct err *err);

/* Gives every rank the bytes of rank 0. All ranks must call it. */
int comm_broadcast(struct comm *c, void *p, size_t bytes, struct err *err);

/* c may be NULL. */
void comm_close(struct comm *c);

#endif
