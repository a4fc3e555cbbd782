/*
 * gpu_store.h - the graph and the features of a dataset in a GPU's memory, and the sampler there.
 *
 *     struct gpu_store *s;
 *     if (gpu_store_open(&s, device, &data, err) < 0) ...
 *     if (gpu_store_batch(s, &options, seeds, &batch, err) < 0) ...
 *     network_batch(network, &batch);                 its arrays are memory of the device
 *     gpu_store_close(s);
 *
 * The batch equals that of sampler_run() (gnn/sample/sampler.h) bit for bit: the same picks, the
 * same numbers of nodes. A hop is sampled in padded form, with room for `fanout` neighbours of each
 * target; a second kernel packs the edges and numbers new nodes in order of first appearance. The
 * store keeps one table with an int32 for each node of the graph, so it needs no hashing.
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

int gpu_place_parse(const char *text, enum gpu_place *out, struct err *err);
/* Opens a store if `place` asks for it, else sets *out to NULL. With GPU_PLACE_AUTO it opens one if
 * `d` is a GPU, the sampler knows the options, and the data takes at most 3/4 of the GPU's
 * memory. */
int gpu_store_place(struct gpu_store **out, enum gpu_place place, struct gnn_device *d,
                    const struct dataset *data, const struct sample_options *o, struct err *err);
void gpu_store_close(struct gpu_store *s);

/* Says whether the sampler can run with these options; if not, why. */
int gpu_store_samples(const struct sample_options *o, struct err *err);
/* Samples a batch for the seeds of *seeds (n_nodes[0], node, label, epoch, index, first; host
 * memory) and gathers its features. The arrays of *out are valid until the next call. */
int gpu_store_batch(struct gpu_store *s, const struct sample_options *o,
                    const struct gnn_batch *seeds, struct gnn_batch *out, struct err *err);

#endif
