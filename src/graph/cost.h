/*
 * cost.h - what kind of work a graph does, and how much of that work no implementation can avoid.
 *
 *     graph_class(&g)                   CLASS_GEMM
 *     graph_flops(&g)->text             "2*K*M*N+M*N"
 *     graph_bytes(&g)->text             every input read once, every output written once
 *
 * Only values that an output needs count. If the graph has exactly one product, convolution,
 * attention, norm, softmax, scan, gather or loss, that operation gives the class; elementwise
 * operations around it do not matter. A graph with several such operations is a chain. A reduction
 * whose result is broadcast back to larger values counts as a norm.
 */
#ifndef GRAPH_COST_H
#define GRAPH_COST_H

#include "graph/graph.h"
#include "task/task.h"

enum task_class graph_class(const struct graph *g);
/* The results belong to g's pool of sizes. */
const struct dim *graph_flops(struct graph *g);
/* The flops of one value that has operands. */
const struct dim *value_flops(struct graph *g, const struct value *v);
const struct dim *graph_bytes(struct graph *g);

#endif
