/*
 * train.h - trains a model on a dataset, epoch by epoch.
 *
 *     struct train_options o = {.model = {.kind = GNN_SAGE, .layers = 3, .hidden = 256, ...},
 *                               .load = {.sample = {.hops = 3, .fanout = {15, 10, 5}}, ...},
 *                               .lr = 0.003, .checkpoint = "run.ckpt"};
 *     struct trainer *t;
 *     if (trainer_open(&t, &data, &o, err) < 0) ...
 *     while (trainer_epochs_done(t) < 10)
 *         if (trainer_epoch(t, &report, err) < 0) ...
 *     trainer_close(t);
 *
 * The threads of the loader prepare batches while the threads of the device compute. The result
 * depends on data, model, sampling, batch size, learning rate and seed. The numbers of threads do
 * not change a bit of it. Neither does an interruption after which --resume continues.
 *
 * With `comm`, several processes (ranks) train one model. Each computes with its share of every
 * batch, and the ranks average their gradients, so all have the same weights after every batch. The
 * losses are those of one process, apart from rounding. Models with batch norm are an exception:
 * each rank normalises with the statistics of its own rows. Rank 0 writes the checkpoints.
 */
#ifndef GNN_TRAIN_TRAIN_H
#define GNN_TRAIN_TRAIN_H

#include "gnn/comm/comm.h"
#include "gnn/load/loader.h"
#include "gnn/train/checkpoint.h"
#include "gnn/train/feed.h"

struct train_options {
    struct gnn_model_config model; /* features, classes and layers come from the data and sample */
    /* load.sample.seed is also the seed of the weights and of dropout; the rank comes from comm */
    struct loader_options load;
    struct comm *comm;     /* NULL = one process */
    bool nccl;             /* with comm and a GPU: average with NCCL, not in host memory */
    int threads;           /* how many threads compute, on the CPU */
    const char *device;    /* see gnn/gpu/devices.h; NULL = "cpu" */
    const char *precision; /* precision of products: NULL = "fp32"; see gnn/gpu/devices.h */
    const char *products;  /* instructions of products on a GPU: NULL = "wgmma" */
    bool profile;          /* measure the times of a GPU's kernels */
    enum gpu_place place;  /* where the data lies; see gnn/gpu/gpu_store.h */
    /* with GPU_PLACE_SPLIT: how much of the features lies in the GPU's memory */
    struct gpu_cache_size cache;
    int ahead; /* batches copied to a GPU while it computes; 0 = the GPU waits for each copy */
    double lr;
    const char *checkpoint;     /* file; NULL = none */
    int64_t checkpoint_batches; /* also save whenever this many batches are done; 0 = only after
                                 * each epoch */
    bool resume;                /* continue from the checkpoint if it exists */
    /* If set, called after each batch. */
    void (*progress)(void *ctx, int64_t epoch, int64_t batch, int64_t batches,
                     const struct gnn_loss *so_far);
    void *ctx;
};

struct epoch_report {
    int64_t epoch, batches, first_batch; /* first_batch > 0 if an interrupted epoch was continued */
    struct gnn_loss loss;                /* loss over the whole epoch */
    /* how many were in the batches since first_batch, over all ranks */
    int64_t seeds, input_nodes, edges;
    int hops;
    /* n_nodes and n_edges of struct gnn_batch, summed over the batches of this rank */
    int64_t hop_nodes[GNN_MAX_HOPS + 1], hop_edges[GNN_MAX_HOPS];
    bool split;                    /* the features are split between the GPU and the host */
    int64_t host_rows, host_bytes; /* input rows that came from the host, over all ranks */
    double wall_s;
    double train_s;    /* computing */
    double wait_s;     /* waiting for a batch: the preparation that computing does not hide */
    double transfer_s; /* a GPU waiting for copies: the transfer that computing does not hide */
    double save_s;     /* writing checkpoints */
};

struct trainer;
struct gnn_kernel_time;

/* Sets *reals to the size of the largest array that the ranks reduce, for comm_open_shared(). */
int trainer_shared_reals(const struct dataset *d, const struct train_options *o, int64_t *reals,
                         struct err *err);
int trainer_open(struct trainer **out, const struct dataset *d, const struct train_options *o,
                 struct err *err);
void trainer_close(struct trainer *t);
/* Trains the rest of the current epoch. A loss that is not finite is an error. */
int trainer_epoch(struct trainer *t, struct epoch_report *r, struct err *err);
int64_t trainer_epochs_done(const struct trainer *t);
struct gnn_network *trainer_network(struct trainer *t);
const struct gnn_program *trainer_program(const struct trainer *t);
const char *trainer_products(const struct trainer *t);    /* says how products are computed */
const struct feed *trainer_feed(const struct trainer *t); /* how batches come to the device */

/* The times of the device's kernels, as gnn_device_kernel_times() gives them. */
int trainer_kernel_times(const struct trainer *t, const struct gnn_kernel_time **out);

#endif
