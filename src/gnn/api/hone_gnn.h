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
 * Arrays are tensors of DLPack, so Python hands them on without a copy (src/gnn/python/).
 *
 * Lifetime. A batch lies in one of the loader's slots. Its memory does not change until the caller
 * has dropped the batch and all its tensors; then the loader's threads fill the slot again. This is
 * also true if the caller closes the loader or begins another epoch in between. Data that the
 * caller has closed stays open until its loaders are closed and all its tensors are dropped.
 *
 * Threads. Any thread may drop batches and tensors and call hone_gnn_cancel. Only one thread at a
 * time may call the other functions on a loader.
 *
 * Processes. A forked child does not have the loader's threads. In a child, hone_gnn_open,
 * hone_gnn_start and hone_gnn_next fail on a handle of its parent, and dropping or closing does
 * nothing. The arrays of data and batches remain readable.
 *
 * Functions that return a pointer return NULL on an error. Functions that return int return -1.
 * hone_gnn_error() then says what failed, where, and what to do.
 */
#ifndef HONE_GNN_H
#define HONE_GNN_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define HONE_GNN_EXPORT __attribute__((visibility("default")))

/* HONE_GNN_API is the version of this interface. It increases with each change that breaks old
 * callers. HONE_GNN_HOPS is the largest number of hops that a batch can have. */
enum { HONE_GNN_API = 1, HONE_GNN_HOPS = 8 };
/* Returns the HONE_GNN_API of the library that is loaded. */
HONE_GNN_EXPORT int hone_gnn_api(void);

/* Returns the most recent error of the calling thread. */
HONE_GNN_EXPORT const char *hone_gnn_error(void);

/* A DLManagedTensor of DLPack. */
struct hone_gnn_tensor {
    void *data;
    int32_t device_type, device_id; /* always 1 and 0, which means the memory of the CPU */
    int32_t ndim;
    uint8_t code, bits; /* the element type: code is 0 for integers, 2 for floats */
    uint16_t lanes;     /* always 1 */
    int64_t *shape;
    int64_t *strides; /* always NULL, which means row-major */
    uint64_t byte_offset;
    void *context;
    void (*deleter)(struct hone_gnn_tensor *);
};

/* A function that returns a tensor gives its caller one reference to it. hone_gnn_tensor_keep adds
 * a reference, for a further consumer. hone_gnn_tensor_drop gives a reference back; so does the
 * tensor's `deleter`. */
HONE_GNN_EXPORT struct hone_gnn_tensor *hone_gnn_tensor_keep(struct hone_gnn_tensor *t);
HONE_GNN_EXPORT void hone_gnn_tensor_drop(struct hone_gnn_tensor *t);

/* ---- data ------------------------------------------------------------------------------------ */

struct hone_gnn_data;
struct hone_gnn_data_info {
    int64_t nodes, edges, classes;
    int64_t feature_dim;  /* values in the features of a node; 0 if there are no features */
    int32_t feature_bits; /* bits of such a value: 16 or 32 */
    int32_t labelled;     /* 1 if there are labels, else 0 */
};

/* Opens the data in the folder `dir`. `how` says how to bring it into memory: "auto", "read" or
 * "map"; see docs/gnn.md. */
HONE_GNN_EXPORT struct hone_gnn_data *hone_gnn_data_open(const char *dir, const char *how);
HONE_GNN_EXPORT struct hone_gnn_data_info hone_gnn_data_info(const struct hone_gnn_data *d);
/* Returns an array of the data by the name of its file: "offsets", "neighbours", "features",
 * "labels", "train", "valid", "test". Do not write to the array. */
HONE_GNN_EXPORT struct hone_gnn_tensor *hone_gnn_data_tensor(struct hone_gnn_data *d,
                                                             const char *name);
HONE_GNN_EXPORT void hone_gnn_data_close(struct hone_gnn_data *d);

/* ---- batches --------------------------------------------------------------------------------- */

struct hone_gnn_loader;
struct hone_gnn_batch;

