/* collapse.c - replaces sums of linear maps by linear maps of sums (collapse.h). */
#include "graph/normal/collapse.h"

#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "graph/cost.h"

enum { MAX_WINDOW = 16 }; /* most elements along one side of a pooling's or convolution's window */

struct collapse {
    struct graph *g;
    const uint32_t *uses; /* how often each of the first n values is used */
    size_t n;             /* how many values the graph had at the start */
    struct err err;       /* why graph_add() refused a value; the sum then stays */
};

/* ---- shorthands ------------------------------------------------------------------------------ */

static const struct value *two(struct collapse *c, enum graph_op op, const struct value *a,
                               const struct value *b)
{
    return graph_add2(c->g, op, a, b, &c->err);
}

/* Sums v along the axes, and keeps these axes with size 1. */
static const struct value *sum(struct collapse *c, const struct value *v, struct attr axes)
{
    struct attr attrs[GRAPH_MAX_ATTRS] = {axes, attr_bool(true)};
    return v ? graph_add(c->g, OP_SUM, &v, attrs, &c->err) : NULL;
}

static const struct value *times(struct collapse *c, const struct value *v, const struct dim *n)
{
    return dim_is(n, 1) ? v : two(c, OP_MUL, v, graph_size(c->g, n));
}

/* Returns whether v has exactly one use. Returns false for values that are not float32, or that the
 * graph did not have at the start. */
static bool used_once(const struct collapse *c, const struct value *v)
{
    return v->id < c->n && c->uses[v->id] == 1 && v->dtype == DT_F32;
}

static bool known(const struct dim *d, int64_t *out)
{
    *out = d->fixed->value;
    return d->fixed->is_number;
}

/* Returns the axis of b that broadcasts to `axis` of v, or -1 if b is constant along
 * `axis`. */
static int64_t own_axis(const struct value *b, const struct value *v, int64_t axis)
{
    int64_t own = axis - (int64_t)v->rank + (int64_t)b->rank;
    return own < 0 || dim_is(b->shape[own], 1) ? -1 : own;
}

static bool is_uniform(const struct value *b, const struct value *v, const struct attr *axes)
{
    for (size_t i = 0; i < axes->n; i++)
        if (own_axis(b, v, axes->ints[i]) >= 0)
            return false;
    return true;
}

/* Sums b along `axes` of v, as if b were broadcast to the shape of v. */
static const struct value *plain_sum(struct collapse *c, const struct value *b,
                                     const struct value *v, const struct attr *axes)
{
    struct attr own = *axes;
    const struct dim *repeats = dim_number(&c->g->dims, 1);
    own.n = 0;
    for (size_t i = 0; i < axes->n; i++) {
        int64_t axis = own_axis(b, v, axes->ints[i]);
        if (axis >= 0)
            own.ints[own.n++] = axis;
        else
            repeats = dim_mul(&c->g->dims, repeats, v->shape[axes->ints[i]]);
    }
    return times(c, own.n ? sum(c, b, own) : b, repeats);
}

/* ---- products -------------------------------------------------------------------------------- */

/* Returns (x @ w).sum(-1) as x @ w.sum(-1), which adds up the columns of w first. Returns NULL
 * for a sum along other axes. */
static const struct value *sum_of_product(struct collapse *c, const struct value *v,
                                          const struct attr *axes)
{
    const struct value *x = v->args[0], *w = v->args[1], *s;
    if (axes->n != 1 || axes->ints[0] != (int64_t)v->rank - 1 || x->rank < 2 || w->rank < 2)
        return NULL;
    if (w->op == OP_PERMUTE) { /* sum before the permute, to read memory in order */
        const int64_t *dims = value_attr(w, "dims")->ints;
        s = sum(c, w->args[0], attr_axis(dims[w->rank - 1]));
        s = s ? graph_permute(c->g, s, dims, &c->err) : NULL;
    } else {
        s = sum(c, w, attr_axis((int64_t)w->rank - 1));
    }
    return two(c, OP_MATMUL, x, s);
}

/* ---- convolutions ---------------------------------------------------------------------------- */

/* s is a sum of `count` elements of the convolution `of`, but without its bias. Adds the bias
 * `count` times. */
