/*
 * slice.h - copies the rows of some nodes next to each other: the features and labels of a batch.
 */
#ifndef GNN_LOAD_SLICE_H
#define GNN_LOAD_SLICE_H

#include <stddef.h>
#include <stdint.h>

/* to[i] = from[node[i]], rows of row_bytes. */
void slice_rows(void *to, const void *from, size_t row_bytes, const int32_t *node, int64_t n);

#endif
