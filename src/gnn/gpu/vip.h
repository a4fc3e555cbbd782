/*
 * vip.h - vertex inclusion probabilities (VIP): for each node, the probability that a batch has it
 * among its input nodes.
 *
 *     float *p = xmalloc(nodes * sizeof *p);
 *     if (vip_compute(&graph, &options, data.train, batches, threads, p, err) < 0) ...
 *     vip_choose(p, nodes, rows, order);            order[0..rows-1]: the nodes to cache
 *
 * Hops count from 1. p_h(v) is the probability that the batch has the node v after hop h. Each seed
 * is in one of `batches` batches, so p_0 is 1/batches for a seed and 0 for any other node.
 *
 * Hop h takes k_h neighbours of every node u that the batch has by then. It takes a given neighbour
 * with probability q_h(u), which is min(1, k_h / deg(u)) without replacement. If the nodes of a
 * batch were independent, then
 *
 *     p_h(v) = 1 - (1 - p_0(v)) * product of (1 - a_h(u)) over all u with the neighbour v
 *
 * a_h(u) is the probability that the batch has u and some hop up to h took a given neighbour of u.
 * n_h(u) is the probability that the batch has u and no hop up to h took that neighbour. For each
 * hop we compute a_h, then p_h as above, then n_h:
 *
 *     n_0 = p_0    a_h = p_{h-1} - n_{h-1} * (1 - q_h)    n_h = n_{h-1} * (1 - q_h) + p_h - p_{h-1}
 *
 * Nodes of a batch are not independent, so the numbers are estimates.
 */
#ifndef GNN_GPU_VIP_H
#define GNN_GPU_VIP_H

#include "base/err.h"
#include "gnn/data/dataset.h"
#include "gnn/sample/sampler.h"

/* Needs 12 more bytes for each node during the call. The result does not depend on `threads`. */
int vip_compute(const struct gnn_graph *g, const struct sample_options *o, struct id_list seeds,
                int64_t batches, int threads, float *p, struct err *err);
/* Writes to `order` the `rows` nodes with the largest probabilities, then the other nodes. Each
 * group is in the order of ids. If probabilities are equal, smaller ids win. */
void vip_choose(const float *p, int64_t nodes, int64_t rows, int32_t *order);

#endif