struct hone_gnn_options {
    int64_t size; /* sizeof(struct hone_gnn_options) */
    /* Which nodes are the seeds, from which the batches start: "train", "valid" or "test". NULL
     * means the nodes in `ids`. */
    const char *split;
    /* The seeds if `split` is NULL: n_ids different nodes. hone_gnn_open copies the array. */
    const int32_t *ids;
    /* n_ids is the length of `ids`. batch_size is the number of seeds in a batch. If several
     * processes share the work, it counts the seeds of all of them. */
    int64_t n_ids, batch_size;
    const char *sampler;           /* "uniform", "replace" or "labor" */
    int32_t fanout[HONE_GNN_HOPS]; /* neighbours that each hop samples for a node; -1 means all */
    int32_t hops;                  /* 1 to HONE_GNN_HOPS */
    uint64_t seed;                 /* the seed of all random choices */
    /* How many threads prepare batches, and how many batches fit in memory at the same time. */
    int32_t threads, slots;
    /* Several processes can share the work. There are `ranks` processes, and `rank` is the number
     * of this one, from 0. Each process gets its own share of every batch. */
    int32_t rank, ranks;
    /* If `shuffle` is not 0, each epoch takes the seeds in another random order. If `as_ready` is
     * not 0, batches come as soon as they are ready, in any order. */
    int32_t shuffle, as_ready;
    int32_t no_features; /* if it is not 0, batches have no features and labels */
};

HONE_GNN_EXPORT struct hone_gnn_loader *hone_gnn_open(struct hone_gnn_data *d,
                                                      const struct hone_gnn_options *o);
/* Returns how many batches an epoch has. */
HONE_GNN_EXPORT int64_t hone_gnn_batches(const struct hone_gnn_loader *l);
/* Begins an epoch, and leaves out its first `skip` batches. If another epoch still runs, ends it
 * first. */
HONE_GNN_EXPORT int hone_gnn_start(struct hone_gnn_loader *l, int64_t epoch, int64_t skip);
/* Returns 1 with the next batch, 0 at the end of the epoch, or -1 on an error. Returns 2 if no
 * batch is ready after timeout_ms milliseconds. Waits without limit if timeout_ms is negative. */
HONE_GNN_EXPORT int hone_gnn_next(struct hone_gnn_loader *l, int64_t timeout_ms,
                                  struct hone_gnn_batch **out);
/* Ends the epoch. After that, hone_gnn_next fails. */
HONE_GNN_EXPORT void hone_gnn_cancel(struct hone_gnn_loader *l);
HONE_GNN_EXPORT void hone_gnn_close(struct hone_gnn_loader *l);

/* The sizes of a batch. src/gnn/batch.h says how a batch is built. */
struct hone_gnn_batch_info {
    int64_t hops;
    /* n_nodes[0] is the number of seeds. n_nodes[h] is the number of nodes that the batch has
     * before hop h, and n_nodes[hops] the number of all its nodes. */
    int64_t n_nodes[HONE_GNN_HOPS + 1];
    int64_t n_edges[HONE_GNN_HOPS]; /* n_edges[h] is the number of edges that hop h sampled */
    int64_t epoch, index;           /* `index` is the number of the batch in its epoch, from 0 */
};
HONE_GNN_EXPORT struct hone_gnn_batch_info hone_gnn_batch_info(const struct hone_gnn_batch *b);

/* The arrays of a batch, with their types and shapes. The local id of a node is its index in
 * HONE_GNN_NODES. The targets of hop h are the first n_nodes[h] nodes: the hop samples neighbours
 * of each of them. */
enum hone_gnn_array {
    HONE_GNN_NODES,    /* int32 [nodes]: the ids of the nodes in the graph, the seeds first */
    HONE_GNN_FEATURES, /* float16 or float32 [nodes][feature_dim] */
    HONE_GNN_LABELS,   /* int32 [seeds]: the class of each seed; -1 if it has no label */
    /* int32 [targets + 1]: the edges of target i of the hop are row[i] to row[i + 1] - 1. */
    HONE_GNN_ROW,
    HONE_GNN_COL, /* int32 [edges]: the local ids of the neighbours that the hop sampled */
    /* int64 [2][edges]: row 0 has the local id of each edge's source, row 1 that of its target.
     * This array is a copy. */
    HONE_GNN_EDGES,
    HONE_GNN_LABELS_64, /* int64 [seeds]: a copy of HONE_GNN_LABELS */
};
/* Returns an array of the batch, or NULL with an error if the batch does not have it. `hop` says
 * which hop; only ROW, COL and EDGES use it. */
HONE_GNN_EXPORT struct hone_gnn_tensor *hone_gnn_batch_tensor(struct hone_gnn_batch *b,
                                                              enum hone_gnn_array what, int hop);
/* Returns a checksum of the batch. `hone-gnn sample --digest` prints the sum of the checksums of
 * all batches. */
HONE_GNN_EXPORT uint64_t hone_gnn_batch_digest(const struct hone_gnn_batch *b);
HONE_GNN_EXPORT void hone_gnn_batch_drop(struct hone_gnn_batch *b);

#ifdef __cplusplus
}
#endif
#endif
