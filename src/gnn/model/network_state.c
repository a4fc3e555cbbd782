/* network_state.c - the weights, buffers and batches of a network. See network.h. */
#include "gnn/model/network.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/number_core.h"
#include "base/util.h"
#include "gnn/model/network_state.h"

enum { STREAM_WEIGHTS = 0x57 };

static void *real_alloc(struct gnn_network *n, int64_t reals)
{
    size_t bytes = (size_t)reals * n->ops->real_bytes;
    void *p = n->ops->alloc(n->d, bytes);
    n->ops->zero(n->d, p, bytes);
    return p;
}

static void upload_reals(struct gnn_network *n, void *to, const double *v, int64_t count)
{
    if (n->ops->real_bytes == sizeof(double)) {
        n->ops->upload(n->d, to, v, (size_t)count * sizeof *v);
        return;
    }
    float *f = xmalloc((size_t)count * sizeof *f);
    for (int64_t i = 0; i < count; i++)
        f[i] = (float)v[i];
    n->ops->upload(n->d, to, f, (size_t)count * sizeof *f);
    n->ops->sync(n->d, NULL);
    free(f);
}

/* Draws element i of a weight, uniformly in [-bound, bound], from a random word of its own. */
static double draw(uint64_t seed, int weight, int64_t i, double bound)
{
    struct gen_block b = gen_words(seed, STREAM_WEIGHTS, (uint32_t)weight, (uint64_t)i / 4);
    return bound * (((double)b.w[i % 4] + 0.5) / 2147483648.0 - 1);
}

static void init_weight(struct gnn_network *n, int number)
{
    const struct gnn_weight *w = &n->p->weight.items[number];
    int64_t count = w->rows * w->width;
    double *v = xmalloc((size_t)count * sizeof *v);
    for (int64_t i = 0; i < count; i++)
        v[i] = w->init == GNN_INIT_SPREAD ? draw(n->seed, number, i, w->bound)
                                          : (i < w->width ? w->bound : 0);
    upload_reals(n, weight_at(n, GNN_WEIGHTS, number), v, count);
    free(v);
}

/* The running statistics of batch norm start with mean 0 and variance 1. */
static void init_running(struct gnn_network *n)
{
    double *v = xcalloc((size_t)n->p->n_running + 1, sizeof *v);
    vec_each (const struct gnn_step, s, &n->p->step) {
        int64_t width = n->p->value.items[s->out].width;
        for (int64_t c = 0; s->kind == GNN_STEP_NORM && c < width; c++)
            v[s->running + width + c] = 1;
    }
    upload_reals(n, n->state[GNN_RUNNING], v, n->p->n_running);
    free(v);
}

int network_check_memory(const struct gnn_program *p, uint64_t available, struct err *err)
{
    /* weights, gradients, two moments */
    uint64_t bytes = (uint64_t)p->n_weights * 4 * sizeof(float);
    if (available && bytes > available)
        return err_set(
            err, ERR_ENV,
            "the model's %lld weights, with gradients and Adam's moments, need %llu MiB, "
            "%llu MiB are free; choose a smaller hidden width",
            (long long)p->n_weights, (unsigned long long)(bytes >> 20),
            (unsigned long long)(available >> 20));
    return 0;
}

struct gnn_network *network_new(const struct gnn_program *p, struct gnn_device *d, uint64_t seed)
{
    struct gnn_network *n = xcalloc(1, sizeof *n);
    n->p = p;
    n->d = d;
    n->ops = d->ops;
    n->seed = seed;
    n->value = xcalloc(p->value.n, sizeof *n->value);
    n->step = xcalloc(p->step.n, sizeof *n->step);
    for (int i = 0; i < GNN_STATES; i++)
        n->state[i] = real_alloc(n, network_state_reals(n, (enum gnn_state)i));
    for (int i = 0; i < (int)p->weight.n; i++)
        init_weight(n, i);
    init_running(n);
    return n;
}

static void buffer_release(struct gnn_network *n, struct buffer *b)
{
    n->ops->release(n->d, b->p);
}

