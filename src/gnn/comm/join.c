/* join.c - how a process finds the ranks that another program started. */
#include "gnn/comm/comm.h"

bool comm_wanted(void)
{
    return comm_mpi_wanted() || comm_slurm_wanted();
}

int comm_join(struct comm **out, struct err *err)
{
    return comm_mpi_wanted() ? comm_open_mpi(out, err) : comm_open_slurm(out, err);
}
