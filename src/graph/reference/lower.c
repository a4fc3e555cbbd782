#include "graph/reference/lower.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"

struct lower {
    const struct graph *from;
    struct graph *g;
    const struct value **made;              /* the lowered value for each value of `from` */
    const struct value *v;                  /* the value of `from` that is being lowered */
    const struct value *in[GRAPH_MAX_ARGS]; /* the lowered operands of v */
    struct attr attrs[GRAPH_MAX_ATTRS];
    VEC(const struct value *) shifts, shares; /* for LOWERED_SHIFT and LOWERED_SHARE */
    bool for_kernel;
    unsigned keep; /* only for a kernel: a set of enum lower_keep */
    struct err *err;
};

typedef const struct value *(*lower_fn)(struct lower *l);

/* ---- shorthands ------------------------------------------------------------------------------ */

static const struct value *one(struct lower *l, enum graph_op op, const struct value *a)
{
    return graph_add1(l->g, op, a, l->err);
}

static const struct value *two(struct lower *l, enum graph_op op, const struct value *a,
                               const struct value *b)
{
    return graph_add2(l->g, op, a, b, l->err);
}

static const struct value *number(struct lower *l, double v)
{
    return graph_number(l->g, v);
}

static const struct attr *attr_of(const struct lower *l, const char *name)
{
    return &l->attrs[op_attr_place(l->v->op, name)];
}

static const struct value *reduce(struct lower *l, enum graph_op op, const struct value *a,
                                  struct attr axes, bool keep)
{
    struct attr attrs[GRAPH_MAX_ATTRS] = {axes, attr_bool(keep)};
    return a ? graph_add(l->g, op, &a, attrs, l->err) : NULL;
}

static const struct dim *count(struct lower *l, const struct value *a, struct attr axes)
{
    const struct dim *n = dim_number(&l->g->dims, 1);
    for (size_t i = 0; i < axes.n; i++)
        n = dim_mul(&l->g->dims, n, a->shape[axes.ints[i]]);
    return n;
}

static const struct value *mean_of(struct lower *l, const struct value *a, struct attr axes,
                                   bool keep)
{
    if (!a)
        return NULL;
    return two(l, OP_DIV, reduce(l, OP_SUM, a, axes, keep), graph_size(l->g, count(l, a, axes)));
}

/* Returns the largest element along the axes, or 0 if it is not finite, because inf - inf would be
 * NaN. */
static const struct value *finite_peak(struct lower *l, const struct value *a, struct attr axes)
{
    const struct value *m = reduce(l, OP_AMAX, a, axes, true);
    return m ? graph_add3(l->g, OP_WHERE, one(l, OP_ISFINITE, m), m, number(l, 0), l->err) : NULL;
}

/* Returns a - b. The final result does not depend on b, which only prevents overflow. */
static const struct value *shifted(struct lower *l, const struct value *a, const struct value *b)
{
    const struct value *d = two(l, OP_SUB, a, b);
    if (d)
        *vec_push(&l->shifts) = d;
    return d;
}

/* Returns e / sum, where e is a term of `sum`. */
static const struct value *share(struct lower *l, const struct value *e, const struct value *sum)
{
    const struct value *y = two(l, OP_DIV, e, sum);
    if (y)
        *vec_push(&l->shares) = y;
    return y;
}

/* ---- reductions ------------------------------------------------------------------------------ */

static const struct value *lower_mean(struct lower *l)
{
    return mean_of(l, l->in[0], *attr_of(l, "dim"), attr_of(l, "keepdim")->i);
}

static const struct value *lower_any(struct lower *l)
{
    const struct value *set = two(l, OP_NE, l->in[0], graph_integer(l->g, 0));
    return reduce(l, l->v->op == OP_ANY ? OP_AMAX : OP_AMIN, set, *attr_of(l, "dim"),
                  attr_of(l, "keepdim")->i);
}

static const struct value *variance(struct lower *l, bool keep)
{
    struct attr axes = *attr_of(l, "dim");
    const struct value *d = two(l, OP_SUB, l->in[0], mean_of(l, l->in[0], axes, true));
    const struct dim *n = dim_sub(&l->g->dims, count(l, l->in[0], axes),
                                  dim_number(&l->g->dims, attr_of(l, "correction")->i));
    if (!d)
        return NULL;
    return two(l, OP_DIV, reduce(l, OP_SUM, one(l, OP_SQUARE, d), axes, keep), graph_size(l->g, n));
}

