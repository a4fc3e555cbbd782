/*
 * nccl.h - averages arrays over the GPUs of several ranks, with NCCL. libnccl is loaded at run
 * time.
 *
 *     char id[NCCL_ID_BYTES];
 *     if (rank == 0 && nccl_new_id(id, err) < 0) ...
 *     comm_broadcast(comm, id, sizeof id, err);
 *     struct nccl *n;
 *     if (nccl_join(&n, device, id, rank, ranks, err) < 0) ...       all ranks at the same time
 *     nccl_mean(n, share, gradient, count);
 *     nccl_leave(n);
 *
 * Every rank gets the same bits, but another number of GPUs may give other bits.
 */
#ifndef GNN_GPU_NCCL_H
#define GNN_GPU_NCCL_H

#include <stdbool.h>

#include "gnn/ops/ops.h"

enum { NCCL_ID_BYTES = 128 };

struct nccl;

bool nccl_is_here(void); /* whether libnccl can be loaded */
/* Names a new group of ranks: writes NCCL_ID_BYTES bytes to `id`. */
int nccl_new_id(void *id, struct err *err);
/* All ranks must call this at the same time. `d` is a GPU or the emulator. */
int nccl_join(struct nccl **out, struct gnn_device *d, const void *id, int rank, int ranks,
              struct err *err);
/* `n` may be NULL. */
void nccl_leave(struct nccl *n);
/* On each device, the sum over all ranks of share * x replaces x[0..count). The shares must add up
 * to 1. Queues the work after the device's other work; the next sync() reports a failure. */
void nccl_mean(struct nccl *n, double share, void *x, int64_t count);

#endif
