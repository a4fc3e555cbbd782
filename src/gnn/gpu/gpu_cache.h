/*
 * gpu_cache.h - rows of features that are split between a GPU's memory and pinned host memory.
 *
 *     struct gpu_cache *c;
 *     if (gpu_cache_open(&c, device, &data, order, rows, threads, err) < 0) ...
 *     gpu_cache_gather(c, node, n, y);              queued; the GPU reads host memory by itself
 *     gpu_cache_count(c);                           after the stream has run the gather
 *     gpu_cache_close(c);
 *
 * Each row is in one of the two places, and a table says where. The host memory is mapped into the
 * GPU's addresses, so a kernel (kernels/gnn/gather_split) reads rows from both places. It reads a
 * row of the host memory directly, without a copy in the GPU's memory.
 */
#ifndef GNN_GPU_GPU_CACHE_H
#define GNN_GPU_GPU_CACHE_H

#include "gnn/data/dataset.h"
#include "gnn/ops/ops.h"

struct gpu_cache;

/* `order` lists all nodes. Its first `rows` nodes go to the GPU's memory, the others to host
 * memory. `threads` threads copy the rows. `order` and *data are not needed afterwards. */
int gpu_cache_open(struct gpu_cache **out, struct gnn_device *d, const struct dataset *data,
                   const int32_t *order, int64_t rows, int threads, struct err *err);
/* `c` may be NULL. No queued work may still use it. */
void gpu_cache_close(struct gpu_cache *c);

/* Queues a kernel that writes the rows of n nodes to y. The values keep their type. */
void gpu_cache_gather(struct gpu_cache *c, const int32_t *node, int64_t n, void *y);
/* Counts the latest gather. Call it when that gather is done, before the next one. */
void gpu_cache_count(struct gpu_cache *c);

int64_t gpu_cache_rows(const struct gpu_cache *c); /* rows in the GPU's memory */

/* Counts since the cache was opened. */
struct gpu_cache_counts {
    int64_t rows;   /* rows that were gathered */
    int64_t missed; /* how many of these rows came from host memory */
};
struct gpu_cache_counts gpu_cache_counts(const struct gpu_cache *c);

#endif
