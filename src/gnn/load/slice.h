/*
 * slice.h - copies the rows of a batch's nodes (features or labels) into one array, one after the
 * other.
 */
#ifndef GNN_LOAD_SLICE_H
#define GNN_LOAD_SLICE_H

#include <stddef.h>
#include <stdint.h>

/* to[i] = from[node[i]], for rows of row_bytes bytes. */
void slice_rows(void *to, const void *from, size_t row_bytes, const int32_t *node, int64_t n);

#endif