static const struct value *with_bias(struct collapse *c, const struct value *s,
                                     const struct value *of, const struct dim *count)
{
    const struct dim *shape[GRAPH_MAX_RANK];
    if (!s || !of->args[2])
        return s;
    for (uint32_t i = 0; i + 1 < of->rank; i++)
        shape[i] = i ? dim_number(&c->g->dims, 1) : of->shape[1];
    const struct value *b = graph_reshape(c->g, of->args[2], of->rank - 1, shape, &c->err);
    return two(c, OP_ADD, s, times(c, b, count));
}

static int64_t ceil_div(int64_t a, int64_t b)
{
    return -int_floor_div(-a, b);
}

/* Side i is axis 2 + i of a convolution's tensors. Tap k is place k of the window along this side.
 * A sum of the result along the side multiplies tap k by the sum of the input without its first
 * *before and its last *after elements. Sets both numbers. Returns false if they are not known. */
static bool find_cuts(const struct value *v, size_t i, int64_t window, int64_t k, int64_t *before,
                      int64_t *after)
{
    int64_t stride = value_attr(v, "stride")->ints[i], gap = value_attr(v, "dilation")->ints[i];
    if (v->op == OP_CONV_TRANSPOSE) {
        int64_t pad = value_attr(v, "padding")->ints[i];
        int64_t more = value_attr(v, "output_padding")->ints[i];
        *before = MAX(0, ceil_div(pad - k * gap, stride));
        *after = MAX(0, -int_floor_div(gap * (window - 1 - k) + more - pad, stride));
        return true;
    }
    int64_t first, last;
    if (stride != 1 || !known(value_attr(v, "before")->dims[i], &first) ||
        !known(value_attr(v, "after")->dims[i], &last))
        return false;
    *before = MAX(0, k * gap - first);
    *after = MAX(0, gap * (window - 1 - k) - last);
    return true;
}

static const struct value *cut_sum(struct collapse *c, const struct value *x, int64_t axis,
                                   int64_t before, int64_t after)
{
    struct dim_pool *p = &c->g->dims;
    const struct dim *length = dim_sub(p, x->shape[axis], dim_number(p, before + after));
    struct attr attrs[GRAPH_MAX_ATTRS] = {attr_axis(axis), attr_dim(dim_number(p, before)),
                                          attr_dim(length), attr_int(1)};
    if (before || after)
        x = graph_add(c->g, OP_SLICE, &x, attrs, &c->err);
    return sum(c, x, attr_axis(axis));
}

/* Returns x with side i replaced by one sum for each tap, or NULL if find_cuts() or graph_add()
 * fails. */
static const struct value *sums_of_side(struct collapse *c, const struct value *v,
                                        const struct value *x, size_t i, int64_t window)
{
    const struct value *made[MAX_WINDOW] = {NULL}, *all = NULL;
    int64_t before[MAX_WINDOW], after[MAX_WINDOW], axis = 2 + (int64_t)i;
    for (int64_t k = 0; k < window; k++) {
        if (!find_cuts(v, i, window, k, &before[k], &after[k]))
            return NULL;
        for (int64_t j = 0; j < k && !made[k]; j++)
            if (before[j] == before[k] && after[j] == after[k])
                made[k] = made[j];
        if (!made[k] && !(made[k] = cut_sum(c, x, axis, before[k], after[k])))
            return NULL;
    }
    struct attr along = attr_axis(axis);
    for (int64_t j = 0; j < window; j++) {
        const struct value *both[GRAPH_MAX_ARGS] = {all, made[j]};
        all = all ? graph_add(c->g, OP_CAT, both, &along, &c->err) : made[j];
        if (!all)
            return NULL;
    }
    return all;
}

static void set_int(struct attr *attrs, const struct value *v, const char *name, size_t i,
                    int64_t n)
{
    attrs[op_attr_place(v->op, name)].ints[i] = n;
}

/* Writes a sum along all sides as a matrix product. The weights of a transposed convolution have
 * their first two axes swapped. */
static const struct value *product_of_sums(struct collapse *c, const struct value *v,
                                           const struct value *sums)
{
    struct dim_pool *p = &c->g->dims;
    bool transposed = v->op == OP_CONV_TRANSPOSE;
    const struct value *w = v->args[1];
    const struct dim *terms = dim_product(p, sums->shape + 1, sums->rank - 1);
    const struct dim *rows[] = {sums->shape[0], terms}, *weights[] = {v->shape[1], terms};
    const struct dim *result[GRAPH_MAX_RANK];
    int64_t order[GRAPH_MAX_RANK];
    for (uint32_t i = 0; i < v->rank; i++) {
        order[i] = transposed && i < 2 ? 1 - i : i;
        result[i] = i < 2 ? v->shape[i] : dim_number(p, 1);
    }
    if (transposed)
        w = graph_permute(c->g, w, order, &c->err);
    w = w ? graph_reshape(c->g, w, 2, weights, &c->err) : NULL;
    w = w ? graph_permute(c->g, w, (int64_t[]){1, 0}, &c->err) : NULL;
    const struct value *y = two(c, OP_MATMUL, graph_reshape(c->g, sums, 2, rows, &c->err), w);
    return y ? graph_reshape(c->g, y, v->rank, result, &c->err) : NULL;
}

