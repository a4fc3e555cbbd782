/*
 * batch.h - a sampled mini-batch. The sampler makes it, and the models read it.
 *
 * A batch starts from seed nodes. Each hop samples neighbours of EVERY node known so far. `node`
 * lists the global ids in order of first appearance. A node's position in `node` is its local id:
 *
 *     node:   | seeds          | found in hop 0 | found in hop 1 | ...
 *             0          n_nodes[0]       n_nodes[1]       n_nodes[2]
 *
 * The targets of hop h are the first n_nodes[h] nodes. The sampled neighbours of target i are
 *
 *     for (int32_t e = b->row[h][i]; e < b->row[h][i + 1]; e++)
 *         use(b->col[h][e]);                 a local id below n_nodes[h + 1]
 *
 * Layer l of a model with L = hops layers uses hop L-1-l: it reads n_nodes[L-l] rows and writes
 * n_nodes[L-l-1] rows. Row i belongs to node i in both.
 *
 * A target may have no neighbour. Sampling with replacement may repeat a neighbour. The loader or
 * the GPU's store owns the memory.
 */
#ifndef GNN_BATCH_H
#define GNN_BATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { GNN_MAX_HOPS = 8 };

enum gnn_type { GNN_F32, GNN_F16 };

static inline size_t gnn_type_bytes(enum gnn_type t)
{
    return t == GNN_F16 ? 2 : 4;
}

enum { GNN_UNLABELLED = -1 };

struct gnn_batch {
    int hops;                          /* L; 0 = only seeds and labels */
    int64_t n_nodes[GNN_MAX_HOPS + 1]; /* nodes before hop h; [0]: the seeds; [L]: all nodes */
    int64_t n_edges[GNN_MAX_HOPS];
    const int32_t *row[GNN_MAX_HOPS]; /* n_nodes[h] + 1 offsets into col[h] */
    const int32_t *col[GNN_MAX_HOPS]; /* local ids */
    const int32_t *node;              /* global ids */
    const int32_t *degree;            /* in the whole graph, for the targets of hop L-1; or NULL */

    const void *feature; /* n_nodes[L] rows, or NULL */
    enum gnn_type feature_type;
    int64_t feature_dim;
    const int32_t *label; /* classes of the seeds; NULL if the data has no labels */
    bool on_device;       /* all arrays are on the device, and features are GNN_F32 */
    /* For each target of hop L-1, the sum or mean of its neighbours' features: n_nodes[L-1] rows of
     * GNN_F32. If not NULL, `feature` has only the rows of these targets. */
    const void *reduced;
    /* Host memory that holds all arrays (gnn/load/pack.h), or NULL. */
    const void *packed;
    size_t packed_bytes;

    uint64_t seed;
    int64_t epoch;
    int64_t index; /* number of this batch in its epoch, from 0 */
    int64_t first; /* position of the first seed in the epoch's list */
};

#endif
