/*
 * cost.h - what kind of work a graph is and how much of it no implementation can avoid.
 *
 *     graph_class(&g)                   CLASS_GEMM
 *     graph_flops(&g)->text             "2*K*M*N+M*N"
 *     graph_bytes(&g)->text             every input read once, every output written once
 *
 * Only values that an output needs count. One product, convolution, attention, norm, softmax, scan,
 * gather or loss gives the class, whatever elementwise operations are around it; several are a
 * chain. A reduction whose result meets the larger values again is a norm.
 */
#ifndef GRAPH_COST_H
#define GRAPH_COST_H

#include "graph/graph.h"
#include "task/task.h"

enum task_class graph_class(const struct graph *g);
/* Sizes in g's pool. */
const struct dim *graph_flops(struct graph *g);
const struct dim *graph_bytes(struct graph *g);

#endif
