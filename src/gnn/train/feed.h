/*
 * feed.h - brings the batches of a loader to the device.
 *
 *     struct feed f;
 *     if (feed_open(&f, &placement, 2, device, &data, &options.sample, err) < 0) ...
 *     feed_options(&f, &options);                           before loader_open
 *     while ((rc = loader_next(loader, &b, err)) > 0) {
 *         if (feed_batch(&f, &options.sample, b, &own, &use, err) < 0) ...
 *         network_batch(network, use);
 *         ...
 *         feed_give_back(&f, loader, options.slots, b);
 *     }
 *     feed_end(&f, loader);
 *     feed_close(&f);                                       after loader_close
 *
 * With `store`, the GPU samples. With `transfer`, the loader prepares batches in pinned memory, and
 * a stream copies them ahead. With neither, a GPU copies the loader's arrays when it needs them.
 */
#ifndef GNN_TRAIN_FEED_H
#define GNN_TRAIN_FEED_H

#include "gnn/gpu/gpu_store.h"
#include "gnn/gpu/gpu_transfer.h"
#include "gnn/load/loader.h"
#include "gnn/model/network.h"

/* At most one member is not NULL. */
struct feed {
    struct gpu_store *store;
    struct gpu_transfer *transfer;
};

/* Opens a store if gpu_store_place() decides so. Otherwise, on a GPU, opens a transfer unless
 * `ahead` is 0. */
int feed_open(struct feed *f, const struct gpu_placement *where, int ahead, struct gnn_device *d,
              const struct dataset *data, const struct sample_options *o, struct err *err);
void feed_close(struct feed *f);
/* From now on, batches have all that the network reads in this mode. Features over the last hop may
 * be reduced (gnn_batch.reduced). */
void feed_prepare(const struct feed *f, const struct gnn_network *n, enum gnn_mode mode);
/* Returns how many of the newest batches from feed_batch() stay in the GPU's memory; 0 without a
 * GPU. */
int feed_slots(const struct feed *f);
/* Returns how many seconds the GPU has waited for copies so far. */
double feed_exposed_s(const struct feed *f);

/* If the features are split between GPU and host, fills *out and returns true. Otherwise sets all
 * of *out to 0. */
bool feed_split(const struct feed *f, struct gpu_split *out);

/* Sets what the loader prepares, and where. */
void feed_options(const struct feed *f, struct loader_options *o);
/* Sets *use to the batch for the network: *b itself, or *own with arrays in device memory. */
int feed_batch(const struct feed *f, const struct sample_options *o, const struct gnn_batch *b,
               struct gnn_batch *own, const struct gnn_batch **use, struct err *err);
/* Call this after all work on the batch was queued. Gives back the batches that the device no
 * longer reads. With `transfer`, waits until at most `ahead` batches are on their way and one of
 * the loader's `slots` is free. */
void feed_give_back(const struct feed *f, struct loader *l, int slots, const struct gnn_batch *b);
/* Waits for all copies and gives back all batches. */
void feed_end(const struct feed *f, struct loader *l);

#endif