struct sides {
    bool summed[GRAPH_MAX_RANK];
    int64_t order[GRAPH_MAX_RANK]; /* axes 0 and 1, then the summed sides, then the others */
    uint32_t rank, first_kept;     /* order[first_kept]: the first side that is not summed */
};

static void order_sides(struct sides *s)
{
    uint32_t n = 2;
    s->order[0] = 0;
    s->order[1] = 1;
    for (uint32_t axis = 2; axis < s->rank; axis++)
        if (s->summed[axis])
            s->order[n++] = axis;
    s->first_kept = n;
    for (uint32_t axis = 2; axis < s->rank; axis++)
        if (!s->summed[axis])
            s->order[n++] = axis;
}

/* Merges the summed sides of v into its axis `into`, which is 0 or 1. */
static const struct value *fold_sides(struct collapse *c, const struct value *v,
                                      const struct sides *s, uint32_t into)
{
    const struct dim *shape[GRAPH_MAX_RANK];
    int64_t order[GRAPH_MAX_RANK];
    bool moves = false;
    uint32_t n = 2;
    memcpy(order, s->order, sizeof order);
    if (into == 0) { /* the sides go before the second axis */
        for (uint32_t i = 1; i + 1 < s->first_kept; i++)
            order[i] = s->order[i + 1];
        order[s->first_kept - 1] = 1;
    }
    for (uint32_t i = 0; i < s->rank; i++)
        moves |= order[i] != (int64_t)i;
    shape[0] = v->shape[0];
    shape[1] = v->shape[1];
    for (uint32_t i = 2; i < s->first_kept; i++)
        shape[into] = dim_mul(&c->g->dims, shape[into], v->shape[s->order[i]]);
    for (uint32_t i = s->first_kept; i < s->rank; i++)
        shape[n++] = v->shape[s->order[i]];
    if (moves)
        v = graph_permute(c->g, v, order, &c->err);
    return v ? graph_reshape(c->g, v, n, shape, &c->err) : NULL;
}

/* Writes a sum along some sides as a convolution along the other sides. The taps of the summed
 * sides become input channels. */
static const struct value *conv_of_sums(struct collapse *c, const struct value *v,
                                        const struct value *sums, const struct sides *s)
{
    struct attr attrs[GRAPH_MAX_ATTRS];
    const struct value *in[GRAPH_MAX_ARGS] = {
        fold_sides(c, sums, s, 1),
        fold_sides(c, v->args[1], s, v->op == OP_CONV_TRANSPOSE ? 0 : 1)};
    const struct dim *shape[GRAPH_MAX_RANK];
    for (uint32_t k = 0; k < v->nattrs; k++) {
        attrs[k] = v->attrs[k];
        attrs[k].n = attrs[k].kind == ATTR_DIM ? v->attrs[k].n : s->rank - s->first_kept;
        for (uint32_t i = s->first_kept; i < s->rank && attrs[k].kind != ATTR_DIM; i++) {
            attrs[k].ints[i - s->first_kept] = v->attrs[k].ints[s->order[i] - 2];
            attrs[k].dims[i - s->first_kept] = v->attrs[k].dims[s->order[i] - 2];
        }
    }
    const struct value *y = in[0] && in[1] ? graph_add(c->g, v->op, in, attrs, &c->err) : NULL;
    for (uint32_t i = 0; i < v->rank; i++)
        shape[i] = s->summed[i] ? dim_number(&c->g->dims, 1) : v->shape[i];
    return y ? graph_reshape(c->g, y, v->rank, shape, &c->err) : NULL;
}

