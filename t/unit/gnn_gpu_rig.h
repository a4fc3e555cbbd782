/*
 * gnn_gpu_rig.h - code that the tests of the GPU device share: devices, a small graph, and a
 * comparison of arrays on host and device.
 */
#ifndef GNN_GPU_RIG_H
#define GNN_GPU_RIG_H

#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "base/util.h"
#include "gnn/data/dataset.h"
#include "gnn/gpu/devices.h"

enum { FEATURES = 12, HIDDEN = 20, CLASSES = 5 };

static inline struct gnn_device *open_precise(const char *name, const char *precision)
{
    struct err err = ERR_INIT;
    struct gnn_device *d = NULL;
    if (gnn_device_open(&d, name, 1, &err) < 0 || gnn_device_precision(d, precision, &err) < 0)
        fail_msg("%s: %s", name, err.msg);
    return d;
}

static inline struct gnn_device *open_device(const char *name)
{
    return open_precise(name, NULL);
}

enum { NODES = 1500 };

/* A graph with isolated nodes, self loops, and degrees up to 900. */
struct graph_rig {
    struct dataset data;
    int64_t offset[NODES + 1];
    int32_t *neighbour, label[NODES];
    uint16_t *half;
    float *single;
};

static inline void graph_init(struct graph_rig *r)
{
    struct rng g = rng_seeded(4, 4);
    memset(r, 0, sizeof *r);
    for (int v = 0; v < NODES; v++) {
        uint64_t most = v % 97 == 0 ? 900 : v % 11 == 0 ? 80 : v % 7 == 0 ? 1 : 12;
        r->offset[v + 1] = r->offset[v] + (int64_t)rng_below(&g, most + (v % 7 != 0));
        r->label[v] = v % CLASSES;
    }
    int64_t edges = r->offset[NODES];
    r->neighbour = xmalloc((size_t)edges * sizeof *r->neighbour);
    for (int64_t e = 0; e < edges; e++)
        r->neighbour[e] = (int32_t)rng_below(&g, NODES);
    r->half = xmalloc((size_t)NODES * FEATURES * sizeof *r->half);
    r->single = xmalloc((size_t)NODES * FEATURES * sizeof *r->single);
    for (int64_t i = 0; i < (int64_t)NODES * FEATURES; i++) {
        r->half[i] = (uint16_t)(0x3c00 + i % 1024); /* 1 + (i % 1024) / 1024 */
        r->single[i] = 1 + (float)(i % 1024) / 1024;
    }
    r->data.graph = (struct gnn_graph){NODES, edges, r->offset, r->neighbour};
    r->data.manifest.feature_dim = FEATURES;
    r->data.manifest.feature_type = GNN_F16;
    r->data.feature = r->half;
    r->data.label = r->label;
}

static inline void graph_release(struct graph_rig *r)
{
    free(r->neighbour);
    free(r->half);
    free(r->single);
}

static inline void same_array(struct gnn_device *d, const char *what, const void *host,
                              const void *device, int64_t elems)
{
    size_t bytes = (size_t)elems * 4;
    void *got = xmalloc(MAX(bytes, 1));
    d->ops->download(d, got, device, bytes);
    if (memcmp(got, host, bytes) != 0)
        fail_msg("%s of the GPU's batch differs", what);
    free(got);
}

#endif