static const struct value *lower_var(struct lower *l)
{
    return variance(l, attr_of(l, "keepdim")->i);
}

static const struct value *lower_std(struct lower *l)
{
    return one(l, OP_SQRT, variance(l, attr_of(l, "keepdim")->i));
}

static const struct value *norm_of(struct lower *l, const struct value *a, double p,
                                   struct attr axes, bool keep)
{
    if (p == 2)
        return one(l, OP_SQRT, reduce(l, OP_SUM, one(l, OP_SQUARE, a), axes, keep));
    const struct value *size = one(l, OP_ABS, a);
    if (isinf(p))
        return reduce(l, p > 0 ? OP_AMAX : OP_AMIN, size, axes, keep);
    if (p == 1)
        return reduce(l, OP_SUM, size, axes, keep);
    if (p == 0)
        return reduce(l, OP_SUM, graph_cast(l->g, two(l, OP_NE, a, number(l, 0)), a->dtype, l->err),
                      axes, keep);
    const struct value *sum = reduce(l, OP_SUM, two(l, OP_POW, size, number(l, p)), axes, keep);
    return two(l, OP_POW, sum, number(l, 1 / p));
}

static const struct value *lower_norm(struct lower *l)
{
    return norm_of(l, l->in[0], attr_of(l, "p")->real, *attr_of(l, "dim"),
                   attr_of(l, "keepdim")->i);
}

static const struct value *lower_logsumexp(struct lower *l)
{
    struct attr axes = *attr_of(l, "dim");
    const struct value *m = finite_peak(l, l->in[0], axes), *e, *s;
    e = one(l, OP_EXP, shifted(l, l->in[0], m));
    s = two(l, OP_ADD, m, one(l, OP_LOG, reduce(l, OP_SUM, e, axes, true)));
    if (!s || attr_of(l, "keepdim")->i)
        return s;
    const struct dim *shape[GRAPH_MAX_RANK];
    uint32_t rank = 0;
    for (uint32_t i = 0, k = 0; i < s->rank; i++)
        if (k < axes.n && axes.ints[k] == (int64_t)i)
            k++;
        else
            shape[rank++] = s->shape[i];
    return graph_reshape(l->g, s, rank, shape, l->err);
}

/* ---- along axes ------------------------------------------------------------------------------ */

static const struct value *lower_softmax(struct lower *l)
{
    struct attr axes = *attr_of(l, "dim");
    const struct value *a = l->v->op == OP_SOFTMIN ? one(l, OP_NEG, l->in[0]) : l->in[0];
    if (!a)
        return NULL;
    const struct value *d = shifted(l, a, reduce(l, OP_AMAX, a, axes, true));
    const struct value *e = one(l, OP_EXP, d), *sum = reduce(l, OP_SUM, e, axes, true);
    return l->v->op == OP_LOG_SOFTMAX ? two(l, OP_SUB, d, one(l, OP_LOG, sum)) : share(l, e, sum);
}

/* A gather from log_softmax(x) becomes a gather from x, so the log_softmax need not be stored. */
static const struct value *lower_gather(struct lower *l)
{
    const struct value *from = l->v->args[0];
    const struct attr *axis = attr_of(l, "dim");
    if (from->op != OP_LOG_SOFTMAX || !attr_same(value_attr(from, "dim"), axis))
        return graph_add(l->g, OP_GATHER, l->in, l->attrs, l->err);
    const struct value *x = l->made[from->args[0]->id], *most = reduce(l, OP_AMAX, x, *axis, true);
    const struct value *sum = reduce(l, OP_SUM, one(l, OP_EXP, shifted(l, x, most)), *axis, true);
    l->in[0] = x;
    const struct value *picked = graph_add(l->g, OP_GATHER, l->in, l->attrs, l->err);
    return two(l, OP_SUB, picked ? two(l, OP_SUB, picked, most) : NULL, one(l, OP_LOG, sum));
}

