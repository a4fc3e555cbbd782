/* infer.c - finds the dtype and shape of a value. The last column of ops.def names the rule of each
 * operation. */
#include "graph/infer.h"

#include <string.h>

#include "base/util.h"

struct infer {
    struct dim_pool *dims;
    struct value *v;
    struct err *err;
};

typedef int (*infer_rule)(struct infer *x);

static const char *name_of(const struct infer *x)
{
    return op_row(x->v->op)->name;
}

/* ---- dtypes ---------------------------------------------------------------------------------- */

enum kind { KIND_BOOL, KIND_WHOLE, KIND_REAL };

static enum kind kind_of(enum dtype t)
{
    return t == DT_BOOL ? KIND_BOOL : dtype_is_float(t) ? KIND_REAL : KIND_WHOLE;
}

static bool is_unsigned(enum dtype t)
{
    return t == DT_U8 || t == DT_U16 || t == DT_U32 || t == DT_U64;
}

/* Returns the dtype to which PyTorch promotes a and b, which are of one kind. */
static enum dtype wider(enum dtype a, enum dtype b)
{
    size_t na = dtype_bytes(a), nb = dtype_bytes(b);
    if (a == b)
        return a;
    if (na == nb && dtype_is_float(a))
        return na == 2 ? DT_F32 : na == 1 ? DT_F16 : a;
    /* One is signed and the other unsigned: take the next wider signed one, at most int64. */
    if (na == nb)
        return na == 1 ? DT_I16 : na == 2 ? DT_I32 : DT_I64;
    enum dtype large = na > nb ? a : b, small = na > nb ? b : a;
    if (is_unsigned(large) && !is_unsigned(small))
        return dtype_bytes(large) == 1 ? DT_I16 : dtype_bytes(large) == 2 ? DT_I32 : DT_I64;
    return large;
}

/* Returns the dtype to which PyTorch promotes a and b. DT_NONE means that there is no operand. */
static enum dtype promoted(enum dtype a, enum dtype b)
{
    if (a == DT_NONE || b == DT_NONE)
        return a == DT_NONE ? b : a;
    enum kind ka = kind_of(a), kb = kind_of(b);
    return ka == kb ? wider(a, b) : ka > kb ? a : b;
}

/* Promotes `first` and `second`, but `second` counts only if `first` is DT_NONE or has a lower
 * kind. From low to high, the kinds are bool, integer, float. */
static enum dtype giving_way(enum dtype first, enum dtype second)
{
    bool counts = first == DT_NONE || (second != DT_NONE && kind_of(second) > kind_of(first));
    return counts ? promoted(first, second) : first;
}

/* Sets dtype and `weak` of the value by promoting its operands from number `from` on. As in
 * PyTorch, a tensor without axes is weaker than a tensor with axes, and a Python number is weaker
 * than both. */
static void promote_args(struct infer *x, uint32_t from)
{
    enum dtype with_axes = DT_NONE, without = DT_NONE, weak = DT_NONE;
    struct value *v = x->v;
    for (uint32_t i = from; i < v->nargs; i++) {
        const struct value *a = v->args[i];
        enum dtype *of = !a ? NULL : a->weak ? &weak : a->rank ? &with_axes : &without;
        if (of)
            *of = promoted(*of, a->dtype);
    }
    v->weak = with_axes == DT_NONE && without == DT_NONE;
    /* Beside a tensor, a Python number has the default dtype of its kind. */
    if (!v->weak && weak != DT_NONE && weak != DT_BOOL)
        weak = dtype_is_float(weak) ? DT_F32 : DT_I64;
    v->dtype = giving_way(with_axes, giving_way(without, weak));
}

static void make_real(struct value *v)
{
    if (kind_of(v->dtype) != KIND_REAL)
        v->dtype = DT_F32;
}

static int needs_real(const struct infer *x, uint32_t i)
{
    const struct value *a = x->v->args[i];
    return dtype_is_float(a->dtype) ? 0
                                    : err_set(x->err, ERR_INPUT, "%s takes floats, not %s",
                                              name_of(x), dtype_name(a->dtype));
}

static int needs_whole(const struct infer *x, uint32_t i)
{
    const struct value *a = x->v->args[i];
    return kind_of(a->dtype) == KIND_WHOLE
               ? 0
               : err_set(x->err, ERR_INPUT, "%s takes integers for its operand %u, not %s",
                         name_of(x), i + 1, dtype_name(a->dtype));
}

static int needs_single(const struct infer *x, uint32_t i)
{
    const struct op_param *p;
    op_args(x->v->op, &p);
    return x->v->args[i]->rank == 0
               ? 0
               : err_set(x->err, ERR_INPUT,
                         "%s takes a single value for '%s', not a tensor with %u axes", name_of(x),
                         p[i].name, x->v->args[i]->rank);
}

/* ---- shapes ---------------------------------------------------------------------------------- */

static int too_many_axes(const struct infer *x)
{
    return err_set(x->err, ERR_INPUT, "%s: a value has more than %d axes", name_of(x),
                   GRAPH_MAX_RANK);
}

