/*
 * hone_gnn.c - wraps datasets and loaders (dataset.h, loader.h) in handles that count their
 * references. See hone_gnn.h.
 *
 *     tensor ──> batch ──> loader ──> data            A ──> B: A holds a counted reference to B
 *     tensor ────────────────────────> data
 *
 * Invariants:
 *   1. A closed handle lives on until the last reference to it is gone. So a tensor never points to
 *      freed memory.
 *   2. `owner` is the process that opened a handle. In a forked child, functions on the handle
 *      neither lock, wait nor free: the child's copy of a mutex may stay locked for ever, and the
 *      child has no loader threads.
 */
#include "gnn/api/hone_gnn.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/util.h"
#include "gnn/load/digest.h"
#include "gnn/load/loader.h"

_Static_assert((int)HONE_GNN_HOPS == (int)GNN_MAX_HOPS, "one limit");

struct hone_gnn_data {
    struct dataset d;
    pid_t owner;
    atomic_int refs;
};

struct hone_gnn_loader {
    struct loader *l;
    struct hone_gnn_data *data;
    struct id_list ids;
    int32_t *own_ids; /* copy of the caller's ids; NULL if `ids` is a split of the data */
    int64_t batch_size;
    pid_t owner;
    atomic_int refs;
};

struct hone_gnn_batch {
    const struct gnn_batch *b;
    struct hone_gnn_loader *loader;
    atomic_int refs;
};

static _Thread_local struct err last_error;

int hone_gnn_api(void)
{
    return HONE_GNN_API;
}

const char *hone_gnn_error(void)
{
    return last_error.msg;
}

static bool is_forked(pid_t owner)
{
    return getpid() != owner;
}

static int fail_forked(void)
{
    return err_set(
        &last_error, ERR_USAGE,
        "a forked process cannot use what its parent opened, because the threads stay in "
        "the parent; open it again in this process");
}

/* ---- references ------------------------------------------------------------------------------ */

/* Returns true for the last reference. */
static bool unref(atomic_int *refs)
{
    return atomic_fetch_sub(refs, 1) == 1;
}

static void data_unref(struct hone_gnn_data *d)
{
    if (!d || is_forked(d->owner) || !unref(&d->refs))
        return;
    dataset_release(&d->d);
    free(d);
}

static void loader_unref(struct hone_gnn_loader *l)
{
    if (!l || is_forked(l->owner) || !unref(&l->refs))
        return;
    loader_close(l->l);
    data_unref(l->data);
    free(l->own_ids);
    free(l);
}

static void batch_unref(struct hone_gnn_batch *b)
{
    if (!b || is_forked(b->loader->owner) || !unref(&b->refs))
        return;
    loader_give_back(b->loader->l, b->b);
    loader_unref(b->loader);
    free(b);
}

/* ---- tensors --------------------------------------------------------------------------------- */

struct tensor {
    struct hone_gnn_tensor t; /* first, so that a pointer to it also points to the whole struct */
    int64_t shape[2];
    atomic_int refs;
    /* The owner of the tensor's memory. At most one of these three is not NULL. */
    struct hone_gnn_batch *batch;
    struct hone_gnn_data *data;
    void *copy; /* memory that belongs to this tensor alone */
};

struct hone_gnn_tensor *hone_gnn_tensor_keep(struct hone_gnn_tensor *t)
{
    atomic_fetch_add(&((struct tensor *)t)->refs, 1);
    return t;
}

void hone_gnn_tensor_drop(struct hone_gnn_tensor *t)
{
    struct tensor *o = (struct tensor *)t;
    if (!o || !unref(&o->refs))
        return;
    batch_unref(o->batch);
    data_unref(o->data);
    free(o->copy);
    free(o);
}

enum { CODE_INT = 0, CODE_FLOAT = 2, DEVICE_CPU = 1 };

/* Returns a tensor around `data`, with `bits` bits per element: a matrix of rows x cols, or a
 * vector of `rows` elements if cols < 0. */
