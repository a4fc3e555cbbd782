/*
 * papers.h - makes a dataset in memory. Its default size is that of ogbn-papers100M, which is too
 * large to download to every machine.
 *
 *     struct dataset d;
 *     if (papers_open(&d, "papers:scale=0.001", PAPERS_ON_HOST, err) < 0) ...
 *     dataset_release(&d);
 *
 * papers_core.h describes the graph. PAPERS_ON_DEVICE makes only splits and labels. Then
 * gpu/gpu_store.h makes the rest on a GPU, equal bit for bit.
 *
 * Degrees follow a Pareto distribution with exponent 1.8 and mean 29.1; the smallest degree is 13.
 * By default, a batch of 1024 seeds with fanouts 15,10,5 has about 396,000 input nodes, as on
 * papers100M. A model can learn the labels: the features of a node are the mean of its class plus
 * noise.
 */
#ifndef GNN_DATA_PAPERS_H
#define GNN_DATA_PAPERS_H

#include "gnn/data/dataset.h"
#include "gnn/data/papers_core.h"

enum papers_where { PAPERS_ON_HOST, PAPERS_ON_DEVICE };

struct papers {
    struct papers_shape shape;
    uint32_t classes, dim;
    uint32_t train;   /* how many training nodes; 0 = as many as the scale says */
    int32_t prefix[]; /* shape.members + 1 sums of degrees: see papers_core.h */
};

/* `spec` is "papers", or "papers:KEY=VALUE,...". Keys:
 *     scale     size; 1 (default) has 111 million nodes and 3.2 billion edges
 *     local     share of the edges that stay within a community (default 0.967)
 *     members   nodes of a community (default 512)
 *     dim       features of a node (default 128)
 *     classes   classes of the labels (default 172)
 *     seed      seed of all random choices (default 1)
 *     train     training nodes (default: 1,207,179 times the scale) */
int papers_open(struct dataset *d, const char *spec, enum papers_where where, struct err *err);
struct papers_room {
    int64_t *offset;
    int32_t *neighbour;
    uint16_t *feature;
};

/* Reserves memory for the graph and its features. *d owns it. */
int papers_host_room(struct dataset *d, struct papers_room *r, struct err *err);
/* Call this when the memory of *r is filled. *d then has the graph and the features, as after
 * papers_open() with PAPERS_ON_HOST. */
void papers_host_made(struct dataset *d, const struct papers_room *r);
/* Writes each class's mean in float16: p->classes rows of p->dim values. */
void papers_means(const struct papers *p, uint16_t *mean);

#endif
