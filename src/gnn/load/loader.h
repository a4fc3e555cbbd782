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
 * A thread takes a free slot, samples the next batch into it, and copies (slices) features and
 * labels. So the number of slots bounds the memory.
 *
 * A batch depends only on the data, the options, its epoch and its number. With `ranks` processes,
 * each prepares an equal share of every batch's seeds. A share may be empty.
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
    int64_t batch_size; /* seeds in a batch, over all ranks; the last batch may be smaller */
    int threads, slots;
    int rank, ranks; /* 0 ranks are the same as 1 */
    bool shuffle;
    bool as_ready;   /* deliver batches in any order */
    bool no_slice;   /* leave out features and labels */
    bool seeds_only; /* a batch has only seeds and their labels */
    /* If set, each batch lies in one allocation of this memory, except with seeds_only. Borrowed.
     */
    const struct batch_memory *memory;
    /* If set, a thread calls it before it prepares batch `index`. If it returns -1, the epoch
     * fails. */
    int (*before)(void *ctx, int64_t index, struct err *err);
    void *ctx;
    struct trace *trace; /* or NULL */
};

struct loader;

/* Borrows `d` until loader_close. */
int loader_open(struct loader **out, const struct dataset *d, const struct loader_options *o,
                struct err *err);

/* Begins an epoch over these nodes, and cancels one that still runs. The consumer may still hold
 * batches of the old epoch; they stay valid. `ids` is borrowed until the epoch ends. */
int loader_start(struct loader *l, struct id_list ids, int64_t epoch, struct err *err);
/* Like loader_start, without the first `skip` batches. */
int loader_continue(struct loader *l, struct id_list ids, int64_t epoch, int64_t skip,
                    struct err *err);
/* Returns the number of batches in the epoch, with the skipped ones. */
int64_t loader_batches(const struct loader *l);

/* Waits for the next batch. Returns 1 with a batch, 0 at the end of the epoch, and -1 on an
 * error, after loader_cancel and after Ctrl-C. Only one thread may call this. Fails if all slots
 * hold batches that the consumer has not given back. */
int loader_next(struct loader *l, const struct gnn_batch **out, struct err *err);
/* Does the same, but returns LOADER_NOT_YET if no batch is ready after `ms` milliseconds. */
enum { LOADER_NOT_YET = 2 };
int loader_next_within(struct loader *l, int64_t ms, const struct gnn_batch **out, struct err *err);
void loader_give_back(struct loader *l, const struct gnn_batch *b);

/* Ends the epoch, so that loader_next fails. Any thread may call this at any time. */
void loader_cancel(struct loader *l);
void loader_close(struct loader *l);

/* Sums over all epochs. */
struct loader_times {
    uint64_t sample_ns, slice_ns; /* CPU time of the threads */
    uint64_t wait_ns;             /* how long the consumer was in loader_next */
};
struct loader_times loader_times(struct loader *l);

#endif
