/*
 * gpu_store.c - graph and features in a GPU's memory, and the sampler there.
 *
 * One kernel samples a hop, with room for `fanout` neighbours of each target (gnn/batch.h). A
 * second kernel packs the edges and numbers new nodes.
 */
#include "gnn/gpu/gpu_store.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/options.h"
#include "base/util.h"
#include "cuda/context.h"
#include "cuda/stream.h"
#include "gnn/data/papers.h"
#include "gnn/gpu/gpu_cache.h"
#include "gnn/gpu/gpu_device.h"
#include "gnn/gpu/vip.h"
#include "sys/memory.h"

/* kernels/gnn/number_hop accepts a hop only if `targets * fanout` is at most this. */
enum { MAX_PLACES = 536870911 };

/* The memory of one sampled batch. */
struct slot {
    struct gpu_room node, label, degree, x, reduced, row[GNN_MAX_HOPS], col[GNN_MAX_HOPS];
    /* With GPU_PLACE_SPLIT and features in half precision: the rows of all nodes of the batch. */
    struct gpu_room half;
    struct gpu_mail seeds; /* `host` has the seeds, then their labels; `at` is not used */
    size_t seeds_bytes;
    cu_event ready; /* the batch is complete */
    cu_event used;  /* all work that reads the batch is done */
};

struct gpu_store {
    struct gpu_device *d;
    const struct dataset *data;
    /* local[v] is the local id of the graph's node v, or -1 if v is not in the batch. */
    void *offset, *neighbour, *feature, *local;
    struct gpu_cache *cache; /* with GPU_PLACE_SPLIT, has the features; `feature` is NULL */
    double choose_s;         /* how long it took to choose the rows of `cache` */
    struct gpu_numbers numbers;
    /* `pick`: a hop's neighbours, `fanout` places for each target. `count`: how many each has. */
    struct gpu_room pick, count;
    bool reduces;          /* batches have `reduced` (gnn/batch.h) */
    bool mean;             /* `reduced` has means, else sums */
    bool degrees;          /* batches have `degree` */
    struct gpu_mail sizes; /* how many edges and new nodes a hop has */
    size_t sizes_bytes;
    struct slot slot[GPU_STORE_SLOTS];
    struct slot *now; /* the slot of the newest batch */
};