void network_free(struct gnn_network *n)
{
    if (!n)
        return;
    for (size_t i = 0; i < n->p->value.n; i++) {
        buffer_release(n, &n->value[i].own);
        buffer_release(n, &n->value[i].grad);
    }
    for (size_t i = 0; i < n->p->step.n; i++)
        for (int k = 0; k < AUX_COUNT; k++)
            buffer_release(n, &n->step[i].aux[k]);
    for (int h = 0; h < GNN_MAX_LAYERS; h++) {
        buffer_release(n, &n->t_row[h]);
        buffer_release(n, &n->t_edge[h]);
        buffer_release(n, &n->t_dst[h]);
    }
    for (int i = 0; i < GNN_STATES; i++)
        n->ops->release(n->d, n->state[i]);
    free(n->value);
    free(n->step);
    free(n);
}

const struct gnn_program *network_program(const struct gnn_network *n)
{
    return n->p;
}

void *buffer_room(struct gnn_network *n, struct buffer *b, int64_t elems, size_t size)
{
    size_t bytes = (size_t)elems * size;
    if (bytes > b->bytes || !b->p) {
        /* An eighth more, because batches differ a little and each growth costs an allocation. */
        size_t room = MAX(bytes + bytes / 8, 64);
        n->ops->release(n->d, b->p);
        b->p = n->ops->alloc(n->d, room);
        b->bytes = room;
    }
    return b->p;
}

void *aux_room(struct gnn_network *n, const struct gnn_step *s, int which, int64_t elems,
               size_t size)
{
    return buffer_room(n, &n->step[s - n->p->step.items].aux[which], elems, size);
}

static const void *batch_array(struct gnn_network *n, const struct gnn_batch *b, const void *array,
                               int64_t elems)
{
    return b->on_device ? array : n->ops->array(n->d, array, (size_t)elems * sizeof(int32_t));
}

void network_trained_with(struct gnn_network *n, const int32_t *most)
{
    memcpy(n->most, most, (size_t)n->p->layers * sizeof *most);
}

int32_t step_most(const struct gnn_network *n, const struct gnn_step *s, enum gnn_mode mode)
{
    bool counts =
        (s->kind == GNN_STEP_SEGMENT && s->segment == GNN_SUM) || s->kind == GNN_STEP_ATTEND;
    return counts && mode == GNN_EVAL ? n->most[n->p->value.items[s->out].level] : 0;
}

bool network_reads_degrees(const struct gnn_network *n, enum gnn_mode mode)
{
    vec_each (const struct gnn_step, s, &n->p->step)
        if (step_most(n, s, mode))
            return true;
    return false;
}

bool network_reduces_input(const struct gnn_network *n, enum gnn_mode mode, enum gnn_segment *kind)
{
    if (!program_reduces_input(n->p, kind))
        return false;
    if (*kind == GNN_SUM && mode == GNN_EVAL && n->most[n->p->layers - 1])
        *kind = GNN_MEAN; /* forward_segment() scales the mean */
    return true;
}

/* The targets of every hop are the first nodes of one list, so all hops share one array of
 * degrees. */
static const int32_t *batch_degree(struct gnn_network *n, const struct gnn_batch *b)
{
    if (!b->degree || !network_reads_degrees(n, GNN_EVAL))
        return NULL;
    return batch_array(n, b, b->degree, b->n_nodes[b->hops - 1]);
}

static void set_hop(struct gnn_network *n, int to, const struct gnn_batch *b, int h,
                    const int32_t *degree)
{
    n->hop[to] = (struct gnn_hop){
        .n_dst = b->n_nodes[h],
        .n_src = b->n_nodes[h + 1],
        .n_edges = b->n_edges[h],
        .row = batch_array(n, b, b->row[h], b->n_nodes[h] + 1),
        .col = batch_array(n, b, b->col[h], b->n_edges[h]),
        .degree = degree,
    };
    n->rows[to] = b->n_nodes[h];
    n->rows[to + 1] = b->n_nodes[h + 1];
}

