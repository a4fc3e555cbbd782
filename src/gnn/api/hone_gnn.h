/*
 * hone_gnn.h - batches of hone-gnn for other programs: the interface of libhone_gnn.so.
 *
 *     struct hone_gnn_data *data = hone_gnn_data_open("data/debian", "auto");
 *     struct hone_gnn_options o = {.size = sizeof o, .hops = 2, .fanout = {15, 10}, ...};
 *     struct hone_gnn_loader *loader = data ? hone_gnn_open(data, &o) : NULL;
 *     if (!loader)
 *         puts(hone_gnn_error());
 *     hone_gnn_start(loader, 0, 0);
 *     struct hone_gnn_batch *b;
 *     while (hone_gnn_next(loader, -1, &b) == 1) {
 *         struct hone_gnn_tensor *x = hone_gnn_batch_tensor(b, HONE_GNN_FEATURES, 0);
 *         use(x->data, x->shape[0], x->shape[1]);
 *         hone_gnn_tensor_drop(x);
 *         hone_gnn_batch_drop(b);
 *     }
 *     hone_gnn_close(loader);
 *     hone_gnn_data_close(data);
 *
 * Arrays are tensors of DLPack, so Python takes them without a copy (src/gnn/python/).
 *
 * Lifetime. The memory of a batch does not change until the batch and all its tensors are dropped,
 * even if the loader is closed or begins another epoch. Closed data stays in memory until its
 * loaders are closed and its tensors are dropped.
 *
 * Threads. Any thread may drop batches and tensors and call hone_gnn_cancel. Only one thread at a
 * time may call the other functions on a loader.
 *
 * Processes. In a forked child, hone_gnn_open, hone_gnn_start and hone_gnn_next fail on a handle of
 * the parent, and dropping or closing does nothing. The arrays remain readable.
 *
 * Errors. Functions return NULL or -1. hone_gnn_error() then says what failed, where, and what to
 * do.
 */
#ifndef HONE_GNN_H
#define HONE_GNN_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define HONE_GNN_EXPORT __attribute__((visibility("default")))

/* HONE_GNN_API increases with each change that breaks old callers. A batch has up to HONE_GNN_HOPS
 * hops. */
enum { HONE_GNN_API = 1, HONE_GNN_HOPS = 8 };
/* Returns the HONE_GNN_API of the loaded library. */
HONE_GNN_EXPORT int hone_gnn_api(void);

/* Returns the last error of the calling thread. */
HONE_GNN_EXPORT const char *hone_gnn_error(void);

struct hone_gnn_tensor {
    void *data;
    int32_t device_type, device_id; /* always 1 and 0: CPU memory */
    int32_t ndim;
    uint8_t code, bits; /* code is 0 for integers, 2 for floats */
    uint16_t lanes;     /* always 1 */
    int64_t *shape;
    int64_t *strides; /* always NULL: row-major */
    uint64_t byte_offset;
    void *context;
    void (*deleter)(struct hone_gnn_tensor *);
};

/* A function that returns a tensor gives the caller a reference. hone_gnn_tensor_keep adds one.
 * hone_gnn_tensor_drop or the tensor's `deleter` gives one back. */
HONE_GNN_EXPORT struct hone_gnn_tensor *hone_gnn_tensor_keep(struct hone_gnn_tensor *t);
HONE_GNN_EXPORT void hone_gnn_tensor_drop(struct hone_gnn_tensor *t);

/* ---- data ------------------------------------------------------------------------------------ */

struct hone_gnn_data;
struct hone_gnn_data_info {
    int64_t nodes, edges, classes;
    int64_t feature_dim;  /* values per node; 0 without features */
    int32_t feature_bits; /* bits per value: 16 or 32 */
    int32_t labelled;     /* 1 if the nodes have labels, else 0 */
};

/* `how` is "auto", "read" or "map" (docs/gnn.md). */
HONE_GNN_EXPORT struct hone_gnn_data *hone_gnn_data_open(const char *dir, const char *how);
HONE_GNN_EXPORT struct hone_gnn_data_info hone_gnn_data_info(const struct hone_gnn_data *d);
/* `name` is "offsets", "neighbours", "features", "labels", "train", "valid" or "test". Do not write
 * to the array. */
HONE_GNN_EXPORT struct hone_gnn_tensor *hone_gnn_data_tensor(struct hone_gnn_data *d,
                                                             const char *name);
HONE_GNN_EXPORT void hone_gnn_data_close(struct hone_gnn_data *d);

/* ---- batches --------------------------------------------------------------------------------- */

