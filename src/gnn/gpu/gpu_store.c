#include "gnn/gpu/gpu_store.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "cuda/context.h"
#include "gnn/gpu/gpu_device.h"

enum { MAX_PLACES = 536870911 }; /* of a padded hop: the limit of kernels/gnn/number_hop */

/* Device memory that grows and whose contents are lost if it does. */
struct room {
    void *p;
    size_t bytes;
};

struct gpu_store {
    struct gpu_device *d;
    const struct dataset *data;
    void *offset, *neighbour, *feature, *local; /* local: the local id of each node, -1 = none */
    struct room node, pick, count, label, x, sizes, row[GNN_MAX_HOPS], col[GNN_MAX_HOPS];
};

int gpu_place_parse(const char *text, enum gpu_place *out, struct err *err)
{
    static const char *const names[] = {"host", "gpu", "auto"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (!text || str_eq(text, names[i])) {
            *out = text ? (enum gpu_place)i : GPU_PLACE_AUTO;
            return 0;
        }
    return err_set(err, ERR_USAGE, "--place is host, gpu or auto, not '%.40s'", text);
}

int gpu_store_samples(const struct sample_options *o, struct err *err)
{
    if (o->mode == SAMPLE_LABOR)
        return err_set(err, ERR_USAGE, "the GPU does not sample with labor; use --place host");
    for (int h = 0; h < o->hops; h++)
        if (o->fanout[h] == FANOUT_ALL)
            return err_set(err, ERR_USAGE,
                           "the GPU does not sample with fanout 'all'; use --place host");
    return 0;
}

static size_t feature_bytes(const struct dataset *data)
{
    const struct manifest *m = &data->manifest;
    return data->feature
               ? (size_t)(data->graph.nodes * m->feature_dim) * gnn_type_bytes(m->feature_type)
               : 0;
}

static size_t store_bytes(const struct dataset *data)
{
    const struct gnn_graph *g = &data->graph;
    return (size_t)(g->nodes + 1) * sizeof *g->offset + (size_t)g->edges * sizeof *g->neighbour +
           feature_bytes(data) + (size_t)g->nodes * sizeof(int32_t);
}

static void *room(struct gpu_store *s, struct room *r, int64_t elems, size_t size)
{
    size_t bytes = (size_t)elems * size;
    if (bytes > r->bytes || !r->p) {
        gpu_release(&s->d->base, r->p);
        r->bytes = bytes + bytes / 8;
        r->p = gpu_alloc(&s->d->base, r->bytes);
    }
    return r->p;
}

static void *place(struct gpu_store *s, const void *from, size_t bytes)
{
    void *p = gpu_alloc(&s->d->base, bytes);
    gpu_upload(&s->d->base, p, from, bytes);
    return p;
}

static int open_store(struct gpu_store **out, struct gnn_device *d, const struct dataset *data,
                      struct err *err)
{
    const struct gnn_graph *g = &data->graph;
    struct gpu_store *s = xcalloc(1, sizeof *s);
    size_t ids = (size_t)g->nodes * sizeof(int32_t);
    s->d = gpu_of(d);
    s->data = data;
    s->offset = place(s, g->offset, (size_t)(g->nodes + 1) * sizeof *g->offset);
    s->neighbour = place(s, g->neighbour, (size_t)g->edges * sizeof *g->neighbour);
    if (data->feature)
        s->feature = place(s, data->feature, feature_bytes(data));
    s->local = gpu_alloc(d, ids);
    gpu_set(s->d, s->local, 0xff, ids);
    if (gpu_sync(d, err) < 0) {
        gpu_store_close(s);
        return err_prefix(err, "the data does not go to the GPU (--place host leaves it)");
    }
    *out = s;
    return 0;
}

int gpu_store_place(struct gpu_store **out, enum gpu_place where, struct gnn_device *d,
                    const struct dataset *data, const struct sample_options *o, struct err *err)
{
    bool gpu = !str_eq(d->ops->name, "cpu");
    size_t memory = 0, need = store_bytes(data);
    *out = NULL;
    if (where == GPU_PLACE_HOST || (where == GPU_PLACE_AUTO && !gpu))
        return 0;
    if (!gpu)
        return err_set(err, ERR_USAGE, "--place gpu needs --device cuda");
    if (cu_device_memory(gpu_of(d)->cu, gpu_of(d)->gpu, &memory, err) < 0)
        return -1;
    if (where == GPU_PLACE_AUTO &&
        (gpu_store_samples(o, NULL) < 0 || need > memory / 4 * 3 || data->graph.edges == 0))
        return 0;
    if (gpu_store_samples(o, err) < 0)
        return -1;
    if (need > memory)
        return err_set(err, ERR_ENV,
                       "graph and features take %zu MiB, the GPU has %zu MiB; use --place host",
                       need >> 20, memory >> 20);
    if (data->graph.edges == 0)
        return err_set(err, ERR_INPUT, "a graph without edges; use --place host");
    return open_store(out, d, data, err);
}

static void room_release(struct gpu_store *s, struct room *r)
{
    gpu_release(&s->d->base, r->p);
}

void gpu_store_close(struct gpu_store *s)
{
    if (!s)
        return;
    struct gnn_device *d = &s->d->base;
    gpu_release(d, s->offset);
    gpu_release(d, s->neighbour);
    gpu_release(d, s->feature);
    gpu_release(d, s->local);
    room_release(s, &s->node);
    room_release(s, &s->pick);
    room_release(s, &s->count);
    room_release(s, &s->label);
    room_release(s, &s->x);
    room_release(s, &s->sizes);
    for (int h = 0; h < GNN_MAX_HOPS; h++) {
        room_release(s, &s->row[h]);
        room_release(s, &s->col[h]);
    }
    free(s);
}

/* Makes room for the nodes of the largest batch: each hop writes `fanout` places behind the nodes
 * of each of its targets. */
static int node_room(struct gpu_store *s, const struct sample_options *o, int64_t seeds,
                     struct err *err)
{
    int64_t nodes = seeds, most = seeds;
    for (int h = 0; h < o->hops; h++) {
        if (nodes > MAX_PLACES / o->fanout[h])
            return err_set(err, ERR_LIMIT,
                           "a batch of %" PRId64 " seeds may have too many nodes for the GPU's "
                           "sampler; choose a smaller batch, or --place host",
                           seeds);
        most = MAX(most, nodes * (1 + (int64_t)o->fanout[h]));
        nodes = MIN(s->data->graph.nodes, nodes * (1 + (int64_t)o->fanout[h]));
    }
    room(s, &s->node, most, sizeof(int32_t));
    return 0;
}

static void mark(struct gpu_store *s, int64_t n, bool forget)
{
    gpu_run_mark_nodes(s->d, (struct gnn_mark_nodes_args){.node = s->node.p,
                                                          .local = s->local,
                                                          .N = n,
                                                          .V = s->data->graph.nodes,
                                                          .FORGET = forget});
}

static void sample_hop(struct gpu_store *s, const struct sample_options *o, int h,
                       struct gnn_batch *b)
{
    const struct gnn_graph *g = &s->data->graph;
    int64_t n = b->n_nodes[h], fanout = o->fanout[h];
    int32_t sizes[2] = {0};
    void *pick = room(s, &s->pick, n * fanout, sizeof(int32_t));
    void *count = room(s, &s->count, n, sizeof(int32_t));
    void *at = room(s, &s->sizes, 2, sizeof(int32_t));
    b->row[h] = room(s, &s->row[h], n + 1, sizeof(int32_t));
    b->col[h] = room(s, &s->col[h], n * fanout, sizeof(int32_t));
    gpu_run_sample_hop(s->d,
                       (struct gnn_sample_hop_args){.offset = s->offset,
                                                    .neighbour = s->neighbour,
                                                    .node = s->node.p,
                                                    .pick = pick,
                                                    .count = count,
                                                    .N = n,
                                                    .V = g->nodes,
                                                    .E = g->edges,
                                                    .F = fanout,
                                                    .REPLACE = o->mode == SAMPLE_REPEATED,
                                                    .SEED_LO = (int64_t)(o->seed & UINT32_MAX),
                                                    .SEED_HI = (int64_t)(o->seed >> 32),
                                                    .EPOCH = b->epoch,
                                                    .BATCH = b->index,
                                                    .HOP = h});
    gpu_run_number_hop(s->d, (struct gnn_number_hop_args){.count = count,
                                                          .pick = pick,
                                                          .local = s->local,
                                                          .row = s->row[h].p,
                                                          .col = s->col[h].p,
                                                          .found = (int32_t *)s->node.p + n,
                                                          .sizes = at,
                                                          .N = n,
                                                          .F = fanout,
                                                          .V = g->nodes});
    gpu_download(&s->d->base, sizes, at, sizeof sizes);
    b->n_edges[h] = sizes[0];
    b->n_nodes[h + 1] = n + sizes[1];
}

static void gather(struct gpu_store *s, struct gnn_batch *b)
{
    const struct manifest *m = &s->data->manifest;
    int64_t n = b->n_nodes[b->hops];
    if (!s->feature)
        return;
    void *x = room(s, &s->x, n * m->feature_dim, sizeof(float));
    if (m->feature_type == GNN_F16)
        gpu_run_gather_half(s->d, (struct gnn_gather_half_args){.node = b->node,
                                                                .x = s->feature,
                                                                .y = x,
                                                                .N = n,
                                                                .V = s->data->graph.nodes,
                                                                .D = m->feature_dim});
    else
        gpu_run_gather_rows(s->d, (struct gnn_gather_rows_args){.id = b->node,
                                                                .x = s->feature,
                                                                .y = x,
                                                                .N = n,
                                                                .V = s->data->graph.nodes,
                                                                .D = m->feature_dim});
    b->feature = x;
    b->feature_type = GNN_F32;
    b->feature_dim = m->feature_dim;
}

int gpu_store_batch(struct gpu_store *s, const struct sample_options *o,
                    const struct gnn_batch *seeds, struct gnn_batch *out, struct err *err)
{
    struct gnn_device *d = &s->d->base;
    size_t bytes = (size_t)seeds->n_nodes[0] * sizeof(int32_t);
    *out = (struct gnn_batch){.hops = o->hops,
                              .on_device = true,
                              .n_nodes = {seeds->n_nodes[0]},
                              .seed = seeds->seed,
                              .epoch = seeds->epoch,
                              .index = seeds->index,
                              .first = seeds->first};
    if (gpu_store_samples(o, err) < 0 || node_room(s, o, seeds->n_nodes[0], err) < 0)
        return -1;
    out->node = s->node.p;
    if (seeds->label) {
        out->label = room(s, &s->label, seeds->n_nodes[0], sizeof(int32_t));
        gpu_upload(d, s->label.p, seeds->label, bytes);
    }
    if (seeds->n_nodes[0] == 0)
        return 0;
    gpu_upload(d, s->node.p, seeds->node, bytes);
    mark(s, seeds->n_nodes[0], false);
    for (int h = 0; h < o->hops && !s->d->failed; h++)
        sample_hop(s, o, h, out);
    if (s->d->failed)
        return gpu_sync(d, err);
    mark(s, out->n_nodes[o->hops], true);
    gather(s, out);
    return 0;
}
