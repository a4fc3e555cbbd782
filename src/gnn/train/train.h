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
 * The result has the same bits with any number of threads, and also if `resume` continues an
 * interrupted run.
 *
 * With `comm`, several processes (ranks) train one model. Each computes its share of every batch,
 * and the ranks average their gradients. The losses are those of a single process, apart from
 * rounding. But with batch norm, each rank normalises with the statistics of its own rows. Rank 0
 * writes the checkpoints.
 */
#ifndef GNN_TRAIN_TRAIN_H
#define GNN_TRAIN_TRAIN_H

#include "gnn/comm/comm.h"
#include "gnn/load/loader.h"
#include "gnn/train/checkpoint.h"
#include "gnn/train/feed.h"

struct train_options {
    /* The trainer sets `features`, `classes` and `layers`. */
    struct gnn_model_config model;
    /* load.sample.seed is also the seed of the weights and of dropout. The trainer sets `rank` and
     * `ranks` from `comm`. */
    struct loader_options load;
    struct comm *comm; /* NULL = only this process */
    /* average gradients with NCCL, and not in host memory */
    bool nccl;
    int threads; /* how many threads compute on the CPU */
    /* As in gnn/gpu/devices.h. NULL means "cpu", "fp32" and "wgmma". */
    const char *device;
    const char *precision;
    const char *products;
    bool profile;         /* measure the times of kernels */
    enum gpu_place place; /* where the data lies; see gnn/gpu/gpu_store.h */
    /* how many rows to cache with GPU_PLACE_SPLIT */
    struct gpu_cache_size cache;
    /* How many batches are copied to a GPU while it computes. 0 = the GPU waits for each copy. */
    int ahead;
    double lr;
    const char *checkpoint; /* file; NULL = none */
    /* Also write a checkpoint after so many batches. 0 = only after epochs. */
    int64_t checkpoint_batches;
    bool resume; /* continue from the checkpoint if it exists */
    /* Called after each batch, unless NULL. */
    void (*progress)(void *ctx, int64_t epoch, int64_t batch, int64_t batches,
                     const struct gnn_loss *so_far);
    void *ctx;
};

struct epoch_report {
    /* `epoch` counts from 0. first_batch is not 0 if this call continued an epoch. */
    int64_t epoch, batches, first_batch;
    struct gnn_loss loss; /* of the whole epoch */
    /* over all ranks, from first_batch on */
    int64_t seeds, input_nodes, edges;
    int hops;
    /* sums of gnn_batch's n_nodes and n_edges in this rank */
    int64_t hop_nodes[GNN_MAX_HOPS + 1], hop_edges[GNN_MAX_HOPS];
    bool split; /* the features are split between GPU and host memory */
    /* if split: what came from host memory, over all ranks */
    int64_t host_rows, host_bytes;
    double wall_s;     /* time of the whole call */
    double train_s;    /* time spent on computing */
    double wait_s;     /* time spent on waiting for prepared batches */
    double transfer_s; /* how long a GPU waited for copies */
    double save_s;     /* time spent on writing checkpoints */
};

struct trainer;
struct gnn_kernel_time;

/* Sets *reals to the length of the longest array that the ranks average. comm_open_shared() needs
 * it. */
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
const char *trainer_products(const struct trainer *t);
const struct feed *trainer_feed(const struct trainer *t);
/* Returns the options that trainer_open() got, plus the members that the trainer sets itself. */
const struct train_options *trainer_options(const struct trainer *t);
const struct dataset *trainer_data(const struct trainer *t);
struct gnn_device *trainer_device(const struct trainer *t);

/* ---- single steps, for measurements (exposed.h) ---- */
/* Closes the trainer's loader, which frees the memory of its slots. From now on the trainer adds
 * no spans to the trace, and trainer_epoch() must not be called. */
void trainer_measures(struct trainer *t);
/* Trains with a batch that feed_batch() delivered. The batch must stay until trainer_settle(). */
int trainer_step(struct trainer *t, const struct gnn_batch *b, struct err *err);
/* Waits until the device has done all steps. */
int trainer_settle(struct trainer *t, struct err *err);

int trainer_kernel_times(const struct trainer *t, const struct gnn_kernel_time **out);

#endif