struct hone_gnn_loader;
struct hone_gnn_batch;

struct hone_gnn_options {
    int64_t size; /* sizeof(struct hone_gnn_options) */
    /* A batch starts from seeds: nodes of "train", "valid" or "test", or of `ids` if `split` is
     * NULL. */
    const char *split;
    const int32_t *ids; /* n_ids different nodes; hone_gnn_open copies the array */
    /* batch_size: seeds in a batch, over all processes that share it. */
    int64_t n_ids, batch_size;
    const char *sampler;           /* "uniform", "replace" or "labor" */
    int32_t fanout[HONE_GNN_HOPS]; /* neighbours that each hop samples per node; -1 means all */
    int32_t hops;                  /* 1 to HONE_GNN_HOPS */
    uint64_t seed;
    /* threads: how many threads prepare batches. slots: how many batches are in memory at once. */
    int32_t threads, slots;
    /* `ranks` processes share every batch; this one is number `rank`, from 0. */
    int32_t rank, ranks;
    /* shuffle: each epoch takes the seeds in another random order. as_ready: batches come as soon
     * as they are ready, in any order. */
    int32_t shuffle, as_ready;
    int32_t no_features; /* 1: batches have neither features nor labels */
};

HONE_GNN_EXPORT struct hone_gnn_loader *hone_gnn_open(struct hone_gnn_data *d,
                                                      const struct hone_gnn_options *o);
/* Returns the number of batches in an epoch. */
HONE_GNN_EXPORT int64_t hone_gnn_batches(const struct hone_gnn_loader *l);
/* Begins an epoch without its first `skip` batches. If an older epoch still runs, ends that one. */
HONE_GNN_EXPORT int hone_gnn_start(struct hone_gnn_loader *l, int64_t epoch, int64_t skip);
/* Returns 1 with the next batch, 0 at the end of the epoch, 2 if no batch is ready after
 * timeout_ms, -1 on an error. A negative timeout_ms waits without limit. */
HONE_GNN_EXPORT int hone_gnn_next(struct hone_gnn_loader *l, int64_t timeout_ms,
                                  struct hone_gnn_batch **out);
/* Ends the epoch. After that, hone_gnn_next fails. */
HONE_GNN_EXPORT void hone_gnn_cancel(struct hone_gnn_loader *l);
HONE_GNN_EXPORT void hone_gnn_close(struct hone_gnn_loader *l);

/* src/gnn/batch.h says how a batch is built. */
struct hone_gnn_batch_info {
    int64_t hops;
    /* n_nodes[0] counts the seeds, n_nodes[h] the nodes before hop h, n_nodes[hops] all nodes. */
    int64_t n_nodes[HONE_GNN_HOPS + 1];
    int64_t n_edges[HONE_GNN_HOPS];
    int64_t epoch, index; /* index: number in the epoch, from 0 */
};
HONE_GNN_EXPORT struct hone_gnn_batch_info hone_gnn_batch_info(const struct hone_gnn_batch *b);

/* A node's local id is its index in HONE_GNN_NODES. The targets of hop h, whose neighbours it
 * samples, are the first n_nodes[h] nodes. */
enum hone_gnn_array {
    HONE_GNN_NODES,    /* int32 [nodes]: ids in the graph, the seeds first */
    HONE_GNN_FEATURES, /* float16 or float32 [nodes][feature_dim] */
    HONE_GNN_LABELS,   /* int32 [seeds]: classes; -1 if unknown */
    /* int32 [targets + 1]: the edges of target i are row[i] to row[i + 1] - 1. */
    HONE_GNN_ROW,
    HONE_GNN_COL, /* int32 [edges]: local ids of the sampled neighbours */
    /* int64 [2][edges]: local ids of the sources, then of the targets; a copy. */
    HONE_GNN_EDGES,
    HONE_GNN_LABELS_64, /* a copy of HONE_GNN_LABELS */
};
/* Returns NULL with an error if there is no such array. Only ROW, COL and EDGES use `hop`. */
HONE_GNN_EXPORT struct hone_gnn_tensor *hone_gnn_batch_tensor(struct hone_gnn_batch *b,
                                                              enum hone_gnn_array what, int hop);
/* Returns a checksum. `hone-gnn sample --digest` prints the sum over all batches. */
HONE_GNN_EXPORT uint64_t hone_gnn_batch_digest(const struct hone_gnn_batch *b);
HONE_GNN_EXPORT void hone_gnn_batch_drop(struct hone_gnn_batch *b);

#ifdef __cplusplus
}
#endif
#endif
