/*
 * edge_sort.h - sorts more edges than memory holds.
 *
 *     struct edge_sort *s;
 *     if (edge_sort_open(&s, dir, nodes, entries, memory_bytes, err) < 0) ...
 *     edge_sort_add(s, u, v, err);                  `entries` times at most
 *     edge_sort_finish(s, on_row, ctx, err);        calls on_row for every node, in order
 *     edge_sort_free(s);
 *
 * The nodes are cut into ranges. An edge belongs to the range of the node where it begins. The
 * edges of one range should fit into memory. Each range has a file: edge_sort_add() writes the
 * range's edges to it, and edge_sort_finish() sorts one file after the other. If all edges fit into
 * memory, no file is written. If few nodes have most of the edges, the edges of a range may not
 * fit. Then the error says how much memory would be enough.
 */
#ifndef GNN_DATA_EDGE_SORT_H
#define GNN_DATA_EDGE_SORT_H

#include <stdint.h>

#include "base/err.h"

struct edge_sort;

int edge_sort_open(struct edge_sort **out, const char *dir, int64_t nodes, int64_t entries,
                   uint64_t memory_bytes, struct err *err);
int edge_sort_add(struct edge_sort *s, int32_t from, int32_t to, struct err *err);

/* edge_sort_finish() calls this for every node, in order. The neighbours are sorted, without
 * duplicates. If the function returns -1, edge_sort_finish() fails. */
typedef int (*edge_row_fn)(void *ctx, int32_t node, const int32_t *neighbour, int64_t n,
                           struct err *err);
int edge_sort_finish(struct edge_sort *s, edge_row_fn fn, void *ctx, struct err *err);
void edge_sort_free(struct edge_sort *s); /* removes its files */

#endif
