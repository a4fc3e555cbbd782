/*
 * exposed.h - measures which part of the training time each stage of the pipeline adds.
 *
 *     struct exposed e;
 *     if (exposed_measure(trainer, 32, &e, err) < 0) ...
 *     printf("%g s of preparation are exposed\n", e.preparation_s);
 *
 * The exposed time of a stage is the time that training would save if the results of the stage were
 * ready beforehand. So we train with the same batches in up to three ways:
 *
 *     whole       threads prepare the batches, copies bring them to the GPU, the device computes
 *     prepared    all batches are ready in host memory
 *     resident    batches are ready in the memory of the GPU
 *
 *     exposed preparation = whole - prepared,  exposed transfer = prepared - resident
 *
 * The CPU needs no transfer, so its transfer is 0. A GPU that samples has no prepared batches in
 * host memory: there the preparation is whole - resident. It includes the fetching of rows that
 * --place split keeps on the host.
 *
 * The time that training waits for batches (epoch_report.wait_s) is less than the exposed
 * preparation if the threads that prepare take processors or memory bandwidth from computing.
 */
#ifndef GNN_TRAIN_EXPOSED_H
#define GNN_TRAIN_EXPOSED_H

#include "gnn/train/train.h"

struct exposed {
    int64_t batches, rounds; /* how many batches each way trained, and how often */
    int64_t epoch_batches;   /* the batches of an epoch */
    /* Medians over the rounds, for one batch. The last three add up to the first. Differences of
     * equal times may be a little below 0. */
    double batch_s, train_s, preparation_s, transfer_s;
};

/* Trains with `batches` batches, but with at most an epoch and at most LOADER_MAX_SLOTS batches.
 * Keeps them in host memory at once. Not for several ranks. Changes the weights, so afterwards the
 * trainer can only be measured again or closed. */
int exposed_measure(struct trainer *t, int64_t batches, struct exposed *out, struct err *err);

#endif