static int broadcast_with(const struct infer *x, const struct value *a, uint32_t *rank,
                          const struct dim **shape)
{
    const struct dim *both[GRAPH_MAX_RANK] = {NULL};
    uint32_t n = MAX(*rank, a->rank);
    for (uint32_t i = 0; i < n; i++) { /* from the last axis */
        const struct dim *p = i < *rank ? shape[*rank - 1 - i] : NULL;
        const struct dim *q = i < a->rank ? a->shape[a->rank - 1 - i] : NULL;
        if (p && q && !dim_same(p, q) && !dim_is(p, 1) && !dim_is(q, 1))
            return err_set(x->err, ERR_INPUT,
                           "%s: sizes '%s' and '%s' at axis -%u do not broadcast", name_of(x),
                           p->text, q->text, i + 1);
        both[n - 1 - i] = !p ? q : !q ? p : dim_is(p, 1) ? q : p;
    }
    memcpy(shape, both, n * sizeof *both);
    *rank = n;
    return 0;
}

static int broadcast_args(struct infer *x)
{
    struct value *v = x->v;
    v->rank = 0;
    for (uint32_t i = 0; i < v->nargs; i++)
        if (v->args[i] && broadcast_with(x, v->args[i], &v->rank, v->shape) < 0)
            return -1;
    return 0;
}

static void take_shape(struct value *v, const struct value *a)
{
    v->rank = a->rank;
    memcpy(v->shape, a->shape, sizeof v->shape);
}

static struct attr *attr_at(const struct infer *x, const char *name)
{
    return &x->v->attrs[op_attr_place(x->v->op, name)];
}

/* Makes axes count from 0, and sorts them if `ordered`. No axis may occur twice. */
static int fix_axes(const struct infer *x, struct attr *a, uint32_t rank, bool ordered)
{
    for (size_t i = 0; i < a->n; i++) {
        int64_t axis = a->ints[i] + (a->ints[i] < 0 ? (int64_t)rank : 0);
        if (axis < 0 || axis >= (int64_t)rank)
            return err_set(x->err, ERR_INPUT, "%s: a tensor of rank %u has no axis %lld",
                           name_of(x), rank, (long long)a->ints[i]);
        a->ints[i] = axis;
    }
    for (size_t i = 0; i < a->n; i++)
        for (size_t k = i + 1; k < a->n; k++) {
            if (a->ints[i] == a->ints[k])
                return err_set(x->err, ERR_INPUT, "%s: axis %lld is named twice", name_of(x),
                               (long long)a->ints[i]);
            if (ordered && a->ints[k] < a->ints[i]) {
                int64_t least = a->ints[k];
                a->ints[k] = a->ints[i];
                a->ints[i] = least;
            }
        }
    return 0;
}

static int one_axis(const struct infer *x, const struct attr *a)
{
    return a->kind == ATTR_AXES && a->n == 1
               ? 0
               : err_set(x->err, ERR_INPUT, "%s needs one axis", name_of(x));
}

static bool has_axis(const struct attr *a, uint32_t axis)
{
    for (size_t i = 0; i < a->n; i++)
        if (a->ints[i] == (int64_t)axis)
            return true;
    return false;
}

static int same_size(const struct infer *x, const struct dim *a, const struct dim *b,
                     const char *what)
{
    return dim_same(a, b) ? 0
                          : err_set(x->err, ERR_INPUT, "%s: %s: '%s' and '%s' differ", name_of(x),
                                    what, a->text, b->text);
}

static bool same_sizes(const struct dim *const *a, const struct dim *const *b, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (!dim_same(a[i], b[i]))
            return false;
    return true;
}

/* ---- leaves and elementwise operations ------------------------------------------------------- */

static int rule_leaf(struct infer *x)
{
    return err_set(x->err, ERR_INTERNAL, "%s is a leaf, not an operation", name_of(x));
}

static int rule_same(struct infer *x)
{
    enum graph_op op = x->v->op;
    promote_args(x, 0);
    if (x->v->dtype == DT_BOOL && (op == OP_SUB || op == OP_NEG))
        return err_set(x->err, ERR_INPUT, "%s takes no bools; use ~ or ^", name_of(x));
    return broadcast_args(x);
}

static int rule_real(struct infer *x)
{
    promote_args(x, 0);
    make_real(x->v);
    return broadcast_args(x);
}

static int rule_whole(struct infer *x)
{
    promote_args(x, 0);
    if (dtype_is_float(x->v->dtype))
        return err_set(x->err, ERR_INPUT, "%s takes integers or bools, not floats", name_of(x));
    return broadcast_args(x);
}

static int rule_test(struct infer *x)
{
    x->v->dtype = DT_BOOL;
    x->v->weak = false;
    return broadcast_args(x);
}

static int rule_where(struct infer *x)
{
    if (x->v->args[0]->dtype != DT_BOOL)
        return err_set(x->err, ERR_INPUT, "where takes a bool condition, not %s",
                       dtype_name(x->v->args[0]->dtype));
    promote_args(x, 1);
    x->v->weak &= x->v->args[0]->weak; /* with a tensor as condition, the result is a tensor */
    return broadcast_args(x);
}

