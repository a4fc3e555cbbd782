/*
 * gpu_store.h - the graph and the features of a dataset in a GPU's memory, and the sampler there.
 *
 *     struct gpu_store *s;
 *     if (gpu_store_place(&s, &(struct gpu_placement){.place = GPU_PLACE_GPU}, device, &data,
 *                         &options, err) < 0) ...
 *     if (gpu_store_batch(s, &options, seeds, &batch, err) < 0) ...
 *     network_batch(network, &batch);                 its arrays are memory of the device
 *     gpu_store_close(s);
 *
 * The batch equals that of sampler_run() (gnn/sample/sampler.h) bit for bit: the same neighbours,
 * the same local ids. The sampler has a stream of its own, so it prepares a batch while the GPU
 * computes with the previous batch. A target is a node whose neighbours a hop samples. The hop is
 * sampled in padded form: with room for `fanout` neighbours of each target. A second kernel packs
 * the edges and numbers new nodes in order of first appearance. A table with an int32 for each node
 * of the graph gives the node's local id, so the sampler needs no hashing.
 *
 * With GPU_PLACE_SPLIT, only some rows of the features are in the GPU's memory: those that batches
 * need most often (vip.h). The GPU reads the other rows from host memory (gpu_cache.h). The batches
 * are the same as with GPU_PLACE_GPU.
 *
 * The sampler takes fanouts up to PICK_MAX_FANOUT, with and without replacement. It cannot take all
 * neighbours, and it cannot sample with LABOR-0.
 */
#ifndef GNN_GPU_GPU_STORE_H
#define GNN_GPU_GPU_STORE_H

#include "gnn/data/dataset.h"
#include "gnn/ops/ops.h"
#include "gnn/sample/sampler.h"

enum gpu_place { GPU_PLACE_HOST, GPU_PLACE_GPU, GPU_PLACE_SPLIT, GPU_PLACE_AUTO };

/* How much of the features GPU_PLACE_SPLIT caches in the GPU's memory. CACHE_FITS means as many
 * rows as fit into 3/4 of that memory, beside the graph. */
struct gpu_cache_size {
    enum { CACHE_FITS, CACHE_BYTES, CACHE_SHARE } kind;
    uint64_t bytes;
    double share; /* the share of all rows that is cached, from 0 to 1 */
};

/* Where the data goes. The members after `place` are used only if the features are split: with
 * GPU_PLACE_SPLIT, or if GPU_PLACE_AUTO chooses GPU_PLACE_SPLIT. Then the GPU's memory gets the
 * rows that the batches are likely to need most often. */
struct gpu_placement {
    enum gpu_place place;
    struct gpu_cache_size cache;
    struct id_list seeds; /* the seeds of all batches */
    int64_t batches;      /* how many batches the seeds are divided into */
    int threads;          /* how many threads choose and copy rows */
};

/* The sizes, in bytes, from which gpu_place_choose() decides. */
struct gpu_place_sizes {
    size_t memory;          /* the GPU's memory */
    size_t graph, features; /* `graph` includes the tables that the sampler needs */
    size_t split_table;     /* the further tables that GPU_PLACE_SPLIT needs */
    size_t host_free;       /* the free host memory; 0 if it is not known */
};

struct gpu_store;

/* Reads the value of --place: host, gpu, split or auto. NULL means auto. */
int gpu_place_parse(const char *text, enum gpu_place *out, struct err *err);
/* Reads the value of --cache: a share from 0 to 1, or a size. NULL means CACHE_FITS. */
int gpu_cache_parse(const char *text, struct gpu_cache_size *out, struct err *err);
/* Returns the place that GPU_PLACE_AUTO stands for. It is GPU_PLACE_GPU if all data takes at most
 * 3/4 of the GPU's memory. It is GPU_PLACE_SPLIT if the graph alone takes at most 3/4 of that
 * memory, and the rows that stay in host memory take at most 3/4 of the free host memory. Otherwise
 * it is GPU_PLACE_HOST. */
enum gpu_place gpu_place_choose(const struct gpu_place_sizes *s);
/* Opens a store if `where` asks for one, else sets *out to NULL. GPU_PLACE_GPU and GPU_PLACE_SPLIT
 * ask for a store; if it cannot be opened, the function fails. GPU_PLACE_AUTO asks for a store if
 * all of this is true: `d` is a GPU, the sampler can run with the options, the graph has an edge,
 * and gpu_place_choose() does not choose the host. The data of `--make papers` may have no graph in
 * host memory (data/papers.h). Then the place is GPU_PLACE_GPU, whatever `where` says. `data` must
 * outlive the store. */
int gpu_store_place(struct gpu_store **out, const struct gpu_placement *where, struct gnn_device *d,
                    const struct dataset *data, const struct sample_options *o, struct err *err);
void gpu_store_close(struct gpu_store *s);

/* How the features of a store with GPU_PLACE_SPLIT are split, and which rows batches needed. */
struct gpu_split {
    /* How many rows there are (one for each node), and how many of them are in the GPU's memory. */
    int64_t nodes, cached_rows;
    size_t row_bytes;
    double choose_s; /* how long it took to choose the rows */
    /* How many input rows all batches had since the store was opened, and how many of these came
     * from host memory. */
    int64_t input_rows, host_rows;
};
/* Fills *out. Returns false if the features are not split. Waits for the sampler. */
bool gpu_store_split(struct gpu_store *s, struct gpu_split *out);

/* The arrays of the store in the device's memory, shaped as in struct dataset. */
struct gpu_store_arrays {
    const void *offset, *neighbour, *feature;
};
struct gpu_store_arrays gpu_store_arrays(const struct gpu_store *s);
/* Returns 0 if the sampler can run with these options, else -1, and *err says why. */
int gpu_store_samples(const struct sample_options *o, struct err *err);
/* From now on, batches have the array `reduced` (gnn/batch.h): for each target, the sum or the mean
 * of its neighbours' features. `kind` says which of the two. The store computes it straight from
 * its features, so a batch need not hold the neighbours' rows. Does nothing if the features are
 * float32, or if `kind` is GNN_MAX. */
void gpu_store_reduce(struct gpu_store *s, enum gnn_segment kind);
/* Sets whether batches have the array `degree` (gnn/batch.h) from now on. */
void gpu_store_degrees(struct gpu_store *s, bool wanted);
/* Samples the batch *out for the seeds in *seeds, and gathers its features if the dataset has any.
 * The function reads these members of *seeds: n_nodes[0], node, label, seed, epoch, index and
 * first. The arrays of *seeds are host memory, and `label` may be NULL. The arrays of *out are
 * valid for work that is queued before the next call. */
int gpu_store_batch(struct gpu_store *s, const struct sample_options *o,
                    const struct gnn_batch *seeds, struct gnn_batch *out, struct err *err);

#endif
