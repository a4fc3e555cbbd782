/*
 * sampler.h - draws mini-batches (batch.h) from a graph.
 *
 *     struct sampler s;
 *     const struct sample_options o = {.hops = 3, .fanout = {15, 10, 5}, .seed = 1};
 *     if (sampler_init(&s, &graph, &o, err) < 0) ...
 *     if (sampler_run(&s, seeds, n, epoch, index, &space, &batch, err) < 0) ...
 *     sampler_release(&s);
 *
 * A batch depends only on graph, options, seed nodes, epoch and index (pick_core.h). Its arrays are
 * those of `space`. A sampler belongs to one thread.
 *
 * Nodes are numbered in order of first appearance, edge by edge. A GPU gets the same numbers in
 * three passes (kernels/gnn/number_hop):
 *   1. Every edge e with neighbour v does atomicMin(first[v], e).
 *   2. Edge e gets the flag first[v] == e. An exclusive scan over the flags numbers the new nodes.
 *   3. Every edge reads the number of its neighbour.
 * The neighbours of a node are in the order of its slots (pick_core.h).
 */
#ifndef GNN_SAMPLE_SAMPLER_H
#define GNN_SAMPLE_SAMPLER_H

#include <stdatomic.h>

#include "base/err.h"
#include "gnn/batch.h"
#include "gnn/graph.h"
#include "gnn/sample/id_table.h"
#include "gnn/sample/pick_core.h"

enum { FANOUT_ALL = -1 };

/* How a hop with the fanout k chooses neighbours of a node. */
enum sample_mode {
    SAMPLE_DISTINCT, /* uniform without replacement; all if there are at most k */
    SAMPLE_REPEATED, /* k independent draws, if the node has neighbours */
    SAMPLE_LABOR,    /* LABOR-0: the k neighbours with the smallest pick_variate() */
    /* the same batches as SAMPLE_DISTINCT, but slower; for comparison */
    SAMPLE_PLAIN
};

struct sample_options {
    int hops;
    int32_t fanout[GNN_MAX_HOPS]; /* hop 0 first; 1..PICK_MAX_FANOUT, or FANOUT_ALL */
    enum sample_mode mode;
    uint64_t seed;
};

/* Sets o->hops and o->fanout from a text such as "15,10,5" or "20,all". */
int sample_fanouts_parse(struct sample_options *o, const char *text, struct err *err);
int sample_mode_parse(const char *text, enum sample_mode *out, struct err *err);
int sample_options_check(const struct sample_options *o, struct err *err);

/* The arrays of one batch. Only used pages of the reserved address space take memory. */
struct batch_space {
    struct pages node, degree, row[GNN_MAX_HOPS], col[GNN_MAX_HOPS];
    int64_t seeds, nodes, edges[GNN_MAX_HOPS]; /* capacity of the arrays */
};

int batch_space_init(struct batch_space *b, const struct gnn_graph *g,
                     const struct sample_options *o, int64_t seeds, struct err *err);
void batch_space_release(struct batch_space *b);

struct sampler {
    const struct gnn_graph *graph;
    struct sample_options o;
    struct id_table ids;
    struct sample_block *block;
    uint64_t *heap;            /* SAMPLE_LABOR: k smallest numbers so far */
    const atomic_bool *cancel; /* when true, sampler_run ends early; or NULL */
};

int sampler_init(struct sampler *s, const struct gnn_graph *g, const struct sample_options *o,
                 struct err *err);
void sampler_release(struct sampler *s);

/* Fills *out except features and labels. No node may be twice among the seeds. */
int sampler_run(struct sampler *s, const int32_t *seeds, int64_t n, int64_t epoch, int64_t index,
                struct batch_space *space, struct gnn_batch *out, struct err *err);

#endif
