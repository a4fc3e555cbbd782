/*
 * digest.h - one number for all that a batch holds, for telling whether two batches are equal.
 *
 * Digests of several batches may be added. Epoch and number of a batch are part of its digest, so
 * the sum changes if two batches swap their contents.
 */
#ifndef GNN_LOAD_DIGEST_H
#define GNN_LOAD_DIGEST_H

#include <stdint.h>

#include "gnn/batch.h"

uint64_t batch_digest(const struct gnn_batch *b);

#endif
