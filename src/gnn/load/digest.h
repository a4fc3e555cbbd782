/*
 * digest.h - one number for all that a batch holds, for telling whether two batches are equal.
 *
 * Digests of different batches may be added: the sum does not depend on the order of delivery,
 * because the number of the batch is part of its digest.
 */
#ifndef GNN_LOAD_DIGEST_H
#define GNN_LOAD_DIGEST_H

#include <stdint.h>

#include "gnn/batch.h"

uint64_t batch_digest(const struct gnn_batch *b);

#endif