static struct tensor *tensor_new(const void *data, int code, int bits, int64_t rows, int64_t cols)
{
    struct tensor *o = xcalloc(1, sizeof *o);
    o->shape[0] = rows;
    o->shape[1] = cols;
    o->t = (struct hone_gnn_tensor){.data = (void *)data,
                                    .device_type = DEVICE_CPU,
                                    .ndim = cols < 0 ? 1 : 2,
                                    .code = (uint8_t)code,
                                    .bits = (uint8_t)bits,
                                    .lanes = 1,
                                    .shape = o->shape,
                                    .context = o,
                                    .deleter = hone_gnn_tensor_drop};
    atomic_init(&o->refs, 1);
    return o;
}

static struct tensor *tensor_features(const void *data, int64_t rows, enum gnn_type type,
                                      int64_t dim)
{
    return tensor_new(data, CODE_FLOAT, 8 * (int)gnn_type_bytes(type), rows, dim);
}

/* ---- data ------------------------------------------------------------------------------------ */

struct hone_gnn_data *hone_gnn_data_open(const char *dir, const char *how)
{
    enum dataset_memory memory;
    struct hone_gnn_data *d = xcalloc(1, sizeof *d);
    if (dataset_memory_parse(how, &memory, &last_error) < 0 ||
        dataset_open(&d->d, dir, memory, &last_error) < 0) {
        free(d);
        return NULL;
    }
    d->owner = getpid();
    atomic_init(&d->refs, 1);
    return d;
}

void hone_gnn_data_close(struct hone_gnn_data *d)
{
    data_unref(d);
}

struct hone_gnn_data_info hone_gnn_data_info(const struct hone_gnn_data *d)
{
    const struct manifest *m = &d->d.manifest;
    return (struct hone_gnn_data_info){
        .nodes = m->nodes,
        .edges = m->edges,
        .classes = m->classes,
        .feature_dim = d->d.feature ? m->feature_dim : 0,
        .feature_bits = 8 * (int)gnn_type_bytes(m->feature_type),
        .labelled = d->d.label != NULL,
    };
}

static struct tensor *data_array(const struct dataset *d, const char *name)
{
    const int64_t nodes = d->manifest.nodes;
    struct id_list ids;
    if (str_eq(name, data_file_name(DATA_OFFSETS)))
        return tensor_new(d->graph.offset, CODE_INT, 64, nodes + 1, -1);
    if (str_eq(name, data_file_name(DATA_NEIGHBOURS)))
        return tensor_new(d->graph.neighbour, CODE_INT, 32, d->manifest.edges, -1);
    if (d->feature && str_eq(name, data_file_name(DATA_FEATURES)))
        return tensor_features(d->feature, nodes, d->manifest.feature_type,
                               d->manifest.feature_dim);
    if (d->label && str_eq(name, data_file_name(DATA_LABELS)))
        return tensor_new(d->label, CODE_INT, 32, nodes, -1);
    if (dataset_split(d, name, &ids, NULL) == 0)
        return tensor_new(ids.id, CODE_INT, 32, ids.n, -1);
    return NULL;
}

struct hone_gnn_tensor *hone_gnn_data_tensor(struct hone_gnn_data *d, const char *name)
{
    struct tensor *o = data_array(&d->d, name);
    if (!o) {
        err_set(&last_error, ERR_USAGE, "the data has no array '%.40s'", name);
        return NULL;
    }
    atomic_fetch_add(&d->refs, 1);
    o->data = d;
    return &o->t;
}

/* ---- loaders --------------------------------------------------------------------------------- */

static int check_range(const char *name, int64_t v, int64_t lo, int64_t hi)
{
    if (v >= lo && v <= hi)
        return 0;
    return err_set(&last_error, ERR_USAGE, "%s is from %" PRId64 " to %" PRId64 ", not %" PRId64,
                   name, lo, hi, v);
}

