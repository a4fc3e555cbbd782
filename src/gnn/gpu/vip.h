/*
 * vip.h - vertex inclusion probabilities (VIP): how likely each node is among the input nodes of a
 * batch.
 *
 *     float *p = xmalloc(nodes * sizeof *p);
 *     if (vip_compute(&graph, &options, data.train, batches, threads, p, err) < 0) ...
 *     vip_choose(p, nodes, rows, order);            order[0..rows-1]: the nodes to cache
 *
 * Each seed is in one of `batches` batches, so p_0 is 1/batches for a seed and 0 for any other
 * node. Here hops count from 1. Hop h takes k_h neighbours of every node u that the batch has by
 * then. It takes a given neighbour with probability q_h(u), which is min(1, k_h / deg(u)) without
 * replacement. Let p_h(v) be the probability that the batch has v after hop h. If the nodes of a
 * batch were independent, then
 *
 *     p_h(v) = 1 - (1 - p_0(v)) * product of (1 - a_h(u)) over all u with the neighbour v
 *
 * a_h(u) is the probability that one of the hops 1 to h takes a given neighbour of u. With one hop,
 * it is p_0(u) * q_1(u). A node that joins the batch early is sampled in each later hop, so we also
 * keep n_h(u), the probability that the batch has u and no hop took the given neighbour:
 *
 *     n_0 = p_0    a_h = p_{h-1} - n_{h-1} * (1 - q_h)    n_h = n_{h-1} * (1 - q_h) + p_h - p_{h-1}
 *
 * Nodes of a batch are not independent, so the numbers are not exact. But a node that batches need
 * more often gets a larger number.
 */
#ifndef GNN_GPU_VIP_H
#define GNN_GPU_VIP_H

#include "base/err.h"
#include "gnn/data/dataset.h"
#include "gnn/sample/sampler.h"

/* Writes the probability of each node to p. During the call it takes 12 more bytes of memory for
 * each node. The result does not depend on the number of threads. */
int vip_compute(const struct gnn_graph *g, const struct sample_options *o, struct id_list seeds,
                int64_t batches, int threads, float *p, struct err *err);
/* Writes all nodes to `order`: first the `rows` nodes with the largest probabilities, then the
 * others, both in the order of their ids. If probabilities are equal, it prefers the nodes with the
 * smallest ids. */
void vip_choose(const float *p, int64_t nodes, int64_t rows, int32_t *order);

#endif