static int rule_cast(struct infer *x)
{
    x->v->dtype = attr_at(x, "dtype")->dtype;
    if (x->v->dtype == DT_NONE)
        return err_set(x->err, ERR_INPUT, "a cast needs a dtype");
    return broadcast_args(x);
}

/* ---- reductions ------------------------------------------------------------------------------ */

static int reduced(struct infer *x, enum dtype t)
{
    struct value *v = x->v;
    const struct value *a = v->args[0];
    struct attr *dim = attr_at(x, "dim");
    bool keep = value_flag(v, "keepdim");
    if (dim->kind == ATTR_NONE || !dim->n) {
        *dim = (struct attr){.kind = ATTR_AXES, .n = a->rank};
        for (uint32_t i = 0; i < a->rank; i++)
            dim->ints[i] = i;
    }
    if (fix_axes(x, dim, a->rank, true) < 0)
        return -1;
    v->dtype = t;
    v->rank = 0;
    for (uint32_t i = 0; i < a->rank; i++)
        if (!has_axis(dim, i))
            v->shape[v->rank++] = a->shape[i];
        else if (keep)
            v->shape[v->rank++] = dim_number(x->dims, 1);
    return 0;
}

static int rule_reduce(struct infer *x)
{
    enum dtype t = x->v->args[0]->dtype;
    bool adds = x->v->op == OP_SUM || x->v->op == OP_PROD;
    return reduced(x, adds && !dtype_is_float(t) ? DT_I64 : t);
}

static int rule_reduce_real(struct infer *x)
{
    if (x->v->op != OP_LOGSUMEXP && needs_real(x, 0) < 0)
        return -1;
    return reduced(x, dtype_is_float(x->v->args[0]->dtype) ? x->v->args[0]->dtype : DT_F32);
}

static int rule_reduce_index(struct infer *x)
{
    if (reduced(x, DT_I64) < 0)
        return -1;
    size_t n = attr_at(x, "dim")->n;
    return n == 1 || n == x->v->args[0]->rank
               ? 0
               : err_set(x->err, ERR_INPUT, "%s works along one axis or over all axes", name_of(x));
}

static int rule_reduce_test(struct infer *x)
{
    return reduced(x, DT_BOOL);
}

/* ---- along axes ------------------------------------------------------------------------------ */

static int along(struct infer *x, enum dtype t)
{
    struct attr *dim = attr_at(x, "dim");
    x->v->dtype = t;
    take_shape(x->v, x->v->args[0]);
    return one_axis(x, dim) < 0 ? -1 : fix_axes(x, dim, x->v->rank, true);
}

static int rule_along(struct infer *x)
{
    return along(x, x->v->args[0]->dtype);
}

static int rule_along_real(struct infer *x)
{
    if (needs_real(x, 0) < 0 || (x->v->op == OP_NORMALIZE && needs_single(x, 1) < 0))
        return -1;
    return along(x, x->v->args[0]->dtype);
}

static int rule_along_sum(struct infer *x)
{
    enum dtype t = x->v->args[0]->dtype;
    return along(x, dtype_is_float(t) ? t : DT_I64);
}

static int rule_norm(struct infer *x)
{
    struct value *v = x->v;
    const struct value *a = v->args[0];
    int64_t n = attr_at(x, "axes")->i;
    if (needs_real(x, 0) < 0 || needs_single(x, v->nargs - 1) < 0)
        return -1;
    if (n < 1 || n > (int64_t)a->rank)
        return err_set(x->err, ERR_INPUT, "%s cannot work over %lld axes of a tensor that has %u",
                       name_of(x), (long long)n, a->rank);
    for (uint32_t i = 1; i + 1 < v->nargs; i++) { /* weight and bias; eps is the last */
        const struct value *w = v->args[i];
        if (!w)
            continue;
        if (w->rank != n)
            return err_set(x->err, ERR_INPUT, "%s: the weight or bias has %u axes, not %lld",
                           name_of(x), w->rank, (long long)n);
        for (uint32_t d = 0; d < w->rank; d++)
            if (same_size(x, w->shape[d], a->shape[a->rank - w->rank + d], "weights") < 0)
                return -1;
    }
    v->dtype = a->dtype;
    take_shape(v, a);
    return 0;
}

/* ---- products -------------------------------------------------------------------------------- */

