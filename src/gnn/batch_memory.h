/*
 * batch_memory.h - the functions that allocate memory for batches. For a GPU they allocate pinned
 * memory, from which the GPU copies by itself.
 */
#ifndef GNN_BATCH_MEMORY_H
#define GNN_BATCH_MEMORY_H

#include <stddef.h>

#include "base/err.h"

/* Several threads call grab() at the same time. */
struct batch_memory {
    void *(*grab)(void *ctx, size_t bytes, struct err *err); /* returns NULL after a failure */
    void (*drop)(void *ctx, void *p);
    void *ctx;
};

#endif