/* Sets l->ids to a copy of the n ids. Fails if a node is not in the graph or comes twice. */
static int copy_ids(struct hone_gnn_loader *l, const int32_t *ids, int64_t n)
{
    const int64_t nodes = l->data->d.manifest.nodes;
    if (check_range("the number of seed nodes", n, 0, nodes) < 0)
        return -1;
    uint8_t *seen = xcalloc((size_t)nodes / 8 + 1, 1);
    int rc = 0;
    for (int64_t i = 0; rc == 0 && i < n; i++) {
        rc = check_range("a seed node", ids[i], 0, nodes - 1);
        if (rc == 0 && seen[ids[i] / 8] & 1 << ids[i] % 8)
            rc = err_set(&last_error, ERR_USAGE,
                         "node %d is twice among the seed nodes; give each "
                         "node once",
                         (int)ids[i]);
        if (rc == 0)
            seen[ids[i] / 8] |= (uint8_t)(1 << ids[i] % 8);
    }
    free(seen);
    if (rc < 0)
        return rc;
    l->own_ids = xmalloc((size_t)n * sizeof *ids + 1);
    if (n > 0)
        memcpy(l->own_ids, ids, (size_t)n * sizeof *ids);
    l->ids = (struct id_list){l->own_ids, n};
    return 0;
}

static int read_options(const struct hone_gnn_options *o, struct loader_options *out)
{
    if (o->size != (int64_t)sizeof *o)
        return err_set(&last_error, ERR_USAGE,
                       "options of %" PRId64 " bytes, not %zu: the caller was made for another "
                       "version of libhone_gnn.so",
                       o->size, sizeof *o);
    if (check_range("the number of hops", o->hops, 1, HONE_GNN_HOPS) < 0)
        return -1;
    *out = (struct loader_options){.sample = {.hops = o->hops, .seed = o->seed},
                                   .batch_size = o->batch_size,
                                   .threads = o->threads,
                                   .slots = o->slots,
                                   .rank = o->rank,
                                   .ranks = o->ranks,
                                   .shuffle = o->shuffle,
                                   .as_ready = o->as_ready,
                                   .no_slice = o->no_features};
    memcpy(out->sample.fanout, o->fanout, sizeof o->fanout);
    return sample_mode_parse(o->sampler, &out->sample.mode, &last_error);
}

static int open_loader(struct hone_gnn_loader *l, const struct hone_gnn_options *o)
{
    struct loader_options lo;
    if (is_forked(l->data->owner))
        return fail_forked();
    if (read_options(o, &lo) < 0)
        return -1;
    l->batch_size = o->batch_size;
    int rc = o->split ? dataset_split(&l->data->d, o->split, &l->ids, &last_error)
                      : copy_ids(l, o->ids, o->n_ids);
    return rc < 0 ? -1 : loader_open(&l->l, &l->data->d, &lo, &last_error);
}

struct hone_gnn_loader *hone_gnn_open(struct hone_gnn_data *d, const struct hone_gnn_options *o)
{
    struct hone_gnn_loader *l = xcalloc(1, sizeof *l);
    l->data = d;
    l->owner = getpid();
    if (open_loader(l, o) < 0) {
        free(l->own_ids);
        free(l);
        return NULL;
    }
    atomic_fetch_add(&d->refs, 1);
    atomic_init(&l->refs, 1);
    return l;
}

void hone_gnn_close(struct hone_gnn_loader *l)
{
    hone_gnn_cancel(l);
    loader_unref(l);
}

int64_t hone_gnn_batches(const struct hone_gnn_loader *l)
{
    return (l->ids.n + l->batch_size - 1) / l->batch_size;
}

int hone_gnn_start(struct hone_gnn_loader *l, int64_t epoch, int64_t skip)
{
    if (is_forked(l->owner))
        return fail_forked();
    if (check_range("the number of batches to skip", skip, 0, INT64_MAX) < 0)
        return -1;
    return loader_continue(l->l, l->ids, epoch, skip, &last_error);
}

int hone_gnn_next(struct hone_gnn_loader *l, int64_t timeout_ms, struct hone_gnn_batch **out)
{
    const struct gnn_batch *b;
    if (is_forked(l->owner))
        return fail_forked();
    int rc = timeout_ms < 0 ? loader_next(l->l, &b, &last_error)
                            : loader_next_within(l->l, timeout_ms, &b, &last_error);
    if (rc != 1)
        return rc;
    struct hone_gnn_batch *o = xcalloc(1, sizeof *o);
    o->b = b;
    o->loader = l;
    atomic_init(&o->refs, 1);
    atomic_fetch_add(&l->refs, 1);
    *out = o;
    return 1;
}

