/*
 * cost.h - a graph's class of work, its flops, and the bytes that it must move.
 *
 *     graph_class(&g)                   CLASS_GEMM
 *     graph_flops(&g)->text             "2*K*M*N+M*N"
 *     graph_bytes(&g)->text             every used input read once, every output written once
 *
 * Values that no output needs are ignored. The main operations are products, convolutions,
 * attentions, recurrent layers, norms, softmaxes, scans, gathers and losses. The first rule that
 * fits gives the class:
 *  - A graph with several main operations is a chain. So is a graph that has a reduction besides a
 *    product, convolution, attention or recurrent layer.
 *  - A single main operation gives the class: a convolution makes the graph a CLASS_CONV, for
 *    example. A recurrent layer counts as a scan, a loss as a reduction.
 *  - A graph with reductions is a norm if a reduction's result is broadcast back to a larger value;
 *    else it is a reduction.
 *  - A graph that permutes axes and computes nothing is a transpose.
 *  - All other graphs are elementwise.
 */
#ifndef GRAPH_COST_H
#define GRAPH_COST_H

#include "graph/graph.h"
#include "task/task.h"

enum task_class graph_class(const struct graph *g);
/* The results belong to g's pool of sizes. If triu or tril keeps a triangle of a matrix product,
 * and nothing else uses the product, graph_flops() counts only an estimate for the triangle. */
const struct dim *graph_flops(struct graph *g);
const struct dim *value_flops(struct graph *g, const struct value *v);
const struct dim *graph_bytes(struct graph *g);

#endif