static int rule_matmul(struct infer *x)
{
    struct value *v = x->v;
    const struct value *a = v->args[0], *b = v->args[1];
    if (!a->rank || !b->rank)
        return err_set(x->err, ERR_INPUT, "matmul takes vectors or matrices, not single values");
    const struct dim *k = a->shape[a->rank - 1], *n = b->rank > 1 ? b->shape[b->rank - 1] : NULL;
    const struct dim *m = a->rank > 1 ? a->shape[a->rank - 2] : NULL;
    if (same_size(x, k, b->shape[b->rank > 1 ? b->rank - 2 : 0], "the size summed over") < 0)
        return -1;
    struct value lead_b = *b;
    lead_b.rank = b->rank > 2 ? b->rank - 2 : 0;
    v->rank = a->rank > 2 ? a->rank - 2 : 0;
    memcpy(v->shape, a->shape, v->rank * sizeof *v->shape);
    if (broadcast_with(x, &lead_b, &v->rank, v->shape) < 0)
        return -1;
    if (v->rank + 2 > GRAPH_MAX_RANK)
        return too_many_axes(x);
    if (m)
        v->shape[v->rank++] = m;
    if (n)
        v->shape[v->rank++] = n;
    promote_args(x, 0);
    v->weak = false;
    return 0;
}

/* Checks that the list has one entry for each of the n spatial axes. If there is no list, makes a
 * list whose n entries are all `usual`. Each entry must be at least `least`. */
static int spatial_ints(const struct infer *x, const char *name, uint32_t n, int64_t usual,
                        int64_t least)
{
    struct attr *a = attr_at(x, name);
    if (a->kind == ATTR_NONE) {
        *a = (struct attr){.kind = ATTR_INTS, .n = n};
        for (uint32_t i = 0; i < n; i++)
            a->ints[i] = usual;
    }
    for (size_t i = 0; i < a->n; i++)
        if (a->ints[i] < least || a->ints[i] > 65536)
            return err_set(x->err, ERR_INPUT, "%s: %s %lld", name_of(x), name,
                           (long long)a->ints[i]);
    return a->n == n ? 0
                     : err_set(x->err, ERR_INPUT, "%s: %s has %zu entries, not %u", name_of(x),
                               name, a->n, n);
}

static int spatial_dims(const struct infer *x, const char *name, uint32_t n)
{
    struct attr *a = attr_at(x, name);
    if (a->kind == ATTR_NONE) {
        *a = (struct attr){.kind = ATTR_DIMS, .n = n};
        for (uint32_t i = 0; i < n; i++)
            a->dims[i] = dim_number(x->dims, 0);
    }
    return a->n == n
               ? 0
               : err_set(x->err, ERR_INPUT, "conv: %s has %zu entries, not %u", name, a->n, n);
}

/* Returns the size of the result along spatial axis i, which is
 * (size + before + after - dilation * (window - 1) - 1) / stride + 1. `before` and `after` are
 * paddings. */
static const struct dim *conv_size(const struct infer *x, uint32_t i)
{
    struct dim_pool *p = x->dims;
    const struct value *a = x->v->args[0], *w = x->v->args[1];
    const struct dim *one = dim_number(p, 1), *reach;
    reach = dim_mul(p, dim_number(p, attr_at(x, "dilation")->ints[i]),
                    dim_sub(p, w->shape[2 + i], one));
    const struct dim *size = dim_add(p, a->shape[2 + i], attr_at(x, "before")->dims[i]);
    size = dim_add(p, size, attr_at(x, "after")->dims[i]);
    size = dim_sub(p, dim_sub(p, size, reach), one);
    return dim_add(p, dim_div(p, size, dim_number(p, attr_at(x, "stride")->ints[i])), one);
}

/* Returns whether both sizes are numbers, but `a` is not a multiple of b. */
static bool leaves_rest(const struct dim *a, const struct dim *b)
{
    const struct dim *p = a->fixed, *q = b->fixed;
    return p->is_number && q->is_number && (q->value < 1 || p->value % q->value != 0);
}

static int rule_conv(struct infer *x)
{
    struct value *v = x->v;
    const struct value *a = v->args[0], *w = v->args[1], *bias = v->args[2];
    struct attr *groups = attr_at(x, "groups");
    if (a->rank < 3 || w->rank != a->rank)
        return err_set(x->err, ERR_INPUT, "conv: the input has %u axes and the window has %u",
                       a->rank, w->rank);
    uint32_t n = a->rank - 2;
    if (spatial_ints(x, "stride", n, 1, 1) < 0 || spatial_ints(x, "dilation", n, 1, 1) < 0 ||
        spatial_dims(x, "before", n) < 0 || spatial_dims(x, "after", n) < 0)
        return -1;
    if (groups->kind == ATTR_NONE)
        *groups = attr_dim(dim_number(x->dims, 1));
    if (leaves_rest(a->shape[1], groups->dims[0]) || leaves_rest(w->shape[0], groups->dims[0]))
        return err_set(x->err, ERR_INPUT, "conv: '%s' groups do not divide '%s' and '%s' channels",
                       groups->dims[0]->text, a->shape[1]->text, w->shape[0]->text);
    if (same_size(x, dim_div(x->dims, a->shape[1], groups->dims[0]), w->shape[1],
                  "channels of a group") < 0)
        return -1;
    if (bias && (bias->rank != 1 || same_size(x, bias->shape[0], w->shape[0], "bias") < 0))
        return err_set(x->err, ERR_INPUT, "conv: the bias must have one value for each channel");
    v->rank = a->rank;
    v->shape[0] = a->shape[0];
    v->shape[1] = w->shape[0];
    for (uint32_t i = 0; i < n; i++)
        v->shape[2 + i] = conv_size(x, i);
    promote_args(x, 0);
    return 0;
}

