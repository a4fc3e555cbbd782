/*
 * gpu_cache.h - rows of features that are split between a GPU's memory and pinned host memory.
 *
 *     struct gpu_cache *c;
 *     if (gpu_cache_open(&c, device, &data, order, rows, threads, err) < 0) ...
 *     gpu_cache_gather(c, node, n, y);              queued; the GPU reads host memory by itself
 *     gpu_cache_count(c);                           after the stream has run the gather
 *     gpu_cache_close(c);
 *
 * A table with an int32 for each node says where its row is: in the cache, or in host memory. The
 * host memory is mapped into the addresses of the GPU, so a kernel (kernels/gnn/gather_split) reads
 * rows from both places, and nothing is copied ahead. Each row is in only one of the two places.
 */
#ifndef GNN_GPU_GPU_CACHE_H
#define GNN_GPU_GPU_CACHE_H

#include "gnn/data/dataset.h"
#include "gnn/ops/ops.h"

struct gpu_cache;

/* `order` lists all nodes. The features of its first `rows` nodes go to the GPU's memory (the
 * cache), the others to host memory. After the call neither `order` nor the features of *data are
 * needed any more. `threads` threads copy rows. */
int gpu_cache_open(struct gpu_cache **out, struct gnn_device *d, const struct dataset *data,
                   const int32_t *order, int64_t rows, int threads, struct err *err);
/* Closes the cache; `c` may be NULL. The caller makes sure that no queued work still uses it. */
void gpu_cache_close(struct gpu_cache *c);

/* Queues a kernel that copies the rows of the n nodes in `node` to y. The values keep the type that
 * they have in the dataset. */
void gpu_cache_gather(struct gpu_cache *c, const int32_t *node, int64_t n, void *y);
/* Adds the rows of the most recent gather to the counts. Call it when that gather is done, and
 * before the next one. */
void gpu_cache_count(struct gpu_cache *c);

int64_t gpu_cache_rows(const struct gpu_cache *c); /* rows in the GPU's memory */

/* Counts since the cache was opened. */
struct gpu_cache_counts {
    int64_t rows;   /* rows that were gathered */
    int64_t missed; /* how many of them were read from host memory */
};
struct gpu_cache_counts gpu_cache_counts(const struct gpu_cache *c);

#endif
