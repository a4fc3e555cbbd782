/* nccl.c - the few functions of NCCL that training needs. See nccl.h. */
#include "gnn/gpu/nccl.h"

#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "gnn/gpu/gpu_device.h"
#include "sys/dl.h"

/* The part of NCCL's interface that we use. NCCL has it from version 2.11 on. */
enum { NCCL_FLOAT32 = 7, NCCL_SCALAR_ON_HOST = 1 };

struct nccl_id {
    char bytes[NCCL_ID_BYTES];
};

typedef struct nccl_comm_st *nccl_comm;

static struct {
    int (*get_id)(struct nccl_id *);
    int (*init)(nccl_comm *, int, struct nccl_id, int);
    int (*destroy)(nccl_comm);
    int (*all_reduce)(const void *, void *, size_t, int, int, nccl_comm, cu_stream);
    int (*scaled_sum)(int *, void *, int, int, nccl_comm);
    int (*drop_op)(int, nccl_comm);
    const char *(*text)(int);
} lib;

struct nccl {
    struct gpu_device *d;
    nccl_comm comm;
};

static int load(struct err *err)
{
    static const char *const names[] = {"libnccl.so.2", "libnccl.so", NULL};
    void *dl;
    const struct dl_symbol syms[] = {
        {"ncclGetUniqueId", &lib.get_id},
        {"ncclCommInitRank", &lib.init},
        {"ncclCommDestroy", &lib.destroy},
        {"ncclAllReduce", &lib.all_reduce},
        {"ncclRedOpCreatePreMulSum", &lib.scaled_sum},
        {"ncclRedOpDestroy", &lib.drop_op},
        {"ncclGetErrorString", &lib.text},
        {NULL, NULL},
    };
    return dl_load(&dl, names, syms, "averaging over GPUs with NCCL", "libnccl2", err);
}

static int check(int code, const char *call, struct err *err)
{
    return code == 0 ? 0 : err_set(err, ERR_ENV, "%s: %s", call, lib.text(code));
}

bool nccl_is_here(void)
{
    return load(NULL) == 0;
}

int nccl_new_id(void *id, struct err *err)
{
    struct nccl_id made;
    if (load(err) < 0 || check(lib.get_id(&made), "ncclGetUniqueId", err) < 0)
        return -1;
    memcpy(id, made.bytes, sizeof made.bytes);
    return 0;
}

int nccl_join(struct nccl **out, struct gnn_device *d, const void *id, int rank, int ranks,
              struct err *err)
{
    struct nccl_id name;
    if (load(err) < 0)
        return -1;
    struct nccl *n = xcalloc(1, sizeof *n);
    n->d = gpu_of(d);
    memcpy(name.bytes, id, sizeof name.bytes);
    if (check(lib.init(&n->comm, ranks, name, rank), "ncclCommInitRank", err) < 0) {
        free(n);
        return -1;
    }
    *out = n;
    return 0;
}

void nccl_leave(struct nccl *n)
{
    if (!n)
        return;
    lib.destroy(n->comm);
    free(n);
}

void nccl_mean(struct nccl *n, double share, void *x, int64_t count)
{
    struct gpu_device *d = n->d;
    struct err err = ERR_INIT;
    float factor = (float)share;
    int op;
    if (d->failed || count == 0)
        return;
    if (check(lib.scaled_sum(&op, &factor, NCCL_FLOAT32, NCCL_SCALAR_ON_HOST, n->comm),
              "ncclRedOpCreatePreMulSum", &err) < 0) {
        gpu_note(d, -1, &err);
        return;
    }
    gpu_note(
        d,
        check(lib.all_reduce(x, x, (size_t)count, NCCL_FLOAT32, op, n->comm, d->compute.stream),
              "ncclAllReduce", &err),
        &err);
    lib.drop_op(op, n->comm);
}