static const struct value *sum_of_conv(struct collapse *c, const struct value *v,
                                       const struct attr *axes)
{
    const struct value *sums = v->args[0];
    const struct dim *count = dim_number(&c->g->dims, 1);
    struct sides s = {.rank = v->rank};
    for (size_t n = axes->n; n-- > 0;) {
        int64_t axis = axes->ints[n], window;
        if (axis < 2 || !known(v->args[1]->shape[axis], &window) || window > MAX_WINDOW)
            return NULL;
        sums = sums_of_side(c, v, sums, (size_t)(axis - 2), window);
        if (!sums)
            return NULL;
        count = dim_mul(&c->g->dims, count, v->shape[axis]);
        s.summed[axis] = true;
    }
    order_sides(&s);
    bool all = s.first_kept == s.rank;
    if (all && !dim_is(value_attr(v, "groups")->dims[0], 1))
        return NULL;
    return with_bias(c, all ? product_of_sums(c, v, sums) : conv_of_sums(c, v, sums, &s), v, count);
}

/* ---- linear maps ----------------------------------------------------------------------------- */

static const struct value *linear_sum(struct collapse *c, const struct value *v,
                                      const struct attr *axes);

static const struct value *operand_sum(struct collapse *c, const struct value *v, uint32_t k,
                                       const struct attr *axes)
{
    return value_same_shape(v->args[k], v) ? linear_sum(c, v->args[k], axes) : NULL;
}

static const struct value *sum_of_scaled(struct collapse *c, const struct value *v,
                                         const struct attr *axes)
{
    for (uint32_t k = 0; k < (v->op == OP_MUL ? 2u : 1u); k++) {
        const struct value *by = v->args[1 - k];
        const struct value *s = is_uniform(by, v, axes) ? operand_sum(c, v, k, axes) : NULL;
        if (s)
            return two(c, v->op, s, by);
    }
    return NULL;
}

static const struct value *sum_of_terms(struct collapse *c, const struct value *v,
                                        const struct attr *axes)
{
    const struct value *a = operand_sum(c, v, 0, axes), *b = operand_sum(c, v, 1, axes);
    if (!a && !b)
        return NULL;
    a = a ? a : plain_sum(c, v->args[0], v, axes);
    b = b ? b : plain_sum(c, v->args[1], v, axes);
    return two(c, v->op, a, b);
}

/* Returns the sum of v along `axes`, as a linear map of sums. Returns NULL if no such form is
 * known, or if another value needs v anyway. */
static const struct value *linear_sum(struct collapse *c, const struct value *v,
                                      const struct attr *axes)
{
    if (!used_once(c, v))
        return NULL;
    switch (v->op) {
    case OP_MUL:
    case OP_DIV:
        return sum_of_scaled(c, v, axes);
    case OP_ADD:
    case OP_SUB:
        return sum_of_terms(c, v, axes);
    case OP_MATMUL:
        return sum_of_product(c, v, axes);
    case OP_CONV:
    case OP_CONV_TRANSPOSE:
        return sum_of_conv(c, v, axes);
    default:
        return NULL;
    }
}

/* ---- pooling --------------------------------------------------------------------------------- */

enum { MAX_SCALES = 4 };

struct pooling {
    const struct value *conv;
    /* Multiplications and divisions by a single number, between the convolution and the pooling. */
    const struct value *scale[MAX_SCALES];
    /* Size and step of the windows, per axis of `conv`; 0 for an axis without windows. */
    int64_t size[GRAPH_MAX_RANK], step[GRAPH_MAX_RANK];
    uint32_t n, scales; /* how many axes have windows; how many entries `scale` has */
};

static bool is_scale(const struct value *v)
{
    return (v->op == OP_MUL || v->op == OP_DIV) && value_same_shape(v, v->args[0]) &&
           v->args[1]->rank == 0;
}

/* If v adds up windows of a convolution, scaled or not, fills *p and returns true. */
static bool read_pooling(const struct collapse *c, const struct value *v, struct pooling *p)
{
    const struct value *w = v->args[0];
    const struct attr *axes = value_attr(v, "dim");
    *p = (struct pooling){0};
    for (; w->op == OP_WINDOWS; w = w->args[0], p->n++) {
        int64_t axis = value_attr(w, "dim")->ints[0];
        if (!used_once(c, w) || value_attr(w, "dilation")->i != 1 || axis < 2 || p->size[axis] ||
            !known(value_attr(w, "size")->dims[0], &p->size[axis]))
            return false;
        p->step[axis] = value_attr(w, "step")->i;
    }
    for (; is_scale(w) && used_once(c, w) && p->scales < MAX_SCALES; w = w->args[0])
        p->scale[p->scales++] = w;
    p->conv = w;
    bool ok = p->n && axes->n == p->n && (w->op == OP_CONV || w->op == OP_CONV_TRANSPOSE) &&
              used_once(c, w);
    for (uint32_t i = 0; ok && i < p->n; i++)
        ok = axes->ints[i] == (int64_t)w->rank + i;
    return ok;
}

