/*
 * pack.h - puts all arrays of a batch into one piece of memory, so that one copy brings the batch
 * to a device.
 *
 *     struct packed slot = {0};
 *     if (pack_batch(&slot, memory, &batch, row_bytes, true, err) < 0) ...
 *     packed_release(&slot, memory);
 */
#ifndef GNN_LOAD_PACK_H
#define GNN_LOAD_PACK_H

#include "base/err.h"
#include "gnn/batch.h"
#include "gnn/batch_memory.h"

enum { PACK_ALIGN = 256 }; /* each array begins at a multiple of this many bytes */

/* The memory of a packed batch. The next batch uses this memory again; the memory grows if a batch
 * needs more. */
struct packed {
    void *p;
    size_t bytes;
};

/* Copies the nodes and the hops of a sampled batch into *to and lets *b point there. Also makes
 * room for b->feature, `row_bytes` bytes for each input node, and for b->label if `labels` is true.
 * The caller fills these two. */
int pack_batch(struct packed *to, const struct batch_memory *m, struct gnn_batch *b,
               size_t row_bytes, bool labels, struct err *err);
void packed_release(struct packed *p, const struct batch_memory *m);

#endif
