/*
 * gnn_model_rig.h - a small generated batch for tests of models. It has targets without neighbours,
 * self loops, repeated edges, and an unlabelled seed.
 */
#ifndef GNN_MODEL_RIG_H
#define GNN_MODEL_RIG_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "base/util.h"
#include "gnn/batch.h"

struct rig_batch {
    struct gnn_batch b;
    int32_t *row[GNN_MAX_HOPS], *col[GNN_MAX_HOPS], *label, *node, *degree;
    float *feature;
};

/* Makes a batch of `seeds` seeds. Each level has `growth` times as many nodes as the level
 * before. */
static inline void rig_batch_init(struct rig_batch *r, int hops, int64_t seeds, int64_t growth,
                                  int64_t features, int64_t classes, uint64_t seed)
{
    struct rng g = rng_seeded(seed, 7);
    memset(r, 0, sizeof *r);
    struct gnn_batch *b = &r->b;
    b->hops = hops;
    b->n_nodes[0] = seeds;
    for (int h = 0; h < hops; h++) {
        int64_t n = b->n_nodes[h], all = n * growth;
        b->n_nodes[h + 1] = all;
        r->row[h] = xcalloc((size_t)n + 1, sizeof(int32_t));
        r->col[h] = xcalloc((size_t)n * 8, sizeof(int32_t));
        int32_t e = 0;
        for (int64_t i = 0; i < n; i++) {
            int degree = i % 7 == 3 ? 0 : (int)rng_below(&g, 7);
            for (int k = 0; k < degree; k++)
                r->col[h][e++] = (int32_t)rng_below(&g, (uint64_t)all);
            if (i % 5 == 1)
                r->col[h][e++] = (int32_t)i;
            if (degree > 0 && i % 4 == 2 && degree < 7) {
                r->col[h][e] = r->col[h][e - 1];
                e++;
            }
            r->row[h][i + 1] = e;
        }
        b->n_edges[h] = e;
        b->row[h] = r->row[h];
        b->col[h] = r->col[h];
    }
    int64_t all = b->n_nodes[hops];
    r->feature = xmalloc((size_t)(all * features) * sizeof(float));
    for (int64_t i = 0; i < all * features; i++)
        r->feature[i] = (float)(2 * rng_unit(&g) - 1);
    r->label = xmalloc((size_t)seeds * sizeof(int32_t));
    for (int64_t i = 0; i < seeds; i++)
        r->label[i] = i == 1 ? GNN_UNLABELLED : (int32_t)rng_below(&g, (uint64_t)classes);
    r->node = xmalloc((size_t)all * sizeof(int32_t));
    for (int64_t i = 0; i < all; i++)
        r->node[i] = (int32_t)i;
    r->degree = xmalloc((size_t)b->n_nodes[hops - 1] * sizeof(int32_t));
    for (int64_t i = 0; i < b->n_nodes[hops - 1]; i++)
        r->degree[i] = (int32_t)(9 + i % 11); /* a target has at most 8 edges here */
    b->degree = r->degree;
    b->feature = r->feature;
    b->feature_type = GNN_F32;
    b->feature_dim = features;
    b->label = r->label;
    b->node = r->node;
}

static inline void rig_batch_release(struct rig_batch *r)
{
    for (int h = 0; h < GNN_MAX_HOPS; h++) {
        free(r->row[h]);
        free(r->col[h]);
    }
    free(r->feature);
    free(r->label);
    free(r->node);
    free(r->degree);
}

#endif