int gpu_place_parse(const char *text, enum gpu_place *out, struct err *err)
{
    static const char *const names[] = {"host", "gpu", "split", "auto"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (!text || str_eq(text, names[i])) {
            *out = text ? (enum gpu_place)i : GPU_PLACE_AUTO;
            return 0;
        }
    return err_set(err, ERR_USAGE, "--place is host, gpu, split or auto, not '%.40s'", text);
}

int gpu_cache_parse(const char *text, struct gpu_cache_size *out, struct err *err)
{
    char *end;
    *out = (struct gpu_cache_size){.kind = CACHE_FITS};
    if (!text)
        return 0;
    double number = strtod(text, &end);
    bool plain = end != text && *end == '\0';
    *out = (struct gpu_cache_size){.kind = CACHE_SHARE, .share = number};
    if (plain && number >= 0 && number <= 1)
        return 0;
    out->kind = CACHE_BYTES;
    if (!(plain && floor(number) != number) && parse_bytes(text, &out->bytes) == 0)
        return 0;
    return err_set(err, ERR_USAGE,
                   "--cache is a share from 0 to 1, or a size such as 512M or 20G, not '%.40s'",
                   text);
}

enum gpu_place gpu_place_choose(const struct gpu_place_sizes *s)
{
    size_t room = s->memory / 4 * 3, graph = s->graph + s->split_table;
    if (s->graph + s->features <= room)
        return GPU_PLACE_GPU;
    if (graph > room)
        return GPU_PLACE_HOST;
    size_t left = s->features - MIN(s->features, room - graph);
    return s->host_free == 0 || left <= s->host_free / 4 * 3 ? GPU_PLACE_SPLIT : GPU_PLACE_HOST;
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
    return (size_t)(data->graph.nodes * dataset_feature_dim(data)) *
           gnn_type_bytes(m->feature_type);
}

static struct gpu_place_sizes sizes_of(const struct dataset *data, size_t memory)
{
    const struct gnn_graph *g = &data->graph;
    size_t ids = (size_t)g->nodes * sizeof(int32_t);
    return (struct gpu_place_sizes){.memory = memory,
                                    .graph = (size_t)(g->nodes + 1) * sizeof *g->offset +
                                             (size_t)g->edges * sizeof *g->neighbour + ids,
                                    .features = feature_bytes(data),
                                    .split_table = ids,
                                    .host_free = memory_available()};
}

static int64_t rows_to_cache(const struct gpu_cache_size *c, const struct dataset *data,
                             const struct gpu_place_sizes *s)
{
    int64_t nodes = data->graph.nodes;
    size_t room = s->memory / 4 * 3, graph = s->graph + s->split_table, row = s->features / nodes;
    if (c->kind == CACHE_SHARE)
        return (int64_t)llround(c->share * (double)nodes);
    size_t bytes = c->kind == CACHE_BYTES ? c->bytes : room > graph ? room - graph : 0;
    return MIN(nodes, (int64_t)(bytes / row));
}

static void *room(struct gpu_store *s, struct gpu_room *r, int64_t elems, size_t size)
{
    return gpu_room(s->d, r, (size_t)elems * size);
}

static void copy_data(struct gpu_store *s)
{
    const struct gnn_graph *g = &s->data->graph;
    struct gnn_device *d = &s->d->base;
    gpu_upload(d, s->offset, g->offset, (size_t)(g->nodes + 1) * sizeof *g->offset);
    gpu_upload(d, s->neighbour, g->neighbour, (size_t)g->edges * sizeof *g->neighbour);
    if (s->feature)
        gpu_upload(d, s->feature, s->data->feature, feature_bytes(s->data));
}

static void make_data(struct gpu_store *s, const struct papers *p)
{
    struct gnn_device *d = &s->d->base;
    const struct papers_shape *h = &p->shape;
    size_t mean_bytes = (size_t)p->classes * p->dim * sizeof(uint16_t);
    uint16_t *mean = xmalloc(mean_bytes);
    papers_means(p, mean);
    const void *at = gpu_array(d, mean, mean_bytes);
    gpu_run_make_graph(
        s->d, (struct gnn_make_graph_args){
                  .prefix = gpu_array(d, p->prefix, (h->members + 1) * sizeof p->prefix[0]),
                  .offset = s->offset,
                  .neighbour = s->neighbour,
                  .R = h->communities,
                  .G = h->members,
                  .P = h->ends,
                  .LOCAL = h->local,
                  .SEED = h->seed});
    gpu_run_make_features(s->d, (struct gnn_make_features_args){.mean = at,
                                                                .x = s->feature,
                                                                .V = s->data->graph.nodes,
                                                                .D = p->dim,
                                                                .R = h->communities,
                                                                .C = p->classes,
                                                                .SEED = h->seed});
    /* Wait until the copies have read `mean`. A later sync reports a failure. */
    (void)gpu_sync(d, NULL);
    free(mean);
}

static int split_features(struct gpu_store *s, const struct gpu_placement *where, int64_t rows,
                          const struct sample_options *o, struct err *err)
{
    int64_t nodes = s->data->graph.nodes;
    uint64_t start = now_ns();
    float *p = xmalloc((size_t)nodes * sizeof *p);
    int32_t *order = xmalloc((size_t)nodes * sizeof *order);
    int rc = vip_compute(&s->data->graph, o, where->seeds, where->batches, where->threads, p, err);
    if (rc == 0)
        vip_choose(p, nodes, rows, order);
    s->choose_s = (double)(now_ns() - start) / 1e9;
    if (rc == 0)
        rc = gpu_cache_open(&s->cache, &s->d->base, s->data, order, rows, where->threads, err);
    free(order);
    free(p);
    return rc;
}

/* Opens a store that has `rows` rows of features in the GPU's memory. */
static int open_store(struct gpu_store **out, const struct gpu_placement *where, int64_t rows,
                      struct gnn_device *d, const struct dataset *data,
                      const struct sample_options *o, struct err *err)
{
    bool split = where->place == GPU_PLACE_SPLIT;
    const struct gnn_graph *g = &data->graph;
    struct gpu_store *s = xcalloc(1, sizeof *s);
    size_t ids = (size_t)g->nodes * sizeof(int32_t);
    struct err own = ERR_INIT;
    s->d = gpu_of(d);
    s->data = data;
    s->offset = gpu_alloc(d, (size_t)(g->nodes + 1) * sizeof *g->offset);
    s->neighbour = gpu_alloc(d, (size_t)g->edges * sizeof *g->neighbour);
    if (feature_bytes(data) > 0 && !split)
        s->feature = gpu_alloc(d, feature_bytes(data));
    if (data->made && !split)
        make_data(s, data->made);
    else
        copy_data(s);
    s->local = gpu_alloc(d, ids);
    gpu_set(s->d, s->local, 0xff, ids);
    (void)gpu_mail_room(s->d, &s->sizes, &s->sizes_bytes, 2 * sizeof(int32_t));
    for (int i = 0; i < GPU_STORE_SLOTS; i++) {
        gpu_note(s->d, cu_event_create(s->d->cu, &s->slot[i].ready, &own), &own);
        gpu_note(s->d, cu_event_create(s->d->cu, &s->slot[i].used, &own), &own);
    }
    s->now = s->slot;
    if (gpu_sync(d, err) < 0 || (split && split_features(s, where, rows, o, err) < 0)) {
        gpu_store_close(s);
        return err_prefix(err,
                          "the data cannot go to the GPU (--place host leaves it in host memory)");
    }
    *out = s;
    return 0;
}

static int check_size(const struct gpu_place_sizes *s, size_t need, const char *what,
                      struct err *err)
{
    if (need <= s->memory)
        return 0;
    return err_set(err, ERR_ENV, "graph and %s take %zu MiB, the GPU has %zu MiB; use --place host",
                   what, need >> 20, s->memory >> 20);
}

static int open_split(struct gpu_store **out, const struct gpu_placement *where,
                      const struct gpu_place_sizes *sizes, struct gnn_device *d,
                      const struct dataset *data, const struct sample_options *o, struct err *err)
{
    if (!data->feature)
        return err_set(err, ERR_INPUT, "there are no features in host memory to split");
    int64_t rows = rows_to_cache(&where->cache, data, sizes);
    size_t cache = (size_t)rows * (sizes->features / (size_t)data->graph.nodes);
    if (check_size(sizes, sizes->graph + sizes->split_table + cache, "cached features", err) < 0)
        return -1;
    return open_store(out, where, rows, d, data, o, err);
}

int gpu_store_place(struct gpu_store **out, const struct gpu_placement *where, struct gnn_device *d,
                    const struct dataset *data, const struct sample_options *o, struct err *err)
{
    bool gpu = !str_eq(d->ops->name, "cpu");
    size_t memory = 0;
    struct gpu_placement to = *where;
    *out = NULL;
    if (data->made && !data->graph.offset)
        to.place = GPU_PLACE_GPU;
    if (to.place == GPU_PLACE_HOST || (to.place == GPU_PLACE_AUTO && !gpu))
        return 0;
    if (!gpu)
        return err_set(err, ERR_USAGE, "--place %s needs --device cuda",
                       to.place == GPU_PLACE_SPLIT ? "split" : "gpu");
    if (cu_device_memory(gpu_of(d)->cu, gpu_of(d)->gpu, &memory, err) < 0)
        return -1;
    struct gpu_place_sizes sizes = sizes_of(data, memory);
    if (to.place == GPU_PLACE_AUTO)
        to.place = gpu_store_samples(o, NULL) < 0 || data->graph.edges == 0
                       ? GPU_PLACE_HOST
                       : gpu_place_choose(&sizes);
    if (to.place == GPU_PLACE_HOST)
        return 0;
    if (gpu_store_samples(o, err) < 0)
        return -1;
    if (data->graph.edges == 0)
        return err_set(err, ERR_INPUT, "a graph without edges; use --place host");
    if (to.place == GPU_PLACE_SPLIT)
        return open_split(out, &to, &sizes, d, data, o, err);
    if (check_size(&sizes, sizes.graph + sizes.features, "features", err) < 0)
        return -1;
    return open_store(out, &to, data->graph.nodes, d, data, o, err);
}

static void room_release(struct gpu_store *s, struct gpu_room *r)
{
    gpu_room_release(s->d, r);
}

static void slot_release(struct gpu_store *s, struct slot *t)
{
    room_release(s, &t->node);
    room_release(s, &t->label);
    room_release(s, &t->degree);
    room_release(s, &t->x);
    room_release(s, &t->reduced);
    room_release(s, &t->half);
    for (int h = 0; h < GNN_MAX_HOPS; h++) {
        room_release(s, &t->row[h]);
        room_release(s, &t->col[h]);
    }
    gpu_mail_close(s->d, &t->seeds);
    if (t->ready)
        cu_event_destroy(s->d->cu, t->ready);
    if (t->used)
        cu_event_destroy(s->d->cu, t->used);
}

void gpu_store_close(struct gpu_store *s)
{
    if (!s)
        return;
    (void)gpu_sync(&s->d->base, NULL); /* no kernel may use the memory any more */
    struct gnn_device *d = &s->d->base;
    gpu_release(d, s->offset);
    gpu_release(d, s->neighbour);
    gpu_release(d, s->feature);
    gpu_release(d, s->local);
    room_release(s, &s->pick);
    room_release(s, &s->count);
    room_release(s, &s->numbers.room);
    gpu_cache_close(s->cache);
    gpu_mail_close(s->d, &s->sizes);
    for (int i = 0; i < GPU_STORE_SLOTS; i++)
        slot_release(s, &s->slot[i]);
    free(s);
}

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
    room(s, &s->now->node, most, sizeof(int32_t));
    return 0;
}

