/* backward.c - runs a program backwards: the gradients of weights and values. See network.h. */
#include "base/util.h"
#include "gnn/model/network_state.h"

/* Returns the buffers of a value, with room for its gradient. The gradient is a sum with one
 * summand for each step that reads the value. A step may read only the first rows; then its summand
 * covers only these. Rows of the gradient from `filled` on are not written yet. */
static struct value_buffers *grad_of(struct gnn_network *n, int value)
{
    const struct gnn_value *v = &n->p->value.items[value];
    struct value_buffers *vb = &n->value[value];
    if (!vb->filled)
        (void)buffer_room(n, &vb->grad, n->rows[v->level] * v->width, n->ops->real_bytes);
    return vb;
}

/* Looks at the first `rows` rows of a gradient, and sets those that are not written yet to 0. */
static void grad_fill(struct gnn_network *n, int value, int64_t rows)
{
    struct value_buffers *vb = grad_of(n, value);
    int64_t row_bytes = n->p->value.items[value].width * (int64_t)n->ops->real_bytes;
    if (vb->filled < rows)
        n->ops->zero(n->d, (char *)vb->grad.p + vb->filled * row_bytes,
                     (size_t)((rows - vb->filled) * row_bytes));
    vb->filled = MAX(vb->filled, rows);
}

/* Prepares the first `rows` rows of a gradient for a summand. Returns true if the caller must add
 * the summand to these rows, false if the summand must replace them. */
static bool grad_add(struct gnn_network *n, int value, int64_t rows)
{
    struct value_buffers *vb = grad_of(n, value);
    if (!vb->filled) {
        vb->filled = rows;
        return false;
    }
    grad_fill(n, value, rows);
    return true;
}

/* Returns the step that computes `value` if `s` is the first step that reads it, else NULL. Steps
 * run backwards, so the first reader gives the last summand of the gradient. */
static const struct gnn_step *step_before(const struct gnn_network *n, const struct gnn_step *s,
                                          int value)
{
    const struct gnn_step *from = NULL;
    for (const struct gnn_step *o = n->p->step.items; o < s; o++) {
        if (o->out == value)
            from = o;
        for (int t = 0; t < o->n_in; t++)
            if (o->in[t] == value)
                return NULL;
    }
    return from;
}

static void backward_product(struct gnn_network *n, const struct gnn_step *s, int64_t rows,
                             int64_t width, const void *dout)
{
    struct gnn_term term[GNN_MAX_TERMS];
    product_terms(n, s, term);
    n->ops->product_grad_w(n->d, rows, width, term, s->n_in, dout);
    for (int t = 0; t < s->n_in; t++) {
        int in = s->in[t];
        if (!n->p->value.items[in].has_grad)
            continue;
        bool add = grad_add(n, in, rows);
        n->ops->product_grad_x(n->d, rows, width, term[t].k, dout, term[t].w, n->value[in].grad.p,
                               add);
    }
    if (s->bias != GNN_NO_BIAS)
        n->ops->column_sum(n->d, rows, width, dout, weight_at(n, GNN_GRADIENTS, s->bias));
}

static void backward_norm(struct gnn_network *n, const struct gnn_step *s, int64_t rows,
                          int64_t width, const void *dout)
{
    int in = s->in[0];
    bool add = grad_add(n, in, rows);
    n->ops->batch_norm_grad(n->d, rows, width, n->value[in].x,
                            weight_at(n, GNN_WEIGHTS, s->weight[0]),
                            n->step[s - n->p->step.items].aux[AUX_SAVED].p, dout,
                            weight_at(n, GNN_GRADIENTS, s->weight[0]), n->value[in].grad.p, add);
}

