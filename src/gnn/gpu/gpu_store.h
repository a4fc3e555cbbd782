/*
 * gpu_store.h - the graph and the features of a dataset in a GPU's memory, and the sampler there.
 *
 *     struct gpu_store *s;
 *     if (gpu_store_place(&s, GPU_PLACE_GPU, device, &data, &options, err) < 0) ...
 *     if (gpu_store_batch(s, &options, seeds, &batch, err) < 0) ...
 *     network_batch(network, &batch);                 its arrays are memory of the device
 *     gpu_store_close(s);
 *
 * The batch equals that of sampler_run() (gnn/sample/sampler.h) bit for bit: the same neighbours,
 * the same local ids. The sampler has a stream of its own, so it prepares a batch while the GPU
 * computes with the batch before. A hop is sampled in padded form, with room for `fanout`
 * neighbours of each target; a second kernel packs the edges and numbers new nodes in order of
 * first appearance. The store keeps one table with an int32 for each node of the graph, so it needs
 * no hashing.
 *
 * The sampler knows fanouts up to PICK_MAX_FANOUT, with and without replacement. It does not know
 * `all` and LABOR-0.
 */
#ifndef GNN_GPU_GPU_STORE_H
#define GNN_GPU_GPU_STORE_H

#include "gnn/data/dataset.h"
#include "gnn/ops/ops.h"
#include "gnn/sample/sampler.h"

enum gpu_place { GPU_PLACE_HOST, GPU_PLACE_GPU, GPU_PLACE_AUTO };

struct gpu_store;

/* Reads the value of --place: host, gpu or auto. NULL means auto. */
int gpu_place_parse(const char *text, enum gpu_place *out, struct err *err);
/* Opens a store if `place` asks for one, else sets *out to NULL. With GPU_PLACE_AUTO it opens a
 * store if `d` is a GPU, the sampler knows the options, the graph has an edge, and the data takes
 * at most 3/4 of the GPU's memory. With GPU_PLACE_GPU it fails if it cannot open a store. If the
 * data was made by papers.h and has no graph in host memory, `place` counts as GPU_PLACE_GPU.
 * `data` must outlive the store. */
int gpu_store_place(struct gpu_store **out, enum gpu_place place, struct gnn_device *d,
                    const struct dataset *data, const struct sample_options *o, struct err *err);
void gpu_store_close(struct gpu_store *s);

/* The arrays of the store in the device's memory, shaped as in struct dataset. */
struct gpu_store_arrays {
    const void *offset, *neighbour, *feature;
};
struct gpu_store_arrays gpu_store_arrays(const struct gpu_store *s);
/* Returns 0 if the sampler can run with these options, else -1, and *err says why. */
int gpu_store_samples(const struct sample_options *o, struct err *err);
/* From now on, batches with features in half precision have `reduced` (gnn/batch.h), computed
 * straight from the store's features: a sum or a mean, as `kind` says. So the batch need not hold
 * the rows that only the reduction reads. With GNN_MAX, batches have no `reduced`. */
void gpu_store_reduce(struct gpu_store *s, enum gnn_segment kind);
/* Sets whether batches have `degree` from now on. */
void gpu_store_degrees(struct gpu_store *s, bool wanted);
/* Samples a batch for the seeds of *seeds, and gathers its features if the dataset has any. Of
 * *seeds it reads n_nodes[0], node, label, seed, epoch, index and first; the arrays are host
 * memory, and label may be NULL. The arrays of *out are valid for work that is queued before the
 * next call. */
int gpu_store_batch(struct gpu_store *s, const struct sample_options *o,
                    const struct gnn_batch *seeds, struct gnn_batch *out, struct err *err);

#endif
