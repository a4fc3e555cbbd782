/* infer.c - predicts classes over batches, or layer by layer over all nodes. See infer.h. */
#include "gnn/train/infer.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "gnn/load/slice.h"
#include "sys/memory.h"

typedef void (*batch_fn)(void *ctx, const struct gnn_batch *b);

static void count_batch(struct infer_result *r, const struct gnn_batch *b)
{
    r->input_nodes += b->n_nodes[b->hops];
    for (int h = 0; h < b->hops; h++)
        r->edges += b->n_edges[h];
}

static int each_batch(struct gnn_network *n, const struct dataset *d, const struct feed *feed,
                      const struct loader_options *load, struct id_list ids, batch_fn fn, void *ctx,
                      struct infer_result *r, struct err *err)
{
    struct loader *l;
    struct loader_options o = *load;
    const struct gnn_batch *b, *use;
    struct gnn_batch own;
    int rc = -1;
    o.shuffle = o.as_ready = false;
    feed_options(feed, &o);
    if (loader_open(&l, d, &o, err) < 0)
        return -1;
    if (loader_start(l, ids, 0, err) < 0)
        goto out;
    for (;;) {
        uint64_t start = now_ns();
        rc = loader_next(l, &b, err);
        uint64_t ready = now_ns();
        r->wait_s += (double)(ready - start) / 1e9;
        if (rc <= 0)
            break;
        rc = feed_batch(feed, &o.sample, b, &own, &use, err);
        if (rc == 0 && use->n_nodes[0] > 0)
            fn(ctx, use);
        if (rc == 0)
            rc = network_step(n, err);
        count_batch(r, use);
        feed_give_back(feed, l, o.slots, b);
        r->compute_s += (double)(now_ns() - ready) / 1e9;
        if (rc < 0)
            break;
    }
    /* Sync after an error too: results under way go to memory that the caller will free. */
    int ended = network_sync(n, rc == 0 ? err : NULL);
    feed_end(feed, l);
    rc = rc < 0 ? rc : ended;
out:
    loader_close(l);
    return rc;
}

static int begin(struct gnn_network *n, const struct dataset *d, struct id_list ids,
                 struct infer_result *r, struct err *err)
{
    const struct gnn_program *p = network_program(n);
    memset(r, 0, sizeof *r);
    if (dataset_feature_dim(d) != p->features)
        return err_set(err, ERR_INPUT,
                       "the data has %" PRId64 " features, the model needs %" PRId64,
                       dataset_feature_dim(d), p->features);
    r->n = ids.n;
    r->class = xmalloc((size_t)MAX(ids.n, 1) * sizeof *r->class);
    for (int64_t i = 0; i < ids.n; i++)
        r->class[i] = GNN_UNLABELLED;
    return 0;
}

static void compare_labels(const struct dataset *d, struct id_list ids, struct infer_result *r)
{
    for (int64_t i = 0; d->label && i < ids.n; i++) {
        int32_t label = d->label[ids.id[i]];
        if (label < 0 || r->class[i] < 0)
            continue;
        r->labelled++;
        r->correct += label == r->class[i];
    }
}

void infer_result_release(struct infer_result *r)
{
    free(r->class);
    r->class = NULL;
}

/* ---- sampled --------------------------------------------------------------------------------- */

struct sampled {
    struct gnn_network *network;
    struct infer_result *r;
};

static void infer_batch(void *ctx, const struct gnn_batch *b)
{
    struct sampled *s = ctx;
    network_batch(s->network, b);
    network_forward(s->network, GNN_EVAL);
    network_predict(s->network, s->r->class + b->first);
}

int infer_sampled(struct gnn_network *n, const struct dataset *d, struct feed *feed,
                  const struct loader_options *load, struct id_list ids, struct infer_result *r,
                  struct err *err)
{
    uint64_t start = now_ns();
    struct sampled s = {n, r};
    struct feed none = {0};
    feed = feed ? feed : &none;
    if (begin(n, d, ids, r, err) < 0)
        return -1;
    if (load->sample.hops != network_program(n)->layers)
        return err_set(err, ERR_USAGE, "%d fanouts for a model of %d layers", load->sample.hops,
                       network_program(n)->layers);
    feed_prepare(feed, n, GNN_EVAL);
    struct gpu_split before, after;
    (void)feed_split(feed, &before);
    if (each_batch(n, d, feed, load, ids, infer_batch, &s, r, err) < 0)
        return -1;
    r->split = feed_split(feed, &after);
    r->cached_rows = after.cached_rows;
    r->host_rows = after.host_rows - before.host_rows;
    r->host_bytes = r->host_rows * (int64_t)after.row_bytes;
    compare_labels(d, ids, r);
    r->wall_s = (double)(now_ns() - start) / 1e9;
    return 0;
}

/* ---- all neighbours, layer by layer ---------------------------------------------------------- */

struct full {
    struct gnn_network *network;
    const struct gnn_program *p;
    const struct dataset *data;
    struct infer_result *r;
    int layer;
    struct pages carry[GNN_MAX_LAYERS]; /* carry[l]: input of layer l for all nodes, l > 0 */
    struct pages stage;                 /* rows of one batch, on their way to the device */
};

