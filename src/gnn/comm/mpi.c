/*
 * mpi.c - connects ranks that mpirun or srun started, on one machine or on several. libmpi is
 * loaded at run time.
 *
 * A handle of MPI is a pointer in Open MPI and an int in MPICH and its relatives. We declare it as
 * uintptr_t, because x86-64 and AArch64 pass either in one integer register. A callee that expects
 * an int reads the lower half. The values of MPICH's handles are part of its ABI.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "gnn/comm/transport.h"
#include "sys/dl.h"

typedef uintptr_t handle;

static struct {
    int (*init)(int *, char ***, int, int *);
    int (*finalize)(void);
    int (*rank)(handle, int *);
    int (*size)(handle, int *);
    int (*allgather)(const void *, int, handle, void *, int, handle, handle);
    int (*allgatherv)(const void *, int, handle, void *, const int *, const int *, handle, handle);
    int (*alltoallv)(const void *, const int *, const int *, handle, void *, const int *,
                     const int *, handle, handle);
    handle world, real, number; /* MPI_COMM_WORLD, MPI_FLOAT and MPI_DOUBLE */
} mpi;

#define FUNNELED 1 /* MPI_THREAD_FUNNELED: only one thread calls MPI */
#define MPICH_WORLD 0x44000000u
#define MPICH_FLOAT 0x4c00040au
#define MPICH_DOUBLE 0x4c00080bu

struct mpi_comm {
    struct comm base;
    float *parts;      /* this rank's chunk of every rank's array */
    size_t part_reals; /* floats that `parts` has room for */
    /* Arguments of MPI_Alltoallv, one number for each rank. `counts` and `starts` describe the
     * ranks' chunks in an array, `own_counts` and `own_starts` the chunks in `parts`. */
    int *counts, *starts, *own_counts, *own_starts;
};

static struct mpi_comm *mpi_of(struct comm *c)
{
    return (struct mpi_comm *)c;
}

static int check(int code, const char *call, struct err *err)
{
    return code == 0 ? 0 : err_set(err, ERR_SYSTEM, "%s failed with code %d", call, code);
}

static int gather(struct comm *c, const double *mine, double *all, struct err *err)
{
    (void)c;
    return check(
        mpi.allgather(mine, COMM_MAX_SUMS, mpi.number, all, COMM_MAX_SUMS, mpi.number, mpi.world),
        "MPI_Allgather", err);
}

/* Sets the counts and starts for an array of n elements. */
static int set_chunks(struct mpi_comm *m, int64_t n, struct err *err)
{
    if (n > INT32_MAX)
        return err_set(err, ERR_LIMIT, "MPI moves at most %d numbers at once, not %" PRId64,
                       INT32_MAX, n);
    for (int r = 0; r < m->base.ranks; r++) {
        m->starts[r] = (int)chunk_at(&m->base, n, r);
        m->counts[r] = (int)chunk_at(&m->base, n, r + 1) - m->starts[r];
    }
    return 0;
}

static int scatter(struct comm *c, const float *x, int64_t n, const float **part, struct err *err)
{
    struct mpi_comm *m = mpi_of(c);
    if (set_chunks(m, n, err) < 0)
        return -1;
    int own = m->counts[c->rank];
    size_t reals = (size_t)own * (size_t)c->ranks;
    if (reals > INT32_MAX)
        return err_set(err, ERR_LIMIT, "MPI moves at most %d numbers at once", INT32_MAX);
    if (reals > m->part_reals) {
        m->parts = xrealloc(m->parts, reals * sizeof *m->parts);
        m->part_reals = reals;
    }
    for (int r = 0; r < c->ranks; r++) {
        m->own_counts[r] = own;
        m->own_starts[r] = r * own;
        part[r] = m->parts + (size_t)r * (size_t)own;
    }
    return check(mpi.alltoallv(x, m->counts, m->starts, mpi.real, m->parts, m->own_counts,
                               m->own_starts, mpi.real, mpi.world),
                 "MPI_Alltoallv", err);
}

static int share(struct comm *c, const float *chunk, float *x, int64_t n, struct err *err)
{
    struct mpi_comm *m = mpi_of(c);
    (void)n;
    return check(mpi.allgatherv(chunk, m->counts[c->rank], mpi.real, x, m->counts, m->starts,
                                mpi.real, mpi.world),
                 "MPI_Allgatherv", err);
}

static void close_mpi(struct comm *c)
{
    struct mpi_comm *m = mpi_of(c);
    mpi.finalize();
    free(m->parts);
    free(m->counts);
    free(m);
}

static const struct transport mpi_transport = {gather, scatter, share, close_mpi};

static int load(struct err *err)
{
    static const char *const names[] = {"libmpi.so.40", "libmpi.so.12", "libmpi.so", NULL};
    void *dl, *world, *real, *number;
    const struct dl_symbol syms[] = {
        {"MPI_Init_thread", &mpi.init},
        {"MPI_Finalize", &mpi.finalize},
        {"MPI_Comm_rank", &mpi.rank},
        {"MPI_Comm_size", &mpi.size},
        {"MPI_Allgather", &mpi.allgather},
        {"MPI_Allgatherv", &mpi.allgatherv},
        {"MPI_Alltoallv", &mpi.alltoallv},
        {"?ompi_mpi_comm_world", &world},
        {"?ompi_mpi_float", &real},
        {"?ompi_mpi_double", &number},
        {NULL, NULL},
    };
    if (dl_load(&dl, names, syms, "training with MPI", "libopenmpi3", err) < 0)
        return -1;
    bool open_mpi = world && real && number;
    mpi.world = open_mpi ? (handle)world : MPICH_WORLD;
    mpi.real = open_mpi ? (handle)real : MPICH_FLOAT;
    mpi.number = open_mpi ? (handle)number : MPICH_DOUBLE;
    return 0;
}

bool comm_mpi_wanted(void)
{
    return comm_env_number("OMPI_COMM_WORLD_SIZE") > 1 || comm_env_number("PMI_SIZE") > 1 ||
           (comm_env_number("PMIX_RANK") >= 0 && comm_slurm_wanted());
}

bool comm_mpi_is_srun(void)
{
    long size = comm_env_number("PMI_SIZE");
    return comm_slurm_wanted() && comm_env_number("OMPI_COMM_WORLD_SIZE") < 0 &&
           (size < 0 || size == comm_env_number("SLURM_STEP_NUM_TASKS"));
}

bool comm_mpi_loads(void)
{
    return load(NULL) == 0;
}

int comm_open_mpi(struct comm **out, struct err *err)
{
    int provided, rank, ranks;
    if (load(err) < 0)
        return err_prefix(err, "started as one of several ranks");
    if (check(mpi.init(NULL, NULL, FUNNELED, &provided), "MPI_Init_thread", err) < 0 ||
        check(mpi.rank(mpi.world, &rank), "MPI_Comm_rank", err) < 0 ||
        check(mpi.size(mpi.world, &ranks), "MPI_Comm_size", err) < 0)
        return -1;
    if (ranks > COMM_MAX_RANKS)
        return err_set(err, ERR_USAGE, "at most %d ranks, not %d", COMM_MAX_RANKS, ranks);
    struct mpi_comm *m = xcalloc(1, sizeof *m);
    m->base = (struct comm){.t = &mpi_transport, .rank = rank, .ranks = ranks};
    m->counts = xcalloc(4 * (size_t)ranks, sizeof *m->counts);
    m->starts = m->counts + ranks;
    m->own_counts = m->starts + ranks;
    m->own_starts = m->own_counts + ranks;
    *out = &m->base;
    return 0;
}