static void backward_attend(struct gnn_network *n, const struct gnn_step *s, const void *dout)
{
    const struct gnn_ops *o = n->ops;
    const struct gnn_attention *at = &s->attention;
    const struct gnn_hop *h = &n->hop[n->p->value.items[s->out].level];
    const struct buffer *aux = n->step[s - n->p->step.items].aux;
    int in = s->in[0];
    const void *z = n->value[in].x;
    void *dscore = aux_room(n, s, AUX_DSCORE, (h->n_edges + h->n_dst) * at->heads, o->real_bytes);
    void *dsrc = aux_room(n, s, AUX_DSRC, h->n_src * at->heads, o->real_bytes);
    void *ddst = aux_room(n, s, AUX_DDST, h->n_dst * at->heads, o->real_bytes);
    o->edge_softmax_grad(n->d, h, at, aux[AUX_SRC].p, aux[AUX_DST].p, aux[AUX_WEIGHT].p, z, dout,
                         dscore, dsrc, ddst);
    bool add = grad_add(n, in, h->n_src);
    o->attend_grad(n->d, h, at, aux[AUX_WEIGHT].p, dout, dsrc, ddst,
                   weight_at(n, GNN_WEIGHTS, s->weight[0]), weight_at(n, GNN_WEIGHTS, s->weight[1]),
                   n->value[in].grad.p, add);
    o->head_dot_grad(n->d, h->n_src, at, dsrc, z, weight_at(n, GNN_GRADIENTS, s->weight[0]));
    o->head_dot_grad(n->d, h->n_dst, at, ddst, z, weight_at(n, GNN_GRADIENTS, s->weight[1]));
}

static void backward_segment(struct gnn_network *n, const struct gnn_step *s, int64_t width,
                             const void *dout)
{
    const struct gnn_hop *h = &n->hop[n->p->value.items[s->out].level];
    struct value_buffers *vb = grad_of(n, s->in[0]);
    const struct gnn_step *from = step_before(n, s, s->in[0]);
    struct gnn_epilogue ep = {0};
    if (from)
        ep = step_epilogue(n, from);
    n->ops->segment_grad(n->d, s->segment, h, width, dout,
                         n->step[s - n->p->step.items].aux[AUX_ARG].p, vb->grad.p, vb->filled,
                         vb->x, from ? &ep : NULL);
    vb->filled = h->n_src;
    vb->applied = from != NULL;
}

/* Adds `factor` times the result's gradient to the input's gradient, which has the same shape. */
static void backward_copy(struct gnn_network *n, int in, int64_t rows, int64_t width, double factor,
                          const void *dout)
{
    if (!n->p->value.items[in].has_grad)
        return;
    bool add = grad_add(n, in, rows);
    n->ops->scale(n->d, rows * width, factor, dout, n->value[in].grad.p, add);
}

static void backward_step(struct gnn_network *n, const struct gnn_step *s)
{
    const struct gnn_value *v = &n->p->value.items[s->out];
    struct value_buffers *vb = &n->value[s->out];
    int64_t rows = n->rows[v->level];
    if (!v->has_grad)
        return;
    if (!vb->filled)
        BUG("nothing uses the result of step %d of the model", (int)(s - n->p->step.items));
    grad_fill(n, s->out, rows);
    void *dout = vb->grad.p;
    struct gnn_epilogue ep = step_epilogue(n, s);
    if (!vb->applied)
        n->ops->apply_grad(n->d, rows, v->width, vb->x, &ep, dout);
    switch (s->kind) {
    case GNN_STEP_PRODUCT:
        backward_product(n, s, rows, v->width, dout);
        break;
    case GNN_STEP_SEGMENT:
        backward_segment(n, s, v->width, dout);
        break;
    case GNN_STEP_APPLY:
        backward_copy(n, s->in[0], rows, v->width, 1, dout);
        break;
    case GNN_STEP_ADD:
        backward_copy(n, s->in[0], rows, v->width, s->scale, dout);
        backward_copy(n, s->in[1], rows, v->width, 1, dout);
        break;
    case GNN_STEP_NORM:
        backward_norm(n, s, rows, v->width, dout);
        break;
    case GNN_STEP_ATTEND:
        backward_attend(n, s, dout);
        break;
    case GNN_STEP_HEAD_MEAN: {
        bool add = grad_add(n, s->in[0], rows);
        n->ops->head_mean_grad(n->d, rows, s->attention.heads, s->attention.dim, dout,
                               n->value[s->in[0]].grad.p, add);
        break;
    }
    }
}

void network_loss(struct gnn_network *n, struct gnn_loss *loss)
{
    int out = n->p->output;
    void *grad = NULL;
    for (size_t i = 0; i < n->p->value.n; i++) {
        n->value[i].filled = 0;
        n->value[i].applied = false;
    }
    if (n->mode == GNN_TRAIN) {
        grad_add(n, out, n->rows[0]);
        grad = n->value[out].grad.p;
    }
    n->ops->loss(n->d, n->rows[0], n->p->classes, n->value[out].x, n->label, grad, loss);
}

void network_backward(struct gnn_network *n)
{
    for (size_t i = n->p->step.n; i-- > 0;)
        backward_step(n, &n->p->step.items[i]);
}
