/*
 * gpu_store.h - the graph and the features of a dataset in a GPU's memory, and the sampler there.
 *
 *     struct gpu_store *s;
 *     if (gpu_store_place(&s, &(struct gpu_placement){.place = GPU_PLACE_GPU}, device, &data,
 *                         &options, err) < 0) ...
 *     if (gpu_store_batch(s, &options, seeds, &batch, err) < 0) ...
 *     network_batch(network, &batch);                 the batch's arrays are device memory
 *     gpu_store_close(s);
 *
 * The batch equals that of sampler_run() (gnn/sample/sampler.h) bit for bit. The sampler has a
 * stream of its own, so it prepares a batch while the GPU computes with the previous one.
 *
 * With GPU_PLACE_SPLIT, the GPU's memory has only the rows of features that batches need most often
 * (vip.h). The GPU reads the other rows from host memory (gpu_cache.h).
 *
 * The sampler takes fanouts up to PICK_MAX_FANOUT, but not all neighbours, and not LABOR-0.
 */
#ifndef GNN_GPU_GPU_STORE_H
#define GNN_GPU_GPU_STORE_H

#include "gnn/data/dataset.h"
#include "gnn/ops/ops.h"
#include "gnn/sample/sampler.h"

enum gpu_place { GPU_PLACE_HOST, GPU_PLACE_GPU, GPU_PLACE_SPLIT, GPU_PLACE_AUTO };

/* How many rows GPU_PLACE_SPLIT caches. CACHE_FITS: all that fit beside the graph into 3/4 of the
 * GPU's memory. */
struct gpu_cache_size {
    enum { CACHE_FITS, CACHE_BYTES, CACHE_SHARE } kind;
    uint64_t bytes;
    double share; /* the share of all rows, from 0 to 1 */
};

/* Where the data should lie. The members after `place` matter only if the features are split. */
struct gpu_placement {
    enum gpu_place place;
    struct gpu_cache_size cache;
    struct id_list seeds; /* the seeds of all batches */
    int64_t batches;      /* batches in an epoch */
    int threads;          /* threads that choose and copy rows */
};

/* The sizes that decide where data can lie, in bytes. */
struct gpu_place_sizes {
    size_t memory;          /* the GPU's memory */
    size_t graph, features; /* `graph` includes the sampler's tables */
    size_t split_table;     /* further tables for GPU_PLACE_SPLIT */
    size_t host_free;       /* 0 if it is not known */
};

struct gpu_store;

/* How many sampled batches the GPU's memory holds: one is in use, one is sampled already, one is
 * being sampled. */
enum { GPU_STORE_SLOTS = 3 };

/* Reads the value of --place: host, gpu, split or auto. NULL means auto. */
int gpu_place_parse(const char *text, enum gpu_place *out, struct err *err);
/* Reads the value of --cache: a share from 0 to 1, or a size. NULL means CACHE_FITS. */
int gpu_cache_parse(const char *text, struct gpu_cache_size *out, struct err *err);
/* Decides what GPU_PLACE_AUTO stands for. Data may take 3/4 of the GPU's memory, and 3/4 of the
 * free host memory if that is known. */
enum gpu_place gpu_place_choose(const struct gpu_place_sizes *s);
/* Opens a store on the GPU, or sets *out to NULL if the data stays on the host. With GPU_PLACE_AUTO
 * it also stays there if `d` is no GPU, if the sampler cannot run with the options, or if the graph
 * has no edge. Data of PAPERS_ON_DEVICE (data/papers.h) always goes to the GPU. `data` must outlive
 * the store. */
int gpu_store_place(struct gpu_store **out, const struct gpu_placement *where, struct gnn_device *d,
                    const struct dataset *data, const struct sample_options *o, struct err *err);
void gpu_store_close(struct gpu_store *s);

struct gpu_split {
    int64_t nodes, cached_rows;
    size_t row_bytes;
    double choose_s; /* how long it took to choose the cached rows */
    /* Rows of all batches so far. host_rows of them came from host memory. */
    int64_t input_rows, host_rows;
};
/* Returns false if the features are not split. Waits for the sampler. */
bool gpu_store_split(struct gpu_store *s, struct gpu_split *out);

/* Arrays in device memory, with the same contents as in struct dataset. */
struct gpu_store_arrays {
    const void *offset, *neighbour, *feature;
};
struct gpu_store_arrays gpu_store_arrays(const struct gpu_store *s);
/* Returns -1 if the sampler cannot run with these options. */
int gpu_store_samples(const struct sample_options *o, struct err *err);
/* From now on, batches have the array `reduced` (gnn/batch.h), unless the features are float32 or
 * `kind` is GNN_MAX. */
void gpu_store_reduce(struct gpu_store *s, enum gnn_segment kind);
/* With `wanted`, batches have the array `degree` from now on. */
void gpu_store_degrees(struct gpu_store *s, bool wanted);
/* Samples *out for *seeds, and gathers its features if the dataset has any. Reads these members of
 * *seeds: n_nodes[0], node, label, seed, epoch, index and first. The arrays of *seeds are host
 * memory; `label` may be NULL. The arrays of *out are valid for work that is queued before the next
 * call. */
int gpu_store_batch(struct gpu_store *s, const struct sample_options *o,
                    const struct gnn_batch *seeds, struct gnn_batch *out, struct err *err);

#endif
