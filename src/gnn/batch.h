/*
 * batch.h - a sampled mini-batch: the contract between the sampler and the models.
 *
 * A batch starts from seed nodes. Hop h samples neighbours for EVERY node known so far. `node`
 * lists the global ids in order of first appearance. A node's position in this list is its local
 * id:
 *
 *     node:   | seeds          | found in hop 0 | found in hop 1 | ...
 *             0          n_nodes[0]       n_nodes[1]       n_nodes[2]
 *
 * Hop h is a graph in compressed sparse rows. Its first n_nodes[h] nodes are its targets: the nodes
 * for which it samples neighbours. The sampled neighbours of target i are
 *
 *     for (int32_t e = b->row[h][i]; e < b->row[h][i + 1]; e++)
 *         use(b->col[h][e]);                 a local id below n_nodes[h + 1]
 *
 * Layer l of a model with L = hops layers uses hop L-1-l. It reads n_nodes[L-l] rows and writes
 * n_nodes[L-l-1] rows. Row i belongs to node i in both. The last layer writes one row for each
 * seed.
 *
 * A target may have no neighbour. The sampler adds no self loops. Sampling with replacement may
 * repeat a neighbour.
 *
 * A batch borrows its memory from a slot of the loader (gnn/load/loader.h), or from the data on the
 * GPU (gnn/gpu/gpu_store.h).
 */
#ifndef GNN_BATCH_H
#define GNN_BATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { GNN_MAX_HOPS = 8 };

/* How features are stored. Models compute in float. */
enum gnn_type { GNN_F32, GNN_F16 };

static inline size_t gnn_type_bytes(enum gnn_type t)
{
    return t == GNN_F16 ? 2 : 4;
}

enum { GNN_UNLABELLED = -1 }; /* the label of a node of unknown class */

struct gnn_batch {
    int hops;                          /* L, 1..GNN_MAX_HOPS; 0 = only seeds and labels */
    int64_t n_nodes[GNN_MAX_HOPS + 1]; /* nodes before hop h; [0]: the seeds; [L]: all nodes */
    int64_t n_edges[GNN_MAX_HOPS];
    const int32_t *row[GNN_MAX_HOPS]; /* n_nodes[h] + 1 offsets into col[h] */
    const int32_t *col[GNN_MAX_HOPS]; /* n_edges[h] local ids */
    const int32_t *node;              /* n_nodes[L] global ids */
    const int32_t *degree; /* n_nodes[L-1] numbers of neighbours in the whole graph, or NULL */

    const void *feature; /* n_nodes[L] rows of feature_dim values, or NULL */
    enum gnn_type feature_type;
    int64_t feature_dim;
    const int32_t *label; /* classes of the seeds; NULL if the data has none */
    bool on_device;       /* all arrays are memory of the device, and features are GNN_F32 */
    /* For each target of hop L-1, the sum or mean of its neighbours' features, as n_nodes[L-1] rows
     * of GNN_F32. If not NULL, `feature` has only the rows of these targets. */
    const void *reduced;
    /* Host memory that holds all arrays (gnn/load/pack.h). NULL if each has memory of its own. */
    const void *packed;
    size_t packed_bytes;

    /* The data, the options, `seed`, `epoch` and `index` determine a batch. */
    uint64_t seed;
    int64_t epoch;
    int64_t index; /* number of the batch in its epoch, from 0 */
    int64_t first; /* position of the first seed in the epoch's list of nodes */
};

#endif
