/*
 * cost.h - what kind of work a graph does, how many flops it takes, and how many bytes it must
 * move.
 *
 *     graph_class(&g)                   CLASS_GEMM
 *     graph_flops(&g)->text             "2*K*M*N+M*N"
 *     graph_bytes(&g)->text             every used input read once, every output written once
 *
 * Values that no output needs are ignored. If the graph has exactly one matrix product,
 * convolution, attention, recurrent layer, norm, softmax, scan, gather or loss, that operation
 * gives the class (a recurrent layer is a scan, a loss is a reduction). Elementwise operations and
 * views around it do not matter. A graph with several such operations is a chain; so is a graph
 * with one product, convolution, attention or recurrent layer and a reduction. A graph that has
 * only reductions is a norm if the result of one is broadcast back to larger values, else a
 * reduction. All other graphs are elementwise, or a transpose if they permute axes and compute
 * nothing.
 */
#ifndef GRAPH_COST_H
#define GRAPH_COST_H

#include "graph/graph.h"
#include "task/task.h"

enum task_class graph_class(const struct graph *g);
/* The results belong to g's pool of sizes. If triu or tril keeps a triangle of a product of
 * matrices, and nothing else uses the product, graph_flops() does not count the whole product, but
 * only an estimate for the triangle. */
const struct dim *graph_flops(struct graph *g);
/* The flops of one value that has operands. */
const struct dim *value_flops(struct graph *g, const struct value *v);
const struct dim *graph_bytes(struct graph *g);

#endif