static const struct value *lower_layer_norm(struct lower *l)
{
    struct attr axes = attr_last_axes(l->in[0], attr_of(l, "axes")->i);
    const struct value *d = two(l, OP_SUB, l->in[0], mean_of(l, l->in[0], axes, true));
    const struct value *var = mean_of(l, one(l, OP_SQUARE, d), axes, true);
    const struct value *y = two(l, OP_MUL, d, one(l, OP_RSQRT, two(l, OP_ADD, var, l->in[3])));
    if (l->in[1])
        y = two(l, OP_MUL, y, l->in[1]);
    return l->in[2] ? two(l, OP_ADD, y, l->in[2]) : y;
}

static const struct value *lower_rms_norm(struct lower *l)
{
    struct attr axes = attr_last_axes(l->in[0], attr_of(l, "axes")->i);
    const struct value *mean = mean_of(l, one(l, OP_SQUARE, l->in[0]), axes, true);
    const struct value *y =
        two(l, OP_MUL, l->in[0], one(l, OP_RSQRT, two(l, OP_ADD, mean, l->in[2])));
    return l->in[1] ? two(l, OP_MUL, y, l->in[1]) : y;
}

static const struct value *lower_normalize(struct lower *l)
{
    const struct value *n = norm_of(l, l->in[0], attr_of(l, "p")->real, *attr_of(l, "dim"), true);
    return two(l, OP_DIV, l->in[0], two(l, OP_CLAMP_MIN, n, l->in[1]));
}

/* ---- losses ---------------------------------------------------------------------------------- */

static struct attr all_axes(const struct value *a)
{
    return attr_last_axes(a, a->rank);
}

/* Returns log(sum(exp(x))) - x[target] for each row, and 0 where the target is PyTorch's
 * ignore_index, -100. */
static const struct value *cross_entropy_rows(struct lower *l, const struct value *x,
                                              const struct value *target)
{
    struct attr classes = attr_axes((int64_t[]){1}, 1);
    const struct dim *column[] = {target->shape[0], dim_number(&l->g->dims, 1)};
    const struct value *most = reduce(l, OP_AMAX, x, classes, true);
    const struct value *e = one(l, OP_EXP, shifted(l, x, most));
    const struct value *all =
        two(l, OP_ADD, most, one(l, OP_LOG, reduce(l, OP_SUM, e, classes, true)));
    const struct value *at[GRAPH_MAX_ARGS] = {x, graph_reshape(l->g, target, 2, column, l->err)};
    const struct value *right = at[1] ? graph_add(l->g, OP_GATHER, at, &classes, l->err) : NULL;
    const struct value *d = two(l, OP_SUB, all, right);
    const struct value *rows = d ? graph_reshape(l->g, d, 1, target->shape, l->err) : NULL;
    const struct value *counted = two(l, OP_NE, target, graph_integer(l->g, -100));
    return rows ? graph_add3(l->g, OP_WHERE, counted, rows, number(l, 0), l->err) : NULL;
}

/* PyTorch leaves out rows with the target -100, also in the count. */
static const struct value *lower_cross_entropy(struct lower *l)
{
    const char *how = attr_of(l, "reduction")->text;
    const struct value *row = cross_entropy_rows(l, l->in[0], l->in[1]);
    if (!row || str_eq(how, "none"))
        return row;
    const struct value *sum = reduce(l, OP_SUM, row, all_axes(row), false);
    if (str_eq(how, "sum"))
        return sum;
    const struct value *counted = two(l, OP_NE, l->in[1], graph_integer(l->g, -100));
    return two(l, OP_DIV, sum, reduce(l, OP_SUM, counted, all_axes(row), false));
}

static const struct value *distance(struct lower *l, const struct value *a, const struct value *b)
{
    const struct value *d = two(l, OP_ADD, two(l, OP_SUB, a, b), l->in[4]);
    return d ? norm_of(l, d, 2, attr_last_axes(d, 1), false) : NULL;
}