/* Returns the size of the result along spatial axis i, which is
 * (size - 1) * stride - 2 * padding + dilation * (window - 1) + output_padding + 1. */
static const struct dim *conv_transpose_size(const struct infer *x, uint32_t i)
{
    struct dim_pool *p = x->dims;
    const struct value *a = x->v->args[0], *w = x->v->args[1];
    const struct dim *one = dim_number(p, 1);
    const struct dim *size =
        dim_mul(p, dim_sub(p, a->shape[2 + i], one), dim_number(p, attr_at(x, "stride")->ints[i]));
    size = dim_add(p, size,
                   dim_mul(p, dim_sub(p, w->shape[2 + i], one),
                           dim_number(p, attr_at(x, "dilation")->ints[i])));
    return dim_add(p, size,
                   dim_number(p, attr_at(x, "output_padding")->ints[i] -
                                     2 * attr_at(x, "padding")->ints[i] + 1));
}

static int rule_conv_transpose(struct infer *x)
{
    struct value *v = x->v;
    const struct value *a = v->args[0], *w = v->args[1], *bias = v->args[2];
    struct attr *groups = attr_at(x, "groups");
    if (a->rank < 3 || w->rank != a->rank)
        return err_set(x->err, ERR_INPUT,
                       "conv_transpose: the input has %u axes and the window has %u", a->rank,
                       w->rank);
    uint32_t n = a->rank - 2;
    if (spatial_ints(x, "stride", n, 1, 1) < 0 || spatial_ints(x, "dilation", n, 1, 1) < 0 ||
        spatial_ints(x, "padding", n, 0, 0) < 0 || spatial_ints(x, "output_padding", n, 0, 0) < 0)
        return -1;
    if (groups->kind == ATTR_NONE)
        *groups = attr_dim(dim_number(x->dims, 1));
    if (leaves_rest(a->shape[1], groups->dims[0]))
        return err_set(x->err, ERR_INPUT, "conv_transpose: '%s' groups do not divide '%s' channels",
                       groups->dims[0]->text, a->shape[1]->text);
    if (same_size(x, a->shape[1], w->shape[0], "channels") < 0)
        return -1;
    const struct dim *out = dim_mul(x->dims, w->shape[1], groups->dims[0]);
    if (bias && (bias->rank != 1 || same_size(x, bias->shape[0], out, "bias") < 0))
        return err_set(x->err, ERR_INPUT,
                       "conv_transpose: the bias must have one value for each channel");
    v->rank = a->rank;
    v->shape[0] = a->shape[0];
    v->shape[1] = out;
    for (uint32_t i = 0; i < n; i++)
        v->shape[2 + i] = conv_transpose_size(x, i);
    promote_args(x, 0);
    return 0;
}

/* The mask must broadcast to the scores (query times key), and not enlarge them. */
static int check_mask(struct infer *x)
{
    const struct value *q = x->v->args[0], *k = x->v->args[1], *mask = x->v->args[3];
    const struct dim *scores[GRAPH_MAX_RANK], *both[GRAPH_MAX_RANK];
    uint32_t n = q->rank, rank = n;
    if (mask->dtype != DT_BOOL && needs_real(x, 3) < 0)
        return -1;
    memcpy(scores, q->shape, sizeof scores);
    scores[n - 1] = k->shape[n - 2];
    memcpy(both, scores, sizeof both);
    if (mask->rank > n || broadcast_with(x, mask, &rank, both) < 0 || !same_sizes(both, scores, n))
        return err_set(x->err, ERR_INPUT, "attention: the mask does not broadcast to the scores");
    return 0;
}

static int rule_attention(struct infer *x)
{
    struct value *v = x->v;
    const struct value *q = v->args[0], *k = v->args[1], *w = v->args[2];
    if (q->rank < 2 || k->rank != q->rank || w->rank != q->rank)
        return err_set(x->err, ERR_INPUT,
                       "attention takes query, key and value with the same number of axes");
    uint32_t n = q->rank;
    if (same_size(x, q->shape[n - 1], k->shape[n - 1], "head size") < 0 ||
        same_size(x, k->shape[n - 2], w->shape[n - 2], "keys and values") < 0)
        return -1;
    for (uint32_t i = 0; i + 2 < n; i++)
        if (same_size(x, q->shape[i], k->shape[i], "batch") < 0 ||
            same_size(x, q->shape[i], w->shape[i], "batch") < 0)
            return -1;
    if ((v->args[3] && check_mask(x) < 0) || (v->args[4] && needs_single(x, 4) < 0))
        return -1;
    take_shape(v, q);
    v->shape[n - 1] = w->shape[n - 1];
    v->dtype = q->dtype;
    return needs_real(x, 0);
}

/* ---- recurrent layers ------------------------------------------------------------------------ */

