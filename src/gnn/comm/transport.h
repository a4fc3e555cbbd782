/*
 * transport.h - how the ranks exchange memory: a table of functions for each of shared memory, MPI
 * and TCP. Private to gnn/comm/.
 *
 * comm_reduce() first gathers a few numbers of each rank. Then rank r gets the r-th chunk of every
 * rank's array and computes their weighted mean. In the end every rank gets the means of all
 * chunks. A transport moves the data; reduce.c does the arithmetic, so all transports give the same
 * bits.
 */
#ifndef GNN_COMM_TRANSPORT_H
#define GNN_COMM_TRANSPORT_H

#include "gnn/comm/comm.h"

struct transport {
    /* Gives every rank the numbers of all ranks, COMM_MAX_SUMS from each. */
    int (*gather)(struct comm *c, const double *mine, double *all, struct err *err);
    /* Sets part[r] to this rank's chunk of rank r's array. The parts are valid until share(). */
    int (*scatter)(struct comm *c, const float *x, int64_t n, const float **part, struct err *err);
    /* `chunk` is this rank's chunk of the result. Fills x with the chunks of all ranks. */
    int (*share)(struct comm *c, const float *chunk, float *x, int64_t n, struct err *err);
    void (*close)(struct comm *c);
};

/* The first member of each transport's own struct. */
struct comm {
    const struct transport *t;
    int rank, ranks;
    float *chunk; /* this rank's chunk of the result; grows on demand */
    int64_t chunk_reals;
};

/* Returns the number in an environment variable, or -1 if the variable is not a number. */
long comm_env_number(const char *variable);
/* Returns whether srun, and not mpirun, set the variables of MPI. Call it only if comm_mpi_wanted()
 * is true. */
bool comm_mpi_is_srun(void);
bool comm_mpi_loads(void); /* whether libmpi can be loaded */

/* In an array of n elements, rank r's chunk is [chunk_at(c, n, r), chunk_at(c, n, r + 1)). */
static inline int64_t chunk_at(const struct comm *c, int64_t n, int rank)
{
    return n / c->ranks * rank + (n % c->ranks) * rank / c->ranks;
}

#endif
