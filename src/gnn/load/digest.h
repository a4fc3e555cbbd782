/*
 * digest.h - computes one number from the epoch, index, hops, nodes, features and labels of a
 * batch, to tell whether two batches are equal.
 *
 * Digests of several batches may be added. Epoch and index of a batch are part of its digest, so
 * the sum changes if two batches swap their contents.
 */
#ifndef GNN_LOAD_DIGEST_H
#define GNN_LOAD_DIGEST_H

#include <stdint.h>

#include "gnn/batch.h"

/* The arrays of the batch must be in the host's memory (on_device is false). */
uint64_t batch_digest(const struct gnn_batch *b);

#endif