/* Operand k must be a matrix [rows, columns], or a vector if `columns` is NULL. */
static int needs_sizes(struct infer *x, uint32_t k, const struct dim *rows,
                       const struct dim *columns, const char *what)
{
    const struct value *a = x->v->args[k];
    if (a->rank != (columns ? 2u : 1u))
        return err_set(x->err, ERR_INPUT, "%s: '%s' has %u axes, not %d", op_row(x->v->op)->name,
                       what, a->rank, columns ? 2 : 1);
    return same_size(x, a->shape[0], rows, what) < 0 ||
                   (columns && same_size(x, a->shape[1], columns, what) < 0)
               ? -1
               : 0;
}

static int rule_recurrent(struct infer *x)
{
    struct value *v = x->v;
    const struct value *gates = v->args[0], *w = v->args[1];
    int64_t n = v->op == OP_LSTM ? 4 : v->op == OP_GRU ? 3 : 1;
    if (gates->rank != 3 || w->rank != 2)
        return err_set(x->err, ERR_INPUT, "%s takes gates with 3 axes and a weight with 2",
                       op_row(v->op)->name);
    const struct dim *hidden = w->shape[1], *all = dim_mul(x->dims, hidden, dim_number(x->dims, n));
    if (same_size(x, gates->shape[2], all, "gates") < 0 ||
        needs_sizes(x, 1, all, hidden, "weight") < 0)
        return -1;
    for (uint32_t k = 2; k < v->nargs; k++) {
        bool bias = v->op == OP_GRU && k == 2;
        if (needs_sizes(x, k, bias ? all : gates->shape[1], bias ? NULL : hidden,
                        bias ? "bias" : "state") < 0)
            return -1;
    }
    for (uint32_t k = 0; k < v->nargs; k++)
        if (needs_real(x, k) < 0)
            return -1;
    take_shape(v, gates);
    v->shape[2] = v->op == OP_LSTM ? dim_mul(x->dims, hidden, dim_number(x->dims, 2)) : hidden;
    v->dtype = gates->dtype;
    return 0;
}

/* ---- by index -------------------------------------------------------------------------------- */

static int rule_index_select(struct infer *x)
{
    struct value *v = x->v;
    const struct value *a = v->args[0], *index = v->args[1];
    struct attr *dim = attr_at(x, "dim");
    if (needs_whole(x, 1) < 0 || one_axis(x, dim) < 0 || fix_axes(x, dim, a->rank, true) < 0)
        return -1;
    if (a->rank + index->rank - 1 > GRAPH_MAX_RANK)
        return too_many_axes(x);
    v->rank = 0;
    for (uint32_t i = 0; i < a->rank; i++) {
        if (i != (uint32_t)dim->ints[0]) {
            v->shape[v->rank++] = a->shape[i];
            continue;
        }
        for (uint32_t k = 0; k < index->rank; k++)
            v->shape[v->rank++] = index->shape[k];
    }
    v->dtype = a->dtype;
    return 0;
}

static int rule_gather(struct infer *x)
{
    struct value *v = x->v;
    const struct value *a = v->args[0], *index = v->args[1];
    struct attr *dim = attr_at(x, "dim");
    if (needs_whole(x, 1) < 0 || one_axis(x, dim) < 0 || fix_axes(x, dim, a->rank, true) < 0)
        return -1;
    if (index->rank != a->rank)
        return err_set(x->err, ERR_INPUT, "gather: the index has %u axes and the input has %u",
                       index->rank, a->rank);
    take_shape(v, index);
    v->dtype = a->dtype;
    return 0;
}

static int rule_index_add(struct infer *x)
{
    struct value *v = x->v;
    const struct value *a = v->args[0], *index = v->args[1], *source = v->args[2];
    struct attr *dim = attr_at(x, "dim");
    if (needs_whole(x, 1) < 0 || one_axis(x, dim) < 0 || fix_axes(x, dim, a->rank, true) < 0)
        return -1;
    if (index->rank != 1 || source->rank != a->rank)
        return err_set(
            x->err, ERR_INPUT,
            "index_add takes a vector of indices and a source with as many axes as input");
    for (uint32_t i = 0; i < a->rank; i++)
        if (same_size(x, source->shape[i],
                      i == (uint32_t)dim->ints[0] ? index->shape[0] : a->shape[i], "source") < 0)
            return -1;
    take_shape(v, a);
    v->dtype = a->dtype;
    return 0;
}

static int rule_embedding_bag(struct infer *x)
{
    struct value *v = x->v;
    const struct value *index = v->args[0], *w = v->args[1], *offsets = v->args[2];
    const char *mode = attr_at(x, "mode")->text;
    if (needs_whole(x, 0) < 0 || needs_whole(x, 2) < 0 || needs_real(x, 1) < 0)
        return -1;
    if (index->rank != 1 || w->rank != 2 || offsets->rank != 1)
        return err_set(x->err, ERR_INPUT,
                       "embedding_bag takes a vector of indices, a table and a vector of offsets");
    if (!mode || (!str_eq(mode, "sum") && !str_eq(mode, "mean") && !str_eq(mode, "max")))
        return err_set(x->err, ERR_INPUT, "embedding_bag's mode is sum, mean or max");
    v->rank = 2;
    v->shape[0] = dim_sub(x->dims, offsets->shape[0], dim_number(x->dims, 1));
    v->shape[1] = w->shape[1];
    v->dtype = w->dtype;
    return 0;
}