/* Sets `local` of the batch's first n nodes: their local ids, or -1 if `forget` is true. */
static void mark(struct gpu_store *s, int64_t n, bool forget)
{
    gpu_run_mark_nodes(s->d, (struct gnn_mark_nodes_args){.node = s->now->node.p,
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
    struct err err = ERR_INIT;
    const int32_t *sizes = s->sizes.host;
    void *pick = room(s, &s->pick, n * fanout, sizeof(int32_t));
    void *count = room(s, &s->count, n, sizeof(int32_t));
    b->row[h] = room(s, &s->now->row[h], n + 1, sizeof(int32_t));
    b->col[h] = room(s, &s->now->col[h], n * fanout, sizeof(int32_t));
    /* The launch code accepts no E above INT32_MAX. The kernel does not read E, the number of
     * edges, so a smaller number does no harm. */
    gpu_run_sample_hop(s->d,
                       (struct gnn_sample_hop_args){.offset = s->offset,
                                                    .neighbour = s->neighbour,
                                                    .node = s->now->node.p,
                                                    .pick = pick,
                                                    .count = count,
                                                    .N = n,
                                                    .V = g->nodes,
                                                    .E = MIN(g->edges, INT32_MAX),
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
                                                          .row = s->now->row[h].p,
                                                          .col = s->now->col[h].p,
                                                          .found = (int32_t *)s->now->node.p + n,
                                                          .sizes = pointer_to(s->sizes.at),
                                                          .N = n,
                                                          .F = fanout,
                                                          .V = g->nodes});
    gpu_fetch(s->d, &s->sizes, 2 * sizeof *sizes);
    if (!s->d->failed)
        gpu_note(s->d, cu_stream_sync(s->d->cu, s->d->lane->stream, &err), &err);
    if (s->cache) /* the stream has run the previous batch's gather by now */
        gpu_cache_count(s->cache);
    b->n_edges[h] = s->d->failed ? 0 : sizes[0];
    b->n_nodes[h + 1] = s->d->failed ? n : n + sizes[1];
}

void gpu_store_reduce(struct gpu_store *s, enum gnn_segment kind)
{
    s->reduces = kind != GNN_MAX && s->data->manifest.feature_type == GNN_F16;
    s->mean = kind == GNN_MEAN;
}

struct gpu_store_arrays gpu_store_arrays(const struct gpu_store *s)
{
    return (struct gpu_store_arrays){s->offset, s->neighbour, s->feature};
}

bool gpu_store_split(struct gpu_store *s, struct gpu_split *out)
{
    const struct manifest *m = &s->data->manifest;
    struct err err = ERR_INIT;
    if (!s->cache)
        return false;
    if (!s->d->failed)
        gpu_note(s->d, cu_stream_sync(s->d->cu, s->d->sample.stream, &err), &err);
    gpu_cache_count(s->cache);
    struct gpu_cache_counts c = gpu_cache_counts(s->cache);
    *out = (struct gpu_split){.nodes = s->data->graph.nodes,
                              .cached_rows = gpu_cache_rows(s->cache),
                              .row_bytes = (size_t)m->feature_dim * gnn_type_bytes(m->feature_type),
                              .choose_s = s->choose_s,
                              .input_rows = c.rows,
                              .host_rows = c.missed};
    return true;
}

void gpu_store_degrees(struct gpu_store *s, bool wanted)
{
    s->degrees = wanted;
}

static void look_up_degrees(struct gpu_store *s, struct gnn_batch *b)
{
    int64_t n = b->n_nodes[b->hops - 1];
    int32_t *degree = room(s, &s->now->degree, n, sizeof *degree);
    gpu_run_node_degrees(s->d,
                         (struct gnn_node_degrees_args){.offset = s->offset,
                                                        .node = b->node,
                                                        .degree = degree,
                                                        .N = n,
                                                        .V = s->data->graph.nodes,
                                                        .E = MIN(s->data->graph.edges, INT32_MAX)});
    b->degree = degree;
}

/* Computes `reduced` (gnn/batch.h). The features of the batch's node i are row node[i] of x, which
 * has `rows` rows. */
static void reduce(struct gpu_store *s, struct gnn_batch *b, const void *x, const int32_t *node,
                   int64_t rows)
{
    int64_t dim = s->data->manifest.feature_dim;
    int last = b->hops - 1;
    int64_t n = b->n_nodes[last];
    void *y = room(s, &s->now->reduced, n * dim, sizeof(float));
    b->reduced = y;
    if (b->n_edges[last] == 0)
        gpu_zero(&s->d->base, y, (size_t)(n * dim) * sizeof(float));
    else
        gpu_run_segment_half(s->d, (struct gnn_segment_half_args){.row = b->row[last],
                                                                  .col = b->col[last],
                                                                  .node = node,
                                                                  .x = x,
                                                                  .y = y,
                                                                  .N = n,
                                                                  .E = b->n_edges[last],
                                                                  .S = b->n_nodes[b->hops],
                                                                  .V = rows,
                                                                  .D = dim,
                                                                  .MEAN = s->mean});
}

/* Writes the features of the batch's first n nodes as float to x. The model reads no others. With
 * features in half precision, gathers the rows of all nodes first, because reduce() reads them. */
static void gather_split(struct gpu_store *s, struct gnn_batch *b, void *x, int64_t n)
{
    const struct manifest *m = &s->data->manifest;
    int64_t inputs = b->n_nodes[b->hops], dim = m->feature_dim;
    if (m->feature_type == GNN_F32) {
        gpu_cache_gather(s->cache, b->node, inputs, x);
        return;
    }
    void *half = room(s, &s->now->half, inputs * dim, sizeof(uint16_t));
    gpu_cache_gather(s->cache, b->node, inputs, half);
    if (s->reduces)
        reduce(s, b, half, gpu_numbers(s->d, &s->numbers, inputs), inputs);
    gpu_run_load_half(s->d, (struct gnn_load_half_args){.x = half, .y = x, .N = n * dim});
}

static void gather(struct gpu_store *s, struct gnn_batch *b)
{
    const struct manifest *m = &s->data->manifest;
    int64_t n = b->n_nodes[s->reduces ? b->hops - 1 : b->hops];
    if (!s->feature && !s->cache)
        return;
    if (s->reduces && s->feature)
        reduce(s, b, s->feature, b->node, s->data->graph.nodes);
    void *x = room(s, &s->now->x, n * m->feature_dim, sizeof(float));
    if (s->cache)
        gather_split(s, b, x, n);
    else if (m->feature_type == GNN_F16)
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

/* Copies through pinned memory, so that the caller may reuse its own memory at once. No earlier
 * batch needs the pinned memory any more, because sampling waits for the GPU. */
static void send_seeds(struct gpu_store *s, const struct gnn_batch *seeds, struct gnn_batch *out)
{
    struct gnn_device *d = &s->d->base;
    struct slot *t = s->now;
    size_t n = (size_t)seeds->n_nodes[0], bytes = n * sizeof(int32_t);
    if (!gpu_mail_room(s->d, &t->seeds, &t->seeds_bytes, 2 * bytes))
        return;
    int32_t *id = t->seeds.host;
    memcpy(id, seeds->node, bytes);
    gpu_upload(d, t->node.p, id, bytes);
    if (!seeds->label)
        return;
    memcpy(id + n, seeds->label, bytes);
    out->label = room(s, &t->label, seeds->n_nodes[0], sizeof(int32_t));
    gpu_upload(d, t->label.p, id + n, bytes);
}

/* Samples all hops of *out. The host waits for the sizes of each hop. Meanwhile the compute stream
 * runs on. */
static void sample_batch(struct gpu_store *s, const struct sample_options *o,
                         const struct gnn_batch *seeds, struct gnn_batch *out)
{
    struct gpu_device *d = s->d;
    struct err err = ERR_INIT;
    send_seeds(s, seeds, out);
    mark(s, seeds->n_nodes[0], false);
    for (int h = 0; h < o->hops && !d->failed; h++)
        sample_hop(s, o, h, out);
    if (d->failed)
        return;
    mark(s, out->n_nodes[o->hops], true);
    gather(s, out);
    if (s->degrees)
        look_up_degrees(s, out);
    gpu_note(d, cu_event_record(d->cu, s->now->ready, d->sample.stream, &err), &err);
    if (!d->failed)
        gpu_note(d, cu_stream_wait_event(d->cu, d->compute.stream, s->now->ready, &err), &err);
}

/* All work on the previous batch has been queued by now, so we record the event `used` of its slot.
 * The sampler must not overwrite a slot before that slot's event `used`. */
static void next_slot(struct gpu_store *s)
{
    struct gpu_device *d = s->d;
    struct err err = ERR_INIT;
    if (!d->failed)
        gpu_note(d, cu_event_record(d->cu, s->now->used, d->compute.stream, &err), &err);
    s->now = &s->slot[(s->now - s->slot + 1) % GPU_STORE_SLOTS];
    if (!d->failed)
        gpu_note(d, cu_stream_wait_event(d->cu, d->sample.stream, s->now->used, &err), &err);
}

int gpu_store_batch(struct gpu_store *s, const struct sample_options *o,
                    const struct gnn_batch *seeds, struct gnn_batch *out, struct err *err)
{
    struct gpu_device *d = s->d;
    *out = (struct gnn_batch){.hops = o->hops,
                              .on_device = true,
                              .n_nodes = {seeds->n_nodes[0]},
                              .seed = seeds->seed,
                              .epoch = seeds->epoch,
                              .index = seeds->index,
                              .first = seeds->first};
    if (gpu_store_samples(o, err) < 0)
        return -1;
    next_slot(s);
    if (node_room(s, o, seeds->n_nodes[0], err) < 0)
        return -1;
    out->node = s->now->node.p;
    if (seeds->n_nodes[0] == 0)
        return 0;
    d->lane = &d->sample;
    sample_batch(s, o, seeds, out);
    d->lane = &d->compute;
    return d->failed ? gpu_sync(&d->base, err) : 0;
}
