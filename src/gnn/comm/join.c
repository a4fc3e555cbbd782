/* join.c - how a process finds the ranks that another program started. */
#include "gnn/comm/transport.h"

bool comm_wanted(void)
{
    return comm_mpi_wanted() || comm_slurm_wanted();
}

/* srun sets the variables of PMI or PMIx also for programs that do not use MPI. So without libmpi,
 * the ranks of srun meet through TCP. Under mpirun, Slurm counts other processes than the ranks. */
int comm_join(struct comm **out, struct err *err)
{
    if (comm_mpi_wanted() && (!comm_mpi_is_srun() || comm_mpi_loads()))
        return comm_open_mpi(out, err);
    return comm_open_slurm(out, err);
}