void hone_gnn_cancel(struct hone_gnn_loader *l)
{
    if (l && !is_forked(l->owner))
        loader_cancel(l->l);
}

/* ---- batches --------------------------------------------------------------------------------- */

struct hone_gnn_batch_info hone_gnn_batch_info(const struct hone_gnn_batch *b)
{
    struct hone_gnn_batch_info out = {
        .hops = b->b->hops, .epoch = b->b->epoch, .index = b->b->index};
    memcpy(out.n_nodes, b->b->n_nodes, sizeof out.n_nodes);
    memcpy(out.n_edges, b->b->n_edges, sizeof out.n_edges);
    return out;
}

static struct tensor *copied(int64_t *copy, int64_t rows, int64_t cols)
{
    struct tensor *o = tensor_new(copy, CODE_INT, 64, rows, cols);
    o->copy = copy;
    return o;
}

static struct tensor *edges_of(const struct gnn_batch *b, int hop)
{
    int64_t n = b->n_edges[hop];
    int64_t *source = xmalloc((size_t)n * 2 * sizeof *source + 1), *target = source + n;
    for (int64_t e = 0; e < n; e++)
        source[e] = b->col[hop][e];
    for (int64_t t = 0; t < b->n_nodes[hop]; t++)
        for (int32_t e = b->row[hop][t]; e < b->row[hop][t + 1]; e++)
            target[e] = t;
    return copied(source, 2, n);
}

static struct tensor *labels_64(const struct gnn_batch *b)
{
    int64_t n = b->n_nodes[0];
    int64_t *label = xmalloc((size_t)n * sizeof *label + 1);
    for (int64_t i = 0; i < n; i++)
        label[i] = b->label[i];
    return copied(label, n, -1);
}

static struct tensor *batch_array(const struct gnn_batch *b, enum hone_gnn_array what, int hop)
{
    bool in_hop = hop >= 0 && hop < b->hops;
    switch (what) {
    case HONE_GNN_NODES:
        return tensor_new(b->node, CODE_INT, 32, b->n_nodes[b->hops], -1);
    case HONE_GNN_FEATURES:
        return b->feature ? tensor_features(b->feature, b->n_nodes[b->hops], b->feature_type,
                                            b->feature_dim)
                          : NULL;
    case HONE_GNN_LABELS:
        return b->label ? tensor_new(b->label, CODE_INT, 32, b->n_nodes[0], -1) : NULL;
    case HONE_GNN_LABELS_64:
        return b->label ? labels_64(b) : NULL;
    case HONE_GNN_ROW:
        return in_hop ? tensor_new(b->row[hop], CODE_INT, 32, b->n_nodes[hop] + 1, -1) : NULL;
    case HONE_GNN_COL:
        return in_hop ? tensor_new(b->col[hop], CODE_INT, 32, b->n_edges[hop], -1) : NULL;
    case HONE_GNN_EDGES:
        return in_hop ? edges_of(b, hop) : NULL;
    }
    return NULL;
}

struct hone_gnn_tensor *hone_gnn_batch_tensor(struct hone_gnn_batch *b, enum hone_gnn_array what,
                                              int hop)
{
    struct tensor *o = batch_array(b->b, what, hop);
    if (!o) {
        err_set(&last_error, ERR_USAGE, "the batch has no array %d of hop %d", (int)what, hop);
        return NULL;
    }
    if (!o->copy) {
        atomic_fetch_add(&b->refs, 1);
        o->batch = b;
    }
    return &o->t;
}

uint64_t hone_gnn_batch_digest(const struct hone_gnn_batch *b)
{
    return batch_digest(b->b);
}

void hone_gnn_batch_drop(struct hone_gnn_batch *b)
{
    batch_unref(b);
}
