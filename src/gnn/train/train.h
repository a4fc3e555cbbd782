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
 * depends on data, model, sampling, batch size, learning rate and seed. It has the same bits with
 * any number of threads, and also after an interruption, if --resume continues the run.
 *
 * With `comm`, several processes (ranks) train one model. Each computes with its share of every
 * batch, and the ranks average their gradients, so all ranks have the same weights after every
 * batch. The losses are those that one process would get, apart from rounding. Models with batch
 * norm are an exception: each rank normalises with the statistics of its own rows. Rank 0 writes
 * the checkpoints.
 */
#ifndef GNN_TRAIN_TRAIN_H
#define GNN_TRAIN_TRAIN_H

#include "gnn/comm/comm.h"
#include "gnn/load/loader.h"
#include "gnn/train/checkpoint.h"
#include "gnn/train/feed.h"

struct train_options {
    /* The trainer sets the members `features` and `classes` from the data, and `layers` from
     * load.sample.hops. */
    struct gnn_model_config model;
    /* load.sample.seed is also the seed of the weights and of dropout. The trainer sets `rank` and
     * `ranks` from `comm`. */
    struct loader_options load;
    struct comm *comm; /* connects the ranks; NULL if there is only this process */
    /* If the ranks compute on GPUs, average the gradients with NCCL, and not in host memory. */
    bool nccl;
    int threads; /* how many threads compute, if the device is the CPU */
    /* The next three are as in gnn/gpu/devices.h. NULL stands for "cpu", "fp32" and "wgmma". */
    const char *device;
    const char *precision;
    const char *products;
    bool profile;         /* measure the times of a GPU's kernels */
    enum gpu_place place; /* where the data lies; see gnn/gpu/gpu_store.h */
    /* Only for GPU_PLACE_SPLIT: how much of the features lies in the GPU's memory. */
    struct gpu_cache_size cache;
    /* How many batches are copied to a GPU while it computes. If 0, the GPU waits for each copy. */
    int ahead;
    double lr;              /* the learning rate */
    const char *checkpoint; /* the file for checkpoints; NULL means that none are written */
    /* The trainer writes a checkpoint after each epoch. If checkpoint_batches is not 0, it also
     * writes one after every checkpoint_batches batches of an epoch. */
    int64_t checkpoint_batches;
    bool resume; /* continue from the checkpoint if the file exists */
    /* If not NULL, the trainer calls this function after each batch. `batch` says how many of the
     * epoch's batches are done, and `batches` how many there are. */
    void (*progress)(void *ctx, int64_t epoch, int64_t batch, int64_t batches,
                     const struct gnn_loss *so_far);
    void *ctx;
};

struct epoch_report {
    /* `epoch` counts from 0. `batches` is how many batches the epoch has. first_batch is the number
     * of the first batch that this call of trainer_epoch() trained. It is not 0 if the call
     * continued an interrupted epoch. */
    int64_t epoch, batches, first_batch;
    struct gnn_loss loss; /* the loss over the whole epoch */
    /* How many seeds, input nodes and edges the batches from first_batch on had, over all ranks. */
    int64_t seeds, input_nodes, edges;
    int hops;
    /* The sums of n_nodes and n_edges (struct gnn_batch) over the batches of this rank. */
    int64_t hop_nodes[GNN_MAX_HOPS + 1], hop_edges[GNN_MAX_HOPS];
    bool split; /* the features are split between the GPU's memory and host memory */
    /* If they are split: how many input rows, and how many bytes, came from host memory, over all
     * ranks. */
    int64_t host_rows, host_bytes;
    double wall_s;     /* the time of the whole call */
    double train_s;    /* the time spent computing */
    double wait_s;     /* the time spent waiting for the next batch to be prepared */
    double transfer_s; /* the time that a GPU spent waiting for copies of batches */
    double save_s;     /* the time spent writing checkpoints */
};

struct trainer;
struct gnn_kernel_time;

/* Sets *reals to the number of elements of the largest array that the ranks add up.
 * comm_open_shared() needs it. */
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
/* Returns a text that says how products are computed. */
const char *trainer_products(const struct trainer *t);
/* Returns the feed, which brings batches to the device (feed.h). */
const struct feed *trainer_feed(const struct trainer *t);

/* Sets *out to the times of the device's kernels and returns how many there are, as
 * gnn_device_kernel_times() does. */
int trainer_kernel_times(const struct trainer *t, const struct gnn_kernel_time **out);

#endif
