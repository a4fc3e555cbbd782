/* forward.c - runs a program forwards, as a whole or layer by layer. See network.h. */
#include "base/util.h"
#include "gnn/model/network_state.h"

struct gnn_epilogue step_epilogue(const struct gnn_network *n, const struct gnn_step *s)
{
    bool train = n->mode == GNN_TRAIN;
    return (struct gnn_epilogue){
        .bias = s->bias == GNN_NO_BIAS ? NULL : weight_at(n, GNN_WEIGHTS, s->bias),
        .act = s->after.act,
        .slope = s->after.slope,
        .drop = train ? s->after.drop : 0,
        .seed = n->seed,
        .step = (uint32_t)n->steps,
        .place = (uint32_t)(s - n->p->step.items),
        .node = n->node,
    };
}

void product_terms(const struct gnn_network *n, const struct gnn_step *s, struct gnn_term *term)
{
    for (int t = 0; t < s->n_in; t++)
        term[t] = (struct gnn_term){.x = n->value[s->in[t]].x,
                                    .w = weight_at(n, GNN_WEIGHTS, s->weight[t]),
                                    .k = n->p->value.items[s->in[t]].width,
                                    .dw = weight_at(n, GNN_GRADIENTS, s->weight[t])};
}

static void forward_product(struct gnn_network *n, const struct gnn_step *s, int64_t rows,
                            int64_t width, const struct gnn_epilogue *ep, void *out)
{
    struct gnn_term term[GNN_MAX_TERMS];
    product_terms(n, s, term);
    n->ops->product(n->d, rows, width, term, s->n_in, ep, out);
}

static void forward_norm(struct gnn_network *n, const struct gnn_step *s, int64_t rows,
                         int64_t width, const struct gnn_epilogue *ep, void *out)
{
    size_t real = n->ops->real_bytes;
    void *saved = n->mode == GNN_TRAIN ? aux_room(n, s, AUX_SAVED, 2 * width, real) : NULL;
    void *running = (char *)n->state[GNN_RUNNING] + s->running * (int64_t)real;
    n->ops->batch_norm(n->d, rows, width, n->value[s->in[0]].x,
                       weight_at(n, GNN_WEIGHTS, s->weight[0]), running, saved, ep, out);
}

/* Returns the hop that a step reads. */
static const struct gnn_hop *hop_of(const struct gnn_network *n, const struct gnn_step *s)
{
    const struct gnn_hop *h = &n->hop[n->p->value.items[s->out].level];
    if (step_most(n, s, n->mode) && !h->degree)
        BUG("a batch without degrees for a model that needs them");
    return h;
}

/* Returns whether the batch already contains the result of the step, as its array `reduced`. The
 * rows may still need the factors of scale_rows(). */
static bool reads_reduced(const struct gnn_network *n, const struct gnn_step *s)
{
    return s->kind == GNN_STEP_SEGMENT && s->in[0] == n->p->input && n->reduced;
}

static void forward_attend(struct gnn_network *n, const struct gnn_step *s,
                           const struct gnn_epilogue *ep, void *out)
{
    const struct gnn_ops *o = n->ops;
    struct gnn_attention attention = s->attention, *at = &attention;
    const struct gnn_hop *h = hop_of(n, s);
    attention.most = step_most(n, s, n->mode);
    const void *z = n->value[s->in[0]].x;
    void *src = aux_room(n, s, AUX_SRC, h->n_src * at->heads, o->real_bytes);
    void *dst = aux_room(n, s, AUX_DST, h->n_dst * at->heads, o->real_bytes);
    void *weight = aux_room(n, s, AUX_WEIGHT, (h->n_edges + h->n_dst) * at->heads, o->real_bytes);
    o->head_dot(n->d, h->n_src, at, z, weight_at(n, GNN_WEIGHTS, s->weight[0]), src);
    o->head_dot(n->d, h->n_dst, at, z, weight_at(n, GNN_WEIGHTS, s->weight[1]), dst);
    o->edge_softmax(n->d, h, at, src, dst, weight);
    o->attend(n->d, h, at, weight, z, out);
    if (ep->act != GNN_LINEAR || ep->drop > 0)
        o->apply(n->d, h->n_dst, at->heads * at->dim, out, ep, out);
}