/* How to make the weights of the new convolution along one side: put `before` zeros before the old
 * weights and `after` zeros after them. Then slide the pooling's window over this row in steps of
 * `step`: each sum is a new weight. `pad` is the padding of a new transposed convolution. */
struct side {
    int64_t before, after, step, pad;
};

/* Fills *s for an axis with `window` old weights. Returns false if `before` would be negative.
 *
 * After a transposed convolution, element i of the pooling multiplies x[j] by the sum of all w[k]
 * with k = step*i - stride*j + t + padding, for 0 <= t < size. If stride == step, this sum depends
 * only on i - j, as in a convolution with stride 1. */
static bool find_side(const struct pooling *p, uint32_t axis, int64_t window, struct side *s)
{
    int64_t size = p->size[axis], step = p->step[axis];
    *s = (struct side){.before = size - 1, .after = size - 1, .step = 1};
    if (p->conv->op == OP_CONV)
        return true;
    int64_t pad = value_attr(p->conv, "padding")->ints[axis - 2];
    s->step = step;
    s->pad = int_floor_div(size - 1 + pad, step);
    s->before = step * s->pad - pad;
    int64_t last = int_floor_div(window - 1 + s->before, step); /* the last window with a weight */
    s->after = MAX(0, step * last + size - window - s->before);
    return s->before >= 0;
}

/* Fills `sides`, and returns whether the new convolution needs fewer multiplications. Returns false
 * for a transposed convolution whose stride is not the pooling's step. */
static bool pooling_saves(const struct pooling *p, struct side *sides)
{
    int64_t before = 1, after = 1, window;
    bool transposed = p->conv->op == OP_CONV_TRANSPOSE;
    for (uint32_t axis = 2; axis < p->conv->rank; axis++) {
        int64_t size = p->size[axis], stride = value_attr(p->conv, "stride")->ints[axis - 2];
        struct side *s = &sides[axis];
        if (!size)
            continue;
        if (!known(p->conv->args[1]->shape[axis], &window) || window > MAX_WINDOW ||
            size > MAX_WINDOW || stride != (transposed ? p->step[axis] : 1) ||
            value_attr(p->conv, "dilation")->ints[axis - 2] != 1 || !find_side(p, axis, window, s))
            return false;
        before *= window * (transposed ? 1 : p->step[axis]);
        after *= (window + s->before + s->after - size) / s->step + 1;
    }
    return after < before;
}

static const struct value *pooled_weights(struct collapse *c, const struct pooling *p,
                                          const struct side *sides)
{
    const struct value *w = p->conv->args[1];
    int64_t before[GRAPH_MAX_RANK] = {0}, after[GRAPH_MAX_RANK] = {0};
    uint32_t rank = w->rank;
    for (uint32_t axis = 2; axis < rank; axis++) {
        before[axis] = sides[axis].before;
        after[axis] = sides[axis].after;
    }
    struct attr pads[GRAPH_MAX_ATTRS] = {attr_ints(before, rank), attr_ints(after, rank)};
    const struct value *in[GRAPH_MAX_ARGS] = {w, graph_number(c->g, 0)};
    w = graph_add(c->g, OP_PAD, in, pads, &c->err);
    for (uint32_t axis = 2; w && axis < rank; axis++) {
        struct attr attrs[GRAPH_MAX_ATTRS] = {attr_axis(axis),
                                              attr_dim(dim_number(&c->g->dims, p->size[axis])),
                                              attr_int(sides[axis].step), attr_int(1)};
        if (p->size[axis])
            w = graph_add(c->g, OP_WINDOWS, &w, attrs, &c->err);
    }
    struct attr attrs[GRAPH_MAX_ATTRS] = {w ? attr_last_axes(w, p->n) : attr_none(),
                                          attr_bool(false)};
    return w ? graph_add(c->g, OP_SUM, &w, attrs, &c->err) : NULL;
}