static const struct value *lower_triplet(struct lower *l)
{
    const char *how = attr_of(l, "reduction")->text;
    const struct value *near = distance(l, l->in[0], l->in[1]),
                       *far = distance(l, l->in[0], l->in[2]), *row;
    row = one(l, OP_RELU, two(l, OP_SUB, two(l, OP_ADD, near, l->in[3]), far));
    if (!row || !row->rank || str_eq(how, "none"))
        return row;
    return str_eq(how, "sum") ? reduce(l, OP_SUM, row, all_axes(row), false)
                              : mean_of(l, row, all_axes(row), false);
}

/* ---- products of 16-bit floats --------------------------------------------------------------- */

static bool is_narrow(enum dtype t)
{
    return t == DT_F16 || t == DT_BF16;
}

/* Returns v, cast to float32 if it is a 16-bit float. Casts before a permute, because the kernel
 * template for products can read a stored value transposed. */
static const struct value *widened(struct lower *l, const struct value *v)
{
    if (!v || !is_narrow(v->dtype))
        return v;
    if (v->op != OP_PERMUTE)
        return graph_cast(l->g, v, DT_F32, l->err);
    const struct value *w = widened(l, v->args[0]);
    return w ? graph_permute(l->g, w, value_attr(v, "dims")->ints, l->err) : NULL;
}

bool value_is_sum(const struct value *v)
{
    while (v->nargs && v->args[0] && (v->op == OP_CAST || op_row(v->op)->kind == OPK_VIEW))
        v = v->args[0];
    return v->op == OP_SUM;
}

/* Computes a product of 16-bit matrices in float32 if there is no template for it in 16 bits. A sum
 * must not be rounded to 16 bits before it is multiplied: graph_collapse() moves sums into products
 * whose terms PyTorch rounds one by one. */
static const struct value *lower_product(struct lower *l)
{
    const struct value *a = l->in[0], *b = l->in[1];
    bool matrices = a->rank > 1 && b->rank > 1 && !dim_is(a->shape[a->rank - 2], 1) &&
                    !dim_is(b->shape[b->rank - 1], 1);
    bool kept =
        (l->keep & KEEP_HALVES) && a->dtype == b->dtype && !value_is_sum(a) && !value_is_sum(b);
    if (!matrices || kept || !is_narrow(a->dtype) || !is_narrow(b->dtype))
        return graph_add(l->g, l->v->op, l->in, l->attrs, l->err);
    a = widened(l, a);
    b = widened(l, b);
    const struct value *y = a && b ? two(l, OP_MATMUL, a, b) : NULL;
    return y ? graph_cast(l->g, y, l->v->dtype, l->err) : NULL;
}

/* ---- attention ------------------------------------------------------------------------------- */

/* Returns a mask that is true where key j is at or before query i. */
static const struct value *causal_mask(struct lower *l, const struct value *scores)
{
    const struct value *at[2] = {NULL, NULL};
    for (uint32_t k = 0; k < 2; k++) {
        const struct dim *n = scores->shape[scores->rank - 2 + k];
        const struct dim *shape[] = {k ? dim_number(&l->g->dims, 1) : n,
                                     k ? n : dim_number(&l->g->dims, 1)};
        struct attr attrs[GRAPH_MAX_ATTRS] = {attr_dims(&n, 1)};
        const struct value *none[GRAPH_MAX_ARGS] = {NULL};
        const struct value *i = graph_add(l->g, OP_IOTA, none, attrs, l->err);
        at[k] = i ? graph_reshape(l->g, i, 2, shape, l->err) : NULL;
    }
    return at[0] && at[1] ? two(l, OP_GE, at[0], at[1]) : NULL;
}

