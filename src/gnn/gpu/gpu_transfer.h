/*
 * gpu_transfer.h - copies batches from host memory to a GPU while the GPU computes.
 *
 *     struct gpu_transfer *t;
 *     if (gpu_transfer_open(&t, device, ahead, err) < 0) ...
 *     options.memory = gpu_transfer_memory(t);          the loader uses pinned memory
 *     ...
 *     if (gpu_transfer_batch(t, batch, &sent, err) < 0) ...
 *     network_batch(network, &sent);                    the batch's arrays are device memory
 *     ...
 *     while ((b = gpu_transfer_done(t, at_most)))       the copy is done
 *         loader_give_back(loader, b);
 *     gpu_transfer_close(t);                            after the loader is closed
 *
 * The GPU has ahead + 1 slots: one for the batch it computes with, and `ahead` for batches that
 * arrive in the meantime.
 *
 *     copy stream     | copy 0 | copy 1 | copy 2 |        | copy 3 |
 *     compute stream           | batch 0         | batch 1         | batch 2
 */
#ifndef GNN_GPU_GPU_TRANSFER_H
#define GNN_GPU_GPU_TRANSFER_H

#include "gnn/batch_memory.h"
#include "gnn/ops/ops.h"

enum { GPU_MAX_AHEAD = 8 };

struct gpu_transfer;

/* `d` is a GPU or the emulator. `ahead` is 1 to GPU_MAX_AHEAD. */
int gpu_transfer_open(struct gpu_transfer **out, struct gnn_device *d, int ahead, struct err *err);
/* Waits for the device. `t` may be NULL. */
void gpu_transfer_close(struct gpu_transfer *t);

int gpu_transfer_ahead(const struct gpu_transfer *t);

/* Returns pinned memory for the loader. It is valid until gpu_transfer_close(). */
const struct batch_memory *gpu_transfer_memory(struct gpu_transfer *t);
/* From now on, batches with features in half precision have `reduced` (gnn/batch.h). GNN_MAX turns
 * this off. */
void gpu_transfer_reduce(struct gpu_transfer *t, enum gnn_segment kind);

/* Queues the copy of a packed batch. The arrays of *out are valid for work that is queued before
 * the next call. *b must not change until gpu_transfer_done() returns it. */
int gpu_transfer_batch(struct gpu_transfer *t, const struct gnn_batch *b, struct gnn_batch *out,
                       struct err *err);
/* Returns the oldest batch if its copy is done, else NULL. Each batch is returned once. If more
 * than `at_most` copies are under way, waits for the oldest. */
const struct gnn_batch *gpu_transfer_done(struct gpu_transfer *t, int at_most);

/* Returns how long the GPU has waited for copies while kernels were queued. Counts only batches
 * whose work is done. */
double gpu_transfer_exposed_s(struct gpu_transfer *t);

#endif
