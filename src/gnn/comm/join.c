/* join.c - joins ranks that mpirun or srun started, through MPI or TCP. */
#include "gnn/comm/transport.h"

bool comm_wanted(void)
{
    return comm_mpi_wanted() || comm_slurm_wanted();
}

/* srun sets MPI's variables (of PMI or PMIx) also for programs that do not use MPI. So if there is
 * no libmpi, the ranks of srun meet through TCP. Under mpirun we always use MPI, because there
 * Slurm's variables do not describe the ranks. */
int comm_join(struct comm **out, struct err *err)
{
    if (comm_mpi_wanted() && (!comm_mpi_is_srun() || comm_mpi_loads()))
        return comm_open_mpi(out, err);
    return comm_open_slurm(out, err);
}
