/*
 * graph.h - a graph in compressed sparse rows, as the sampler reads it.
 *
 * The neighbours of node v are neighbour[offset[v]] .. neighbour[offset[v + 1] - 1]. Whoever fills
 * this struct guarantees: offset[0] is 0, offsets never decrease, no degree exceeds
 * GNN_MAX_DEGREE, and every neighbour is from 0 to nodes - 1. If the graph comes from files,
 * data/dataset.c checks all of this.
 */
#ifndef GNN_GRAPH_H
#define GNN_GRAPH_H

#include <stdint.h>

#define GNN_MAX_NODES INT64_C(0x7ffffffe) /* ids and local ids are int32 */
#define GNN_MAX_DEGREE INT64_C(0x7fffffff)
#define GNN_MAX_EDGES (INT64_C(1) << 40)

struct gnn_graph {
    int64_t nodes, edges;
    const int64_t *offset;
    const int32_t *neighbour;
};

#endif