/* Returns q . k * scale with the mask applied, as [..., queries, keys]. */
static const struct value *scores_of(struct lower *l)
{
    const struct value *q = widened(l, l->in[0]), *k = widened(l, l->in[1]);
    const struct value *mask = widened(l, l->in[3]), *scale = l->in[4];
    if (!q || !k || (l->in[3] && !mask))
        return NULL;
    int64_t axes[GRAPH_MAX_RANK];
    for (uint32_t i = 0; i < k->rank; i++)
        axes[i] = i + 2 < k->rank ? i : i + 2 == k->rank ? i + 1 : i - 1;
    const struct value *turned = graph_permute(l->g, k, axes, l->err);
    const struct value *s = turned ? two(l, OP_MATMUL, q, turned) : NULL;
    if (!scale)
        scale = one(l, OP_RSQRT, graph_size(l->g, q->shape[q->rank - 1]));
    s = s && scale ? two(l, OP_MUL, s, scale) : NULL;
    if (s && mask && mask->dtype == DT_BOOL)
        s = graph_add3(l->g, OP_WHERE, mask, s, number(l, -INFINITY), l->err);
    else if (s && mask)
        s = two(l, OP_ADD, s, mask);
    const struct value *before = s && attr_of(l, "causal")->i ? causal_mask(l, s) : NULL;
    if (s && attr_of(l, "causal")->i)
        s = before ? graph_add3(l->g, OP_WHERE, before, s, number(l, -INFINITY), l->err) : NULL;
    return s;
}

/* If the mask hides all keys from a query, its row of the result is 0, as in PyTorch. */
static const struct value *lower_attention(struct lower *l)
{
    if ((l->keep & KEEP_ATTENTION) && is_narrow(l->v->dtype))
        return graph_add(l->g, l->v->op, l->in, l->attrs, l->err);
    const struct value *s = scores_of(l);
    if (!s)
        return NULL;
    struct attr keys = attr_axis(s->rank - 1);
    const struct value *e = one(l, OP_EXP, shifted(l, s, finite_peak(l, s, keys)));
    const struct value *sum = e ? reduce(l, OP_SUM, e, keys, true) : NULL;
    const struct value *any = sum ? two(l, OP_NE, sum, number(l, 0)) : NULL;
    if (!any)
        return NULL;
    const struct value *safe = graph_add3(l->g, OP_WHERE, any, sum, number(l, 1), l->err);
    const struct value *weights = safe ? two(l, OP_DIV, e, safe) : NULL;
    const struct value *values = widened(l, l->in[2]);
    const struct value *y = weights && values ? two(l, OP_MATMUL, weights, values) : NULL;
    return y ? graph_cast(l->g, y, l->v->dtype, l->err) : NULL;
}

/* ---- the whole ------------------------------------------------------------------------------- */

static lower_fn way_of(enum graph_op op, bool for_kernel)
{
    switch (op) {
    case OP_ATTENTION:
        return for_kernel ? lower_attention : NULL;
    case OP_MATMUL:
        return for_kernel ? lower_product : NULL;
    case OP_MEAN:
        return lower_mean;
    case OP_ANY:
    case OP_ALL:
        return lower_any;
    case OP_VAR:
        return lower_var;
    case OP_STD:
        return lower_std;
    case OP_NORM:
        return lower_norm;
    case OP_LOGSUMEXP:
        return lower_logsumexp;
    case OP_SOFTMAX:
    case OP_LOG_SOFTMAX:
    case OP_SOFTMIN:
        return lower_softmax;
    case OP_GATHER:
        return for_kernel ? lower_gather : NULL;
    case OP_LAYER_NORM:
        return lower_layer_norm;
    case OP_RMS_NORM:
        return lower_rms_norm;
    case OP_NORMALIZE:
        return lower_normalize;
    case OP_CROSS_ENTROPY:
        return lower_cross_entropy;
    case OP_TRIPLET_MARGIN_LOSS:
        return lower_triplet;
    default:
        return NULL;
    }
}

static const struct dim *size_of(struct lower *l, const struct dim *d)
{
    return d ? dim_parse(&l->g->dims, d->key, l->err) : NULL;
}

static int sizes_of(struct lower *l, const struct dim *const *from, size_t n, const struct dim **to)
{
    for (size_t i = 0; i < n; i++)
        if (!(to[i] = size_of(l, from[i])))
            return -1;
    return 0;
}

static const struct value *lower_leaf(struct lower *l, const struct value *v)
{
    const struct dim *shape[GRAPH_MAX_RANK];
    switch (v->op) {
    case OP_INPUT:
        return sizes_of(l, v->shape, v->rank, shape) < 0
                   ? NULL
                   : graph_input(l->g, v->name, v->dtype, v->rank, shape);
    case OP_SCALAR:
        return graph_scalar(l->g, v->name, v->dtype);
    case OP_SIZE:
        return size_of(l, v->size) ? graph_size(l->g, size_of(l, v->size)) : NULL;
    default:
        return dtype_is_float(v->dtype) ? graph_number(l->g, v->number)
                                        : graph_integer(l->g, (int64_t)v->number);
    }
}

