/*
 * loader.h - prepares batches in threads, ahead of the consumer.
 *
 *     struct loader *l;
 *     struct loader_options o = {.sample = {...}, .batch_size = 1024, .threads = 2, .slots = 4};
 *     if (loader_open(&l, &data, &o, err) < 0) ...
 *     loader_start(l, data.train, epoch, err);
 *     const struct gnn_batch *b;
 *     while ((rc = loader_next(l, &b, err)) > 0) {
 *         use(b);
 *         loader_give_back(l, b);
 *     }
 *     loader_close(l);
 *
 * Each thread takes a free slot and the next batch number together, and samples the batch into the
 * slot. Then it copies (slices) the features of the batch's nodes and the labels of its seeds into
 * the slot. If no slot is free, threads sleep: memory is bounded by the slots. The consumer gets
 * batches in order, or as they are ready. A thread that fails ends the epoch: loader_next then
 * returns -1 with the thread's error. No thread polls, except that loader_next wakes a few times a
 * second to notice Ctrl-C.
 *
 * A batch depends only on the data, the options, its epoch and its number. With `ranks` processes,
 * each of them prepares a part of every batch: an equal share of its seeds, and their sampled
 * neighbours. The sample of a node depends on the batch's number and on the node, so the parts
 * together sample the same neighbours as the whole batch does. If a batch has fewer seeds than
 * there are ranks, some parts are empty.
 */
#ifndef GNN_LOAD_LOADER_H
#define GNN_LOAD_LOADER_H

#include <stdbool.h>

#include "gnn/batch.h"
#include "gnn/data/dataset.h"
#include "gnn/load/pack.h"
#include "gnn/sample/sampler.h"
#include "gnn/trace.h"

enum { LOADER_MAX_THREADS = 256, LOADER_MAX_SLOTS = 1024 };

struct loader_options {
    struct sample_options sample;
    int64_t batch_size; /* seeds of a batch over all ranks; an epoch's last batch may be smaller */
    int threads, slots;
    int rank, ranks; /* if `ranks` is 0, it counts as 1 */
    bool shuffle;    /* shuffle the seed nodes anew for each epoch */
    bool as_ready;   /* deliver batches as they are ready, in any order */
    bool no_slice;   /* leave features and labels out */
    bool seeds_only; /* batches of 0 hops: only the seeds and their labels */
    /* If set, each batch with hops lies in one piece of this memory: gnn_batch.packed. The loader
     * borrows the allocator. */
    const struct batch_memory *memory;
    /* If set, a thread calls this function before it prepares a batch. If the function returns -1,
     * the epoch fails. */
    int (*before)(void *ctx, int64_t index, struct err *err);
    void *ctx;
    struct trace *trace; /* records what each thread does; or NULL */
};

struct loader;

/* The dataset must stay open until loader_close. */
int loader_open(struct loader **out, const struct dataset *d, const struct loader_options *o,
                struct err *err);

/* Begins an epoch over these nodes. An epoch that still runs is cancelled first. Batches that the
 * consumer still has stay as they are, and their slots stay in use until the consumer gives them
 * back. `ids` is borrowed until the epoch ends. */
int loader_start(struct loader *l, struct id_list ids, int64_t epoch, struct err *err);
/* Like loader_start, without the first `skip` batches: continues an epoch. */
int loader_continue(struct loader *l, struct id_list ids, int64_t epoch, int64_t skip,
                    struct err *err);
/* Returns how many batches the epoch has. */
int64_t loader_batches(const struct loader *l);

/* Waits for the next batch. Returns 1 with a batch, 0 at the end of the epoch, -1 on an error,
 * after loader_cancel, and after Ctrl-C. It is an error to call it while the consumer has all
 * slots. Only one thread may call it. */
int loader_next(struct loader *l, const struct gnn_batch **out, struct err *err);
/* Like loader_next, but returns LOADER_NOT_YET if no batch is ready after `ms` milliseconds. */
enum { LOADER_NOT_YET = 2 };
int loader_next_within(struct loader *l, int64_t ms, const struct gnn_batch **out, struct err *err);
void loader_give_back(struct loader *l, const struct gnn_batch *b);

/* Ends the epoch immediately. Any thread may call it, at any time. */
void loader_cancel(struct loader *l);
/* Ends the threads and frees everything, in any state. */
void loader_close(struct loader *l);

/* Sums over all epochs. */
struct loader_times {
    uint64_t sample_ns, slice_ns; /* CPU time of the threads */
    uint64_t wait_ns;             /* wall time that the consumer waited in loader_next */
};
struct loader_times loader_times(struct loader *l);

#endif