static const struct value *pooled_conv(struct collapse *c, const struct value *v)
{
    struct pooling p;
    struct side sides[GRAPH_MAX_RANK] = {0};
    struct attr attrs[GRAPH_MAX_ATTRS];
    int64_t elements = 1;
    if (!read_pooling(c, v, &p) || !pooling_saves(&p, sides))
        return NULL;
    memcpy(attrs, p.conv->attrs, sizeof attrs);
    for (uint32_t axis = 2; axis < p.conv->rank; axis++) {
        bool transposed = p.conv->op == OP_CONV_TRANSPOSE;
        if (!p.size[axis])
            continue;
        elements *= p.size[axis];
        set_int(attrs, p.conv, "stride", axis - 2, transposed ? 1 : p.step[axis]);
        if (transposed) {
            set_int(attrs, p.conv, "padding", axis - 2, sides[axis].pad);
            set_int(attrs, p.conv, "output_padding", axis - 2, 0);
        }
    }
    const struct value *in[GRAPH_MAX_ARGS] = {p.conv->args[0], pooled_weights(c, &p, sides)};
    const struct value *y = in[1] ? graph_add(c->g, p.conv->op, in, attrs, &c->err) : NULL;
    y = with_bias(c, y, p.conv, dim_number(&c->g->dims, elements));
    while (p.scales-- > 0)
        y = two(c, p.scale[p.scales]->op, y, p.scale[p.scales]->args[1]);
    return y;
}

/* ---- the whole ------------------------------------------------------------------------------- */

static const struct dim *combined(struct collapse *c, const struct value *v)
{
    const struct attr *axes = value_attr(v, "dim");
    const struct dim *n = dim_number(&c->g->dims, 1);
    for (size_t i = 0; i < axes->n; i++)
        n = dim_mul(&c->g->dims, n, v->args[0]->shape[axes->ints[i]]);
    return n;
}

static const struct value *single_element(struct collapse *c, const struct value *v)
{
    bool combines = v->op == OP_SUM || v->op == OP_MEAN || v->op == OP_AMAX || v->op == OP_AMIN;
    if (!combines || !v->args[0] || v->dtype != v->args[0]->dtype || !dim_is(combined(c, v), 1))
        return NULL;
    return graph_reshape(c->g, v->args[0], v->rank, v->shape, &c->err);
}

static const struct value *simpler(struct collapse *c, const struct value *v)
{
    if (v->id >= c->n || (v->op != OP_SUM && v->op != OP_MEAN) || v->dtype != DT_F32)
        return NULL;
    const struct value *s = pooled_conv(c, v);
    if (!s)
        s = linear_sum(c, v->args[0], value_attr(v, "dim"));
    if (s && v->op == OP_MEAN)
        s = two(c, OP_DIV, s, graph_size(c->g, combined(c, v)));
    s = s ? graph_reshape(c->g, s, v->rank, v->shape, &c->err) : NULL;
    return s && s->dtype == v->dtype && value_same_shape(s, v) ? s : NULL;
}

void graph_collapse(struct graph *g)
{
    struct arena mem = ARENA_INIT;
    struct collapse c = {.g = g, .n = g->values.n, .uses = graph_uses(g, &mem), .err = ERR_INIT};
    const struct value **made = arena_alloc(&mem, (c.n + 1) * sizeof *made);
    bool any = false;
    for (size_t i = 0; i < c.n; i++) {
        const struct value *v = g->values.items[i], *args[GRAPH_MAX_ARGS] = {NULL}, *s = NULL;
        bool changed = false;
        for (uint32_t k = 0; k < v->nargs; k++) {
            args[k] = v->args[k] ? made[v->args[k]->id] : NULL;
            changed |= args[k] != v->args[k];
        }
        made[i] = changed ? graph_rebuild(g, v, args, &c.err) : v;
        if (made[i] && c.uses[i] &&
            ((s = single_element(&c, made[i])) || (s = simpler(&c, made[i]))))
            made[i] = s;
        any |= s != NULL;
        if (!made[i]) { /* graph_rebuild() failed: keep the outputs as they are */
            arena_release(&mem);
            return;
        }
    }
    vec_each (struct graph_output, o, &g->outputs)
        o->value = any ? made[o->value->id] : o->value;
    arena_release(&mem);
}

const struct dim *graph_least_flops(struct graph *g)
{
    const struct value **before = xcalloc(g->outputs.n + 1, sizeof *before);
    for (size_t i = 0; i < g->outputs.n; i++)
        before[i] = g->outputs.items[i].value;
    graph_collapse(g);
    const struct dim *flops = graph_flops(g);
    for (size_t i = 0; i < g->outputs.n; i++)
        g->outputs.items[i].value = before[i];
    free((void *)before);
    return flops;
}