void network_batch(struct gnn_network *n, const struct gnn_batch *b)
{
    if (b->hops != n->p->layers || (b->feature && b->feature_dim != n->p->features))
        BUG("a batch of %d hops and %lld features for a model of %d and %lld", b->hops,
            (long long)b->feature_dim, n->p->layers, (long long)n->p->features);
    const int32_t *degree = batch_degree(n, b);
    for (int h = 0; h < b->hops; h++)
        set_hop(n, h, b, h, degree);
    n->label = b->label ? batch_array(n, b, b->label, b->n_nodes[0]) : NULL;
    n->node = batch_array(n, b, b->node, b->n_nodes[b->hops]);
    n->reduced = b->reduced;
    if (b->feature && b->on_device)
        n->value[n->p->input].x = (void *)b->feature;
    else if (b->feature)
        network_set(n, n->p->input, b->n_nodes[b->hops], b->feature_type, b->feature);
}

void network_layer_batch(struct gnn_network *n, int layer, const struct gnn_batch *b)
{
    n->reduced = NULL;
    set_hop(n, n->p->layers - 1 - layer, b, 0, batch_degree(n, b));
}

void network_set(struct gnn_network *n, int value, int64_t rows, enum gnn_type type,
                 const void *data)
{
    const struct gnn_value *v = &n->p->value.items[value];
    struct value_buffers *vb = &n->value[value];
    int64_t count = rows * v->width;
    n->rows[v->level] = rows;
    vb->x = buffer_room(n, &vb->own, count, n->ops->real_bytes);
    n->ops->load(n->d, type, count, n->ops->array(n->d, data, (size_t)count * gnn_type_bytes(type)),
                 vb->x);
}

void network_get(struct gnn_network *n, int value, int64_t rows, float *out)
{
    size_t count = (size_t)(rows * n->p->value.items[value].width);
    if (n->ops->real_bytes == sizeof *out) {
        n->ops->download(n->d, out, n->value[value].x, count * sizeof *out);
        return;
    }
    double *v = xmalloc(count * sizeof *v);
    n->ops->download(n->d, v, n->value[value].x, count * sizeof *v);
    for (size_t i = 0; i < count; i++)
        out[i] = (float)v[i];
    free(v);
}

void network_predict(struct gnn_network *n, int32_t *best)
{
    n->ops->predict(n->d, n->rows[0], n->p->classes, n->value[n->p->output].x, best);
}

void network_update(struct gnn_network *n, struct gnn_adam *a)
{
    n->steps++;
    a->correct1 = 1 - pow(a->beta1, (double)n->steps);
    a->correct2 = 1 - pow(a->beta2, (double)n->steps);
    n->ops->adam(n->d, n->p->n_weights, a, n->state[GNN_GRADIENTS], n->state[GNN_WEIGHTS],
                 n->state[GNN_MOMENTS1], n->state[GNN_MOMENTS2]);
}

int network_sync(struct gnn_network *n, struct err *err)
{
    return n->ops->sync(n->d, err);
}

int network_step(struct gnn_network *n, struct err *err)
{
    return n->ops->step(n->d, err);
}

int64_t network_state_reals(const struct gnn_network *n, enum gnn_state part)
{
    return part == GNN_RUNNING ? n->p->n_running : n->p->n_weights;
}

void *network_state(struct gnn_network *n, enum gnn_state part)
{
    return n->state[part];
}

static size_t state_bytes(const struct gnn_network *n, enum gnn_state part)
{
    return (size_t)network_state_reals(n, part) * n->ops->real_bytes;
}

void network_download(struct gnn_network *n, enum gnn_state part, void *to)
{
    n->ops->download(n->d, to, n->state[part], state_bytes(n, part));
}

void network_upload(struct gnn_network *n, enum gnn_state part, const void *from)
{
    n->ops->upload(n->d, n->state[part], from, state_bytes(n, part));
    n->ops->sync(n->d, NULL);
}

int64_t network_steps(const struct gnn_network *n)
{
    return n->steps;
}

void network_set_steps(struct gnn_network *n, int64_t steps)
{
    n->steps = steps;
}
