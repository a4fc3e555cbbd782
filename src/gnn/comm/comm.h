/*
 * comm.h - what several processes that train one model tell each other.
 *
 *     struct comm *c;
 *     if (comm_open_shared(&c, ranks, n, err) < 0) ...        before the ranks are forked
 *     comm_set_rank(c, rank);                                 in each of them
 *     or:  if (comm_open_mpi(&c, err) < 0) ...                under mpirun or srun
 *     double sums[2] = {rows, loss};
 *     if (comm_reduce(c, sums, 2, gradient, n, err) < 0) ...
 *     comm_close(c);
 *
 * comm_reduce is collective: all ranks call it the same number of times, with the same sizes. Every
 * rank gets the same bits. They are a function of the arguments of all ranks: each element is a sum
 * in double, in the order of the ranks, in shared memory and with MPI alike.
 */
#ifndef GNN_COMM_COMM_H
#define GNN_COMM_COMM_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

enum { COMM_MAX_RANKS = 1024, COMM_MAX_SUMS = 8 };

/* The message of a rank that stops because another one did. */
#define COMM_STOPPED "another rank stopped"

struct comm;

/* Ranks on one machine, in memory that they share. `reals` is the largest n of comm_reduce. */
int comm_open_shared(struct comm **out, int ranks, int64_t reals, struct err *err);
void comm_set_rank(struct comm *c, int rank);

/* True if mpirun or srun started this process as one of several ranks. */
bool comm_mpi_wanted(void);
/* Loads libmpi (Open MPI or MPICH) and joins the other ranks. */
int comm_open_mpi(struct comm **out, struct err *err);

/* Also without a comm (NULL), as one rank. */
int comm_rank(const struct comm *c);
int comm_ranks(const struct comm *c);

/* Replaces sums[0..count) by their sums over the ranks, and x[0..n) by the mean over the ranks,
 * weighted by what each rank gave as sums[0]. If all of these are 0, x becomes 0. */
int comm_reduce(struct comm *c, double *sums, int count, float *x, int64_t n, struct err *err);

/* NULL is allowed. */
void comm_close(struct comm *c);

#endif
