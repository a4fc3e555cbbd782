/* env.c - reads numbers from environment variables that srun and mpirun set. */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>

#include "gnn/comm/transport.h"

long comm_env_number(const char *variable)
{
    const char *v = getenv(variable);
    char *end;
    if (!v || !*v)
        return -1;
    errno = 0;
    long n = strtol(v, &end, 10);
    return errno || *end || n < 0 ? -1 : n;
}