static int64_t carry_width(const struct full *f, int layer)
{
    return f->p->value.items[f->p->carry[layer]].width;
}

/* Gives the network a layer's input for the batch's first n nodes. The rows come from the features
 * (layer 0) or from f->carry[layer]. */
static void set_carry(struct full *f, int layer, const struct gnn_batch *b, int64_t n)
{
    const struct manifest *m = &f->data->manifest;
    bool input = layer == 0;
    enum gnn_type type = input ? m->feature_type : GNN_F32;
    size_t row = (size_t)carry_width(f, layer) * gnn_type_bytes(type);
    slice_rows(f->stage.base, input ? f->data->feature : f->carry[layer].base, row, b->node, n);
    network_set(f->network, f->p->carry[layer], n, type, f->stage.base);
}

static void run_layer(struct full *f, const struct gnn_batch *b)
{
    network_layer_batch(f->network, f->layer, b);
    if (f->layer == 0)
        network_set(f->network, f->p->input, b->n_nodes[1], b->feature_type, b->feature);
    else
        set_carry(f, f->layer, b, b->n_nodes[1]);
    network_forward_layer(f->network, f->layer);
}

static void inner_batch(void *ctx, const struct gnn_batch *b)
{
    struct full *f = ctx;
    int next = f->layer + 1;
    run_layer(f, b);
    network_get(f->network, f->p->carry[next], b->n_nodes[0],
                (float *)f->carry[next].base + b->first * carry_width(f, next));
}

/* Runs the last layer and the head, which reads that layer's input and result. If the head also
 * reads inputs of earlier layers, we set those here. They have their own buffers, so the last
 * layer's input and result stay. */
static void last_batch(void *ctx, const struct gnn_batch *b)
{
    struct full *f = ctx;
    run_layer(f, b);
    for (int l = 0; l < f->layer; l++)
        if (program_head_reads(f->p, f->p->carry[l]))
            set_carry(f, l, b, b->n_nodes[0]);
    network_forward_layer(f->network, f->p->layers);
    network_predict(f->network, f->r->class + b->first);
}

static int reserve_carry(struct full *f, int layer, struct err *err)
{
    uint64_t bytes = (uint64_t)f->data->graph.nodes * (uint64_t)carry_width(f, layer) * 4;
    uint64_t free_bytes = memory_available();
    if (free_bytes && bytes > free_bytes)
        return err_set(err, ERR_ENV,
                       "full inference needs %" PRIu64 " MiB for the results of a layer, %" PRIu64
                       " MiB are free; use sampled inference",
                       bytes >> 20, free_bytes >> 20);
    return pages_reserve(&f->carry[layer], bytes, err);
}

static int run_layers(struct full *f, const struct loader_options *load, struct id_list all,
                      struct id_list ids, struct err *err)
{
    struct loader_options o = *load;
    int last = f->p->layers - 1;
    o.sample.hops = 1;
    o.sample.fanout[0] = FANOUT_ALL;
    o.sample.mode = SAMPLE_DISTINCT;
    for (f->layer = 0; f->layer <= last; f->layer++) {
        o.no_slice = f->layer > 0;
        if (f->layer < last && reserve_carry(f, f->layer + 1, err) < 0)
            return -1;
        if (each_batch(f->network, f->data, &(struct feed){0}, &o, f->layer < last ? all : ids,
                       f->layer < last ? inner_batch : last_batch, f, f->r, err) < 0)
            return err_prefix(err, "layer %d", f->layer);
        if (f->layer > 0 && !program_head_reads(f->p, f->p->carry[f->layer]))
            pages_release(&f->carry[f->layer]);
    }
    return 0;
}

int infer_full(struct gnn_network *n, const struct dataset *d, const struct loader_options *load,
               struct id_list ids, struct infer_result *r, struct err *err)
{
    uint64_t start = now_ns();
    struct full f = {.network = n, .p = network_program(n), .data = d, .r = r};
    int64_t widest = f.p->features, nodes = d->graph.nodes;
    int32_t *id = NULL;
    int rc = -1;
    if (begin(n, d, ids, r, err) < 0)
        return -1;
    for (int l = 1; l < f.p->layers; l++)
        widest = MAX(widest, carry_width(&f, l));
    if (pages_reserve(&f.stage, (size_t)nodes * (size_t)widest * sizeof(float), err) < 0)
        goto out;
    id = xmalloc((size_t)MAX(nodes, 1) * sizeof *id);
    for (int64_t i = 0; i < nodes; i++)
        id[i] = (int32_t)i;
    rc = run_layers(&f, load, (struct id_list){id, nodes}, ids, err);
    if (rc == 0)
        compare_labels(d, ids, r);
    r->wall_s = (double)(now_ns() - start) / 1e9;
out:
    for (int l = 0; l < GNN_MAX_LAYERS; l++)
        pages_release(&f.carry[l]);
    pages_release(&f.stage);
    free(id);
    return rc;
}