/* ---- views ----------------------------------------------------------------------------------- */

static void take_type(struct value *v)
{
    v->dtype = v->args[0]->dtype;
    v->weak = v->args[0]->weak;
}

static int rule_reshape(struct infer *x)
{
    struct value *v = x->v;
    const struct value *a = v->args[0];
    const struct attr *shape = attr_at(x, "shape");
    const struct dim *was = dim_product(x->dims, a->shape, a->rank),
                     *is = dim_product(x->dims, shape->dims, shape->n);
    take_type(v);
    v->rank = (uint32_t)shape->n;
    memcpy(v->shape, shape->dims, sizeof v->shape);
    return dim_same(was, is) ? 0
                             : err_set(x->err, ERR_INPUT, "reshape cannot turn %s elements into %s",
                                       was->text, is->text);
}

static int rule_expand(struct infer *x)
{
    struct value *v = x->v;
    const struct attr *shape = attr_at(x, "shape");
    take_type(v);
    v->rank = (uint32_t)shape->n;
    memcpy(v->shape, shape->dims, sizeof v->shape);
    uint32_t rank = v->rank;
    const struct dim *both[GRAPH_MAX_RANK];
    memcpy(both, v->shape, sizeof both);
    if (broadcast_with(x, v->args[0], &rank, both) < 0)
        return -1;
    return rank == v->rank && same_sizes(both, v->shape, rank)
               ? 0
               : err_set(x->err, ERR_INPUT, "expand cannot make a shape smaller");
}

static int rule_permute(struct infer *x)
{
    struct value *v = x->v;
    struct attr *dims = attr_at(x, "dims");
    take_type(v);
    v->rank = v->args[0]->rank;
    if (fix_axes(x, dims, v->rank, false) < 0)
        return -1;
    if (dims->n != v->rank)
        return err_set(x->err, ERR_INPUT, "permute names %zu of %u axes", dims->n, v->rank);
    for (uint32_t i = 0; i < v->rank; i++)
        v->shape[i] = v->args[0]->shape[dims->ints[i]];
    return 0;
}

static bool slice_fits(int64_t start, int64_t length, int64_t step, int64_t size)
{
    int64_t last;
    if (length == 0)
        return start <= size;
    return !__builtin_mul_overflow(length - 1, step, &last) &&
           !__builtin_add_overflow(start, last, &last) && last < size;
}

static int rule_slice(struct infer *x)
{
    struct value *v = x->v;
    struct attr *dim = attr_at(x, "dim");
    const struct attr *start = attr_at(x, "start"), *length = attr_at(x, "length");
    take_type(v);
    take_shape(v, v->args[0]);
    if (one_axis(x, dim) < 0 || fix_axes(x, dim, v->rank, true) < 0)
        return -1;
    if (start->kind != ATTR_DIM || length->kind != ATTR_DIM || attr_at(x, "step")->i < 1)
        return err_set(x->err, ERR_INPUT, "slice needs a start, a length and a step of at least 1");
    const struct dim *size = v->shape[dim->ints[0]], *from = start->dims[0]->fixed,
                     *n = length->dims[0]->fixed;
    if ((from->is_number && from->value < 0) || (n->is_number && n->value < 0))
        return err_set(x->err, ERR_INPUT, "a slice cannot have a negative start or length");
    if (size->fixed->is_number && from->is_number && n->is_number &&
        !slice_fits(from->value, n->value, attr_at(x, "step")->i, size->fixed->value))
        return err_set(x->err, ERR_INPUT, "the slice reaches beyond the %s elements of its axis",
                       size->text);
    v->shape[dim->ints[0]] = length->dims[0];
    return 0;
}

static int rule_same_shape(struct infer *x)
{
    take_type(x->v);
    take_shape(x->v, x->v->args[0]);
    return fix_axes(x, attr_at(x, "dims"), x->v->rank, true);
}

static int rule_pad(struct infer *x)
{
    struct value *v = x->v;
    const struct attr *before = attr_at(x, "before"), *after = attr_at(x, "after");
    struct dim_pool *p = x->dims;
    take_type(v);
    take_shape(v, v->args[0]);
    if (needs_single(x, 1) < 0)
        return -1;
    if (before->n != v->rank || after->n != v->rank)
        return err_set(x->err, ERR_INPUT, "pad needs a number before and after each axis");
    for (uint32_t i = 0; i < v->rank; i++) {
        if (before->ints[i] < 0 || after->ints[i] < 0)
            return err_set(x->err, ERR_INPUT, "pad cannot take a negative number");
        v->shape[i] = dim_add(p, v->shape[i], dim_number(p, before->ints[i]));
        v->shape[i] = dim_add(p, v->shape[i], dim_number(p, after->ints[i]));
    }
    return 0;
}