/* If step_most() is not 0, the sum over sampled neighbours is their mean times the number of
 * neighbours that training would have taken. */
static void forward_segment(struct gnn_network *n, const struct gnn_step *s, int64_t rows,
                            int64_t width, void *out)
{
    const struct gnn_hop *h = hop_of(n, s);
    int32_t *arg = NULL, most = step_most(n, s, n->mode);
    const void *mean = out;
    if (s->segment == GNN_MAX)
        arg = aux_room(n, s, AUX_ARG, rows * width, sizeof *arg);
    if (reads_reduced(n, s))
        mean = n->reduced;
    else
        n->ops->segment(n->d, most ? GNN_MEAN : s->segment, h, width, n->value[s->in[0]].x, out,
                        arg);
    if (most)
        n->ops->scale_rows(n->d, rows, width, h->degree, most, mean, out);
}

static void forward_step(struct gnn_network *n, const struct gnn_step *s)
{
    const struct gnn_value *v = &n->p->value.items[s->out];
    struct value_buffers *vb = &n->value[s->out];
    const void *in = n->value[s->in[0]].x;
    int64_t rows = n->rows[v->level];
    struct gnn_epilogue ep = step_epilogue(n, s);
    if (s->kind == GNN_STEP_APPLY && n->mode == GNN_EVAL && ep.act == GNN_LINEAR) {
        vb->x = n->value[s->in[0]].x;
        return;
    }
    if (reads_reduced(n, s) && !step_most(n, s, n->mode)) {
        vb->x = (void *)n->reduced;
        return;
    }
    void *out = vb->x = buffer_room(n, &vb->own, rows * v->width, n->ops->real_bytes);
    switch (s->kind) {
    case GNN_STEP_PRODUCT:
        forward_product(n, s, rows, v->width, &ep, out);
        break;
    case GNN_STEP_SEGMENT:
        forward_segment(n, s, rows, v->width, out);
        break;
    case GNN_STEP_APPLY:
        n->ops->apply(n->d, rows, v->width, in, &ep, out);
        break;
    case GNN_STEP_ADD:
        n->ops->scale(n->d, rows * v->width, s->scale, in, out, false);
        n->ops->scale(n->d, rows * v->width, 1, n->value[s->in[1]].x, out, true);
        break;
    case GNN_STEP_NORM:
        forward_norm(n, s, rows, v->width, &ep, out);
        break;
    case GNN_STEP_ATTEND:
        forward_attend(n, s, &ep, out);
        break;
    case GNN_STEP_HEAD_MEAN:
        n->ops->head_mean(n->d, rows, s->attention.heads, s->attention.dim, in, out);
        break;
    }
}

/* Transposes the hops that the backward pass will read. */
static void transpose_hops(struct gnn_network *n)
{
    vec_each (const struct gnn_step, s, &n->p->step) {
        bool reads = s->kind == GNN_STEP_SEGMENT || s->kind == GNN_STEP_ATTEND;
        if (!reads || !n->p->value.items[s->out].has_grad)
            continue;
        int level = n->p->value.items[s->out].level;
        struct gnn_hop *h = &n->hop[level];
        if (h->t_row)
            continue;
        int32_t *row = buffer_room(n, &n->t_row[level], h->n_src + 1, sizeof *row);
        int32_t *edge = buffer_room(n, &n->t_edge[level], h->n_edges, sizeof *edge);
        int32_t *dst = buffer_room(n, &n->t_dst[level], h->n_edges, sizeof *dst);
        n->ops->transpose(n->d, h, row, edge, dst);
        h->t_row = row;
        h->t_edge = edge;
        h->t_dst = dst;
    }
}

void network_forward(struct gnn_network *n, enum gnn_mode mode)
{
    n->mode = mode;
    if (mode == GNN_TRAIN)
        transpose_hops(n);
    vec_each (const struct gnn_step, s, &n->p->step)
        forward_step(n, s);
}

void network_forward_layer(struct gnn_network *n, int layer)
{
    n->mode = GNN_EVAL;
    vec_each (const struct gnn_step, s, &n->p->step)
        if (s->layer == layer)
            forward_step(n, s);
}