static const struct value *lower_value(struct lower *l, const struct value *v)
{
    if (op_row(v->op)->kind == OPK_LEAF)
        return lower_leaf(l, v);
    l->v = v;
    memset(l->in, 0, sizeof l->in);
    for (uint32_t i = 0; i < v->nargs; i++)
        l->in[i] = v->args[i] ? l->made[v->args[i]->id] : NULL;
    for (uint32_t i = 0; i < v->nattrs; i++) {
        l->attrs[i] = v->attrs[i];
        if ((v->attrs[i].kind == ATTR_DIMS || v->attrs[i].kind == ATTR_DIM) &&
            sizes_of(l, v->attrs[i].dims, v->attrs[i].n, l->attrs[i].dims) < 0)
            return NULL;
    }
    lower_fn fn = way_of(v->op, l->for_kernel);
    return fn ? fn(l) : graph_add(l->g, v->op, l->in, l->attrs, l->err);
}

static int lower_outputs(struct lower *l)
{
    vec_each (const struct graph_output, o, &l->from->outputs) {
        const struct dim *shape[GRAPH_MAX_RANK];
        if (sizes_of(l, o->shape, o->rank, shape) < 0)
            return -1;
        graph_add_output(l->g, o->name, o->dtype, o->rank, shape, l->made[o->value->id]);
    }
    return 0;
}

/* Returns the notes of all values (enum lowered_note). A view computes nothing, so its operand
 * also gets LOWERED_END. */
static const uint8_t *notes_of(const struct lower *l)
{
    uint8_t *notes = arena_alloc(&l->g->arena, l->g->values.n + 1);
    for (size_t i = 0; i < l->from->values.n; i++)
        for (const struct value *v = l->made[i]; v; v = v->args[0]) {
            notes[v->id] |= LOWERED_END;
            if (op_row(v->op)->kind != OPK_VIEW || !v->nargs)
                break;
        }
    for (size_t i = 0; i < l->shifts.n; i++)
        notes[l->shifts.items[i]->id] |= LOWERED_SHIFT;
    for (size_t i = 0; i < l->shares.n; i++)
        notes[l->shares.items[i]->id] |= LOWERED_SHARE;
    return notes;
}

static int lower_graph(const struct graph *g, bool for_kernel, unsigned keep, struct graph *low,
                       const uint8_t **notes, struct err *err)
{
    struct lower l = {.from = g, .g = low, .for_kernel = for_kernel, .keep = keep, .err = err};
    graph_init(low, g->dims.names, g->dims.nnames);
    dim_take_values(&low->dims, &g->dims);
    const uint32_t *uses = graph_uses(g, &low->arena);
    int rc = 0;
    l.made = xcalloc(g->values.n + 1, sizeof *l.made);
    for (size_t i = 0; i < g->values.n && rc == 0; i++) {
        const struct value *v = g->values.items[i];
        /* Sizes may mention a scalar that no value uses. */
        bool is_scalar = v->op == OP_SCALAR;
        if (!uses[i] && !is_scalar)
            continue;
        l.made[i] = lower_value(&l, v);
        if (!l.made[i])
            rc = err_prefix(err, "value %u (%s)", v->id, op_row(v->op)->name);
    }
    if (rc == 0)
        rc = lower_outputs(&l);
    if (rc == 0)
        rc = graph_verify(low, err);
    if (rc == 0 && notes)
        *notes = notes_of(&l);
    vec_release(&l.shifts);
    vec_release(&l.shares);
    free(l.made);
    return rc;
}

int graph_lower(const struct graph *g, struct graph *low, const uint8_t **notes, struct err *err)
{
    return lower_graph(g, false, 0, low, notes, err);
}

int graph_lower_for_kernel(const struct graph *g, unsigned keep, struct graph *low,
                           const uint8_t **notes, struct err *err)
{
    return lower_graph(g, true, keep, low, notes, err);
}