static int rule_cat(struct infer *x)
{
    struct value *v = x->v;
    const struct value *a = v->args[0], *b = v->args[1];
    struct attr *dim = attr_at(x, "dim");
    take_shape(v, a);
    if (one_axis(x, dim) < 0 || fix_axes(x, dim, v->rank, true) < 0)
        return -1;
    if (a->rank != b->rank)
        return err_set(x->err, ERR_INPUT,
                       "cat needs tensors with the same number of axes, not %u and %u", a->rank,
                       b->rank);
    for (uint32_t i = 0; i < v->rank; i++)
        if (i == (uint32_t)dim->ints[0])
            v->shape[i] = dim_add(x->dims, a->shape[i], b->shape[i]);
        else if (same_size(x, a->shape[i], b->shape[i], "the other axes") < 0)
            return -1;
    promote_args(x, 0);
    return 0;
}

static int rule_windows(struct infer *x)
{
    struct value *v = x->v;
    struct attr *dim = attr_at(x, "dim");
    const struct attr *size = attr_at(x, "size");
    int64_t step = attr_at(x, "step")->i, dilation = attr_at(x, "dilation")->i;
    struct dim_pool *p = x->dims;
    take_type(v);
    take_shape(v, v->args[0]);
    if (one_axis(x, dim) < 0 || fix_axes(x, dim, v->rank, true) < 0)
        return -1;
    if (v->rank + 1 > GRAPH_MAX_RANK)
        return too_many_axes(x);
    if (size->kind != ATTR_DIM || step < 1 || step > 65536 || dilation < 1 || dilation > 65536)
        return err_set(x->err, ERR_INPUT,
                       "windows need a size, and a step and a dilation from 1 to 65536");
    const struct dim *one = dim_number(p, 1), *n = v->shape[dim->ints[0]];
    n = dim_sub(p, n, dim_mul(p, dim_number(p, dilation), dim_sub(p, size->dims[0], one)));
    n = dim_add(p, dim_div(p, dim_sub(p, n, one), dim_number(p, step)), one);
    if (n->fixed->is_number && n->fixed->value < 1)
        return err_set(x->err, ERR_INPUT, "a window is larger than the %s elements of its axis",
                       v->shape[dim->ints[0]]->text);
    v->shape[dim->ints[0]] = n;
    v->shape[v->rank++] = size->dims[0];
    return 0;
}

static int rule_iota(struct infer *x)
{
    const struct attr *shape = attr_at(x, "shape");
    if (shape->kind != ATTR_DIMS || shape->n != 1)
        return err_set(x->err, ERR_INPUT, "iota has one axis");
    x->v->dtype = DT_I64;
    x->v->rank = 1;
    x->v->shape[0] = shape->dims[0];
    return 0;
}

/* ---- losses ---------------------------------------------------------------------------------- */

static int loss_shape(struct infer *x, uint32_t rank, const struct dim *const *shape)
{
    const char *how = attr_at(x, "reduction")->text;
    if (!how || (!str_eq(how, "none") && !str_eq(how, "mean") && !str_eq(how, "sum")))
        return err_set(x->err, ERR_INPUT, "%s: reduction must be none, mean or sum", name_of(x));
    x->v->rank = str_eq(how, "none") ? rank : 0;
    memcpy(x->v->shape, shape, rank * sizeof *shape);
    return 0;
}

static int rule_cross_entropy(struct infer *x)
{
    const struct value *a = x->v->args[0], *target = x->v->args[1];
    if (needs_real(x, 0) < 0 || needs_whole(x, 1) < 0)
        return -1;
    if (a->rank != 2 || target->rank != 1 ||
        same_size(x, a->shape[0], target->shape[0], "rows") < 0)
        return err_set(x->err, ERR_INPUT, "cross_entropy takes [rows, classes] and [rows]");
    x->v->dtype = a->dtype;
    return loss_shape(x, 1, target->shape);
}

static int rule_triplet(struct infer *x)
{
    const struct value *a = x->v->args[0];
    for (uint32_t i = 0; i < 5; i++)
        if (i < 3 ? needs_real(x, i) < 0 : needs_single(x, i) < 0)
            return -1;
    if (a->rank < 1 || !value_same_shape(a, x->v->args[1]) || !value_same_shape(a, x->v->args[2]))
        return err_set(x->err, ERR_INPUT, "triplet_margin_loss takes three tensors of one shape");
    x->v->dtype = a->dtype;
    return loss_shape(x, a->rank - 1, a->shape);
}

int infer_value(struct dim_pool *p, struct value *v, struct err *err)
{
    static const infer_rule rules[OP_COUNT] = {
#define OP(id, name, kind, args, attrs, real, flops, rule) [OP_##id] = rule_##rule,
#include "graph/ops.def"
#undef OP
    };
    struct infer x = {p, v, err};
    return rules[v->op](&x);
}
