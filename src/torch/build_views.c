/* build_views.c - builds functions that only move elements, and answers questions about sizes. */
#include <string.h>

#include "base/util.h"
#include "torch/build.h"

/* size_at_most() tries SAMPLES sets of small values and LARGE_SAMPLES sets of large ones. */
enum { MAX_PIECES = 32, SAMPLES = 48, LARGE_SAMPLES = 31 };

static struct dim_pool *pool(struct build *b)
{
    return &b->g->dims;
}

static const struct dim *number(struct build *b, int64_t v)
{
    return dim_number(pool(b), v);
}

VALUE_BUILDER(build_nothing)
{
    return need_tensor(b, &arg[0], "input");
}

/* ---- other shapes ---------------------------------------------------------------------------- */

/* Replaces the size -1 by `total` divided by the other sizes. */
static bool fill_size(struct build *b, const struct dim *total, const struct dim **d, size_t n)
{
    size_t open = n;
    const struct dim *rest = number(b, 1);
    for (size_t i = 0; i < n; i++) {
        if (!dim_is(d[i], -1)) {
            rest = dim_mul(pool(b), rest, d[i]);
            continue;
        }
        if (open != n)
            return refuse(b, "only one size may be -1");
        open = i;
    }
    if (open == n)
        return true;
    if (dim_is(rest, 0))
        return refuse(b, "a size of -1 beside a size of 0 has no meaning");
    d[open] = dim_div(pool(b), total, rest);
    return true;
}

static const struct dim *elements(struct build *b, const struct value *a)
{
    return dim_product(pool(b), a->shape, a->rank);
}

VALUE_BUILDER(build_reshape)
{
    const struct value *a = need_tensor(b, &arg[0], "input");
    const struct dim *d[GRAPH_MAX_RANK];
    size_t n;
    if (!a || !need_dims(b, &arg[1], "shape", d, &n) || !fill_size(b, elements(b, a), d, n))
        return NULL;
    return reshape_to(b, a, d, n);
}

/* Merges the axes `from` to `to`, both included. */
static const struct value *merged(struct build *b, const struct value *a, int64_t from, int64_t to)
{
    const struct dim *d[GRAPH_MAX_RANK] = {NULL};
    size_t n = 0;
    for (uint32_t i = 0; i < a->rank; i++) {
        if ((int64_t)i > from && (int64_t)i <= to)
            d[n - 1] = dim_mul(pool(b), d[n - 1], a->shape[i]);
        else
            d[n++] = a->shape[i];
    }
    if (!n)
        d[n++] = number(b, 1);
    return reshape_to(b, a, d, n);
}

VALUE_BUILDER(build_flatten)
{
    const struct value *a = need_tensor(b, &arg[0], "input");
    int64_t from, to;
    if (!a || !need_axis(b, &arg[1], a->rank, &from) || !need_axis(b, &arg[2], a->rank, &to))
        return NULL;
    return from <= to ? merged(b, a, from, to)
                      : refuse_value(b, "flatten's start_dim is after its end_dim");
}

VALUE_BUILDER(build_unflatten)
{
    const struct value *a = need_tensor(b, &arg[0], "input");
    const struct dim *d[GRAPH_MAX_RANK], *all[2 * GRAPH_MAX_RANK];
    size_t n, k = 0;
    int64_t axis;
    if (!a || !a->rank || !need_axis(b, &arg[1], a->rank, &axis) ||
        !need_dims(b, &arg[2], "sizes", d, &n) || !fill_size(b, a->shape[axis], d, n))
        return a && !a->rank ? refuse_value(b, "unflatten needs a tensor with axes") : NULL;
    for (uint32_t i = 0; i < a->rank; i++) {
        if ((int64_t)i != axis)
            all[k++] = a->shape[i];
        for (size_t j = 0; j < n && (int64_t)i == axis; j++)
            all[k++] = d[j];
    }
    return reshape_to(b, a, all, k);
}

/* Removes those named axes whose size is 1. If no axis is named, removes all axes of size 1. */
VALUE_BUILDER(build_squeeze)
{
    const struct value *a = need_tensor(b, &arg[0], "input");
    struct attr axes;
    const struct dim *d[GRAPH_MAX_RANK];
    size_t n = 0;
    if (!a || !need_axes(b, &arg[1], a->rank, &axes))
        return NULL;
    for (uint32_t i = 0; i < a->rank; i++) {
        bool named = obj_is_none(&arg[1]);
        for (size_t k = 0; k < axes.n; k++)
            named |= axes.ints[k] == (int64_t)i;
        if (!named || !dim_is(a->shape[i], 1))
            d[n++] = a->shape[i];
    }
    return reshape_to(b, a, d, n);
}

VALUE_BUILDER(build_unsqueeze)
{
    const struct value *a = need_tensor(b, &arg[0], "input");
    const struct dim *d[GRAPH_MAX_RANK + 1];
    int64_t axis;
    if (!a || !need_axis(b, &arg[1], a->rank + 1, &axis))
        return NULL;
    for (uint32_t i = 0; i <= a->rank; i++)
        d[i] = (int64_t)i == axis ? number(b, 1) : a->shape[i - ((int64_t)i > axis)];
    return reshape_to(b, a, d, a->rank + 1);
}

const struct value *expand_to(struct build *b, const struct value *a, const struct dim *const *d,
                              size_t n)
{
    struct attr shape = attr_dims(d, n);
    if (n == a->rank && memcmp(d, a->shape, n * sizeof *d) == 0)
        return a;
    return make_op(b, OP_EXPAND, &a, "shape", &shape, NO_MORE);
}

VALUE_BUILDER(build_expand)
{
    const struct value *a = need_tensor(b, &arg[0], "input");
    const struct dim *d[GRAPH_MAX_RANK];
    size_t n;
    if (!a || !need_dims(b, &arg[1], "size", d, &n))
        return NULL;
    if (n < a->rank)
        return refuse_value(b, "expand names %zu axes, but the tensor has %u", n, a->rank);
    for (size_t i = 0; i < n; i++)
        if (dim_is(d[i], -1)) {
            if (i + a->rank < n)
                return refuse_value(b, "expand's new axes need a size");
            d[i] = a->shape[i + a->rank - n];
        }
    return expand_to(b, a, d, n);
}

VALUE_BUILDER(build_expand_as)
{
    const struct value *a = need_tensor(b, &arg[0], "input"),
                       *like = need_tensor(b, &arg[1], "other");
    return a && like ? expand_to(b, a, like->shape, like->rank) : NULL;
}

/* ---- axes in another order ------------------------------------------------------------------- */

static const struct value *swapped(struct build *b, const struct value *a, int64_t p, int64_t q)
{
    int64_t axes[GRAPH_MAX_RANK];
    for (uint32_t i = 0; i < a->rank; i++)
        axes[i] = (int64_t)i == p ? q : (int64_t)i == q ? p : (int64_t)i;
    return permute_to(b, a, axes);
}

VALUE_BUILDER(build_permute)
{
    const struct value *a = need_tensor(b, &arg[0], "input");
    struct attr axes;
    if (!a || !need_axes(b, &arg[1], a->rank, &axes))
        return NULL;
    if (axes.n != a->rank)
        return refuse_value(b, "permute names %zu of %u axes", axes.n, a->rank);
    for (size_t i = 0; i < axes.n; i++)
        for (size_t k = 0; k < i; k++)
            if (axes.ints[i] == axes.ints[k])
                return refuse_value(b, "permute names axis %lld twice", (long long)axes.ints[i]);
    return permute_to(b, a, axes.ints);
}

VALUE_BUILDER(build_transpose)
{
    const struct value *a = need_tensor(b, &arg[0], "input");
    int64_t p, q;
    return a && need_axis(b, &arg[1], a->rank, &p) && need_axis(b, &arg[2], a->rank, &q)
               ? swapped(b, a, p, q)
               : NULL;
}

VALUE_BUILDER(build_t)
{
    const struct value *a = need_tensor(b, &arg[0], "input");
    if (a && a->rank > 2)
        return refuse_value(b, "t() and .T turn matrices, not tensors of %u axes; use .mT",
                            a->rank);
    return a && a->rank == 2 ? swapped(b, a, 0, 1) : a;
}

VALUE_BUILDER(build_mt)
{
    const struct value *a = need_tensor(b, &arg[0], "input");
    if (a && a->rank < 2)
        return refuse_value(b, ".mT needs a tensor of at least 2 axes");
    return a ? swapped(b, a, (int64_t)a->rank - 2, (int64_t)a->rank - 1) : NULL;
}

VALUE_BUILDER(build_movedim)
{
    const struct value *a = need_tensor(b, &arg[0], "input");
    struct attr from, to;
    int64_t axes[GRAPH_MAX_RANK], next = 0;
    bool moved[GRAPH_MAX_RANK] = {false};
    if (!a || !need_axes(b, &arg[1], a->rank, &from) || !need_axes(b, &arg[2], a->rank, &to))
        return NULL;
    for (uint32_t i = 0; i < a->rank; i++)
        axes[i] = -1;
    for (size_t i = 0; i < from.n && from.n == to.n; i++) {
        if (moved[from.ints[i]] || axes[to.ints[i]] >= 0)
            return refuse_value(b, "movedim names an axis twice");
        moved[from.ints[i]] = true;
        axes[to.ints[i]] = from.ints[i];
    }
    if (from.n != to.n)
        return refuse_value(b, "movedim's source and destination differ in length");
    for (uint32_t i = 0; i < a->rank; i++) {
        if (axes[i] >= 0)
            continue;
        while (moved[next])
            next++;
        axes[i] = next++;
    }
    return permute_to(b, a, axes);
}

VALUE_BUILDER(build_flip)
{
    const struct value *a = need_tensor(b, &arg[0], "input");
    struct attr axes;
    if (!a || !need_axes(b, &arg[1], a->rank, &axes))
        return NULL;
    return axes.n ? make_op(b, OP_FLIP, &a, "dims", &axes, NO_MORE) : a;
}

/* ---- parts of an axis ------------------------------------------------------------------------ */

static bool seems_at_most(struct build *b, const struct dim *low, const struct dim *high)
{
    if (low == high)
        return true;
    if (low->is_number && high->is_number)
        return low->value <= high->value;
    size_t n = pool(b)->nnames;
    int64_t *values = arena_alloc(b->mem, (n + 1) * sizeof *values), l, h;
    uint64_t seed = 12345;
    for (unsigned round = 0; round < SAMPLES + LARGE_SAMPLES; round++) {
        for (size_t i = 0; i < n; i++) {
            seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407U;
            values[i] = round < 8         ? (int64_t)round + 1
                        : round < SAMPLES ? (int64_t)(seed >> 33) % 300 + 1
                                          : (int64_t)(seed >> 33) >> (round - SAMPLES + i) % 31;
            values[i] = MAX(values[i], 1);
        }
        bool known = dim_eval(low, values, &l) && dim_eval(high, values, &h);
        /* large values may overflow */
        if (known ? l > h : round < SAMPLES)
            return false;
    }
    return true;
}

/* In the member `fixed` of a size, constraints have replaced names (graph/dim.h). For example, the
 * constraint "D % 2 == 0" replaces D by 2*(D/2), which is 0 for the value 1. So we compare both the
 * sizes without these replacements and the `fixed` ones. One of the two comparisons must
 * succeed. */
bool size_at_most(struct build *b, const struct dim *low, const struct dim *high)
{
    return seems_at_most(b, low, high) || seems_at_most(b, low->fixed, high->fixed);
}

/* Returns a bound of a slice by Python's rules, or `otherwise` if o is None. A bound that is always
 * negative counts from the end, and becomes at least 0. Any other bound becomes at most `size`. */
static const struct dim *bound(struct build *b, const struct object *o, const struct dim *size,
                               const struct dim *otherwise)
{
    if (obj_is_none(o))
        return otherwise;
    const struct dim *d = need_dim(b, o, "slice"), *zero = number(b, 0);
    if (!d)
        return NULL;
    if (size_at_most(b, d, number(b, -1))) {
        d = dim_add(pool(b), size, d);
        return size_at_most(b, zero, d) ? d : dim_max(pool(b), zero, d);
    }
    return size_at_most(b, d, size) ? d : dim_min(pool(b), d, size);
}

static const struct value *sliced(struct build *b, const struct value *a, uint32_t axis,
                                  const struct object *slice)
{
    const struct dim *size = a->shape[axis], *zero = number(b, 0);
    const struct dim *from = bound(b, &slice->items[0], size, zero),
                     *to = bound(b, &slice->items[1], size, size);
    int64_t step = 1;
    if (!from || !to ||
        (!obj_is_none(&slice->items[2]) &&
         !need_whole(b, &slice->items[2], "the step of a slice", &step)))
        return NULL;
    if (step < 1 || step > INT32_MAX)
        return refuse_value(b, "the step of a slice must be positive");
    const struct dim *n = dim_sub(pool(b), to, from);
    n = size_at_most(b, zero, n) ? n : dim_max(pool(b), zero, n);
    if (step > 1)
        n = dim_div(pool(b), dim_add(pool(b), n, number(b, step - 1)), number(b, step));
    return slice_of(b, a, axis, from, n, step);
}

/* Returns the slice of `a` that holds only the place `at` along one axis. If `at` is always
 * negative, it counts from the end. */
static const struct value *one_of(struct build *b, const struct value *a, uint32_t axis,
                                  const struct dim *at)
{
    const struct dim *size = a->shape[axis];
    if (size_at_most(b, at, number(b, -1)))
        at = dim_add(pool(b), size, at);
    if (!size_at_most(b, number(b, 0), at) ||
        !size_at_most(b, dim_add(pool(b), at, number(b, 1)), size))
        return lacks_value(b, "the index may be out of range: this axis has the size %s",
                           size->text);
    return slice_of(b, a, axis, at, number(b, 1), 1);
}

VALUE_BUILDER(build_narrow)
{
    const struct value *a = need_tensor(b, &arg[0], "input");
    const struct dim *start, *length;
    int64_t axis;
    if (!a || !need_axis(b, &arg[1], a->rank, &axis) || !(start = need_dim(b, &arg[2], "start")) ||
        !(length = need_dim(b, &arg[3], "length")))
        return NULL;
    if (!a->rank)
        return refuse_value(b, "narrow needs a tensor with axes");
    if (size_at_most(b, start, number(b, -1)))
        start = dim_add(pool(b), a->shape[axis], start);
    if (!size_at_most(b, number(b, 0), start) || !size_at_most(b, number(b, 0), length) ||
        !size_at_most(b, dim_add(pool(b), start, length), a->shape[axis]))
        return lacks_value(b, "narrow may reach beyond the axis, whose size is %s",
                           a->shape[axis]->text);
    return slice_of(b, a, (uint32_t)axis, start, length, 1);
}

const struct value *without_axis(struct build *b, const struct value *a, uint32_t axis)
{
    const struct dim *d[GRAPH_MAX_RANK];
    size_t n = 0;
    for (uint32_t i = 0; a && i < a->rank; i++)
        if (i != axis)
            d[n++] = a->shape[i];
    return reshape_to(b, a, d, n);
}

VALUE_BUILDER(build_select)
{
    const struct value *a = need_tensor(b, &arg[0], "input");
    const struct dim *at;
    int64_t axis;
    if (!a || !need_axis(b, &arg[1], a->rank, &axis) || !(at = need_dim(b, &arg[2], "index")))
        return NULL;
    if (!a->rank)
        return refuse_value(b, "select needs a tensor with axes");
    return without_axis(b, one_of(b, a, (uint32_t)axis, at), (uint32_t)axis);
}

static bool pieces(struct build *b, const struct value *a, uint32_t axis,
                   const struct dim *const *sizes, size_t n, struct object *out)
{
    struct object all[MAX_PIECES];
    const struct dim *at = number(b, 0);
    for (size_t i = 0; i < n; i++) {
        if (!obj_set(b, slice_of(b, a, axis, at, sizes[i], 1), &all[i]))
            return false;
        at = dim_add(pool(b), at, sizes[i]);
    }
    if (!dim_same(at, a->shape[axis]))
        return refuse(b, "the pieces have %s elements together, and the axis has %s", at->text,
                      a->shape[axis]->text);
    *out = obj_tuple(b, all, n);
    return true;
}

static const struct value *to_split(struct build *b, const struct object *input,
                                    const struct object *dim, int64_t *axis)
{
    const struct value *a = need_tensor(b, input, "input");
    if (a && !a->rank)
        return refuse_value(b, "a value without axes cannot be split");
    return a && need_axis(b, dim, a->rank, axis) ? a : NULL;
}

OBJECT_BUILDER(build_unbind)
{
    struct object all[MAX_PIECES];
    int64_t axis;
    const struct value *a = to_split(b, &arg[0], &arg[1], &axis);
    if (!a)
        return false;
    const struct dim *size = a->shape[axis]->fixed;
    if (!size->is_number)
        return lacks(b, "unbind of an axis of size '%s' gives an unknown number of pieces",
                     a->shape[axis]->text);
    if (size->value < 1 || size->value > MAX_PIECES)
        return refuse(b, "a tensor splits into at least 1 and at most %d pieces", MAX_PIECES);
    for (int64_t i = 0; i < size->value; i++) {
        const struct value *one = slice_of(b, a, (uint32_t)axis, number(b, i), number(b, 1), 1);
        if (!obj_set(b, without_axis(b, one, (uint32_t)axis), &all[i]))
            return false;
    }
    *out = obj_tuple(b, all, (size_t)size->value);
    return true;
}

/* Splits an axis into pieces of `each` elements. The last piece may be smaller. */
static bool equal_pieces(struct build *b, const struct value *a, uint32_t axis,
                         const struct dim *each, struct object *out)
{
    const struct dim *sizes[MAX_PIECES], *size = a->shape[axis]->fixed, *one = each->fixed;
    if (one->is_number && one->value < 1)
        return refuse(b, "a piece must have at least one element");
    const struct dim *count = dim_div(pool(b), size, one);
    bool exact = dim_same(dim_mul(pool(b), count, one), size);
    if (!count->is_number || (!exact && !(size->is_number && one->is_number)))
        return lacks(
            b, "'%s' is not known to be a multiple of '%s', so the pieces have no certain sizes",
            a->shape[axis]->text, each->text);
    size_t n = (size_t)count->value + !exact;
    if (n < 1 || n > MAX_PIECES)
        return refuse(b, "a tensor splits into at least 1 and at most %d pieces", MAX_PIECES);
    for (size_t i = 0; i < n; i++)
        sizes[i] = each;
    if (!exact)
        sizes[n - 1] = dim_mod(pool(b), size, one);
    return pieces(b, a, axis, sizes, n, out);
}

OBJECT_BUILDER(build_chunk)
{
    int64_t axis, n;
    const struct value *a = to_split(b, &arg[0], &arg[2], &axis);
    if (!a || !need_whole(b, &arg[1], "chunks", &n))
        return false;
    if (n < 1 || n > MAX_PIECES)
        return refuse(b, "a tensor splits into at least 1 and at most %d chunks", MAX_PIECES);
    const struct dim *size = a->shape[axis], *known = size->fixed, *count = number(b, n);
    const struct dim *each = dim_div(pool(b), size, count);
    if (dim_is(known, 0))
        return refuse(b, "an axis of size 0 cannot be split");
    if (dim_same(dim_mul(pool(b), each, count), size))
        return equal_pieces(b, a, (uint32_t)axis, each, out);
    if (!known->is_number)
        return lacks(b,
                     "'%s' is not known to be a multiple of %lld, so the chunks have no certain "
                     "sizes; a constraint such as \"C %% 8 == 0\" can say so",
                     size->text, (long long)n);
    each = number(b, known->value / n + 1);
    return equal_pieces(b, a, (uint32_t)axis, each, out);
}

OBJECT_BUILDER(build_split)
{
    int64_t axis;
    const struct value *a = to_split(b, &arg[0], &arg[2], &axis);
    const struct dim *sizes[MAX_PIECES];
    if (!a)
        return false;
    if (arg[1].kind != OBJ_TUPLE) {
        const struct dim *each = need_dim(b, &arg[1], "split_size");
        return each && equal_pieces(b, a, (uint32_t)axis, each, out);
    }
    if (!arg[1].n || arg[1].n > MAX_PIECES)
        return refuse(b, "a tensor splits into at least 1 and at most %d pieces", MAX_PIECES);
    for (size_t i = 0; i < arg[1].n; i++)
        if (!(sizes[i] = need_dim(b, &arg[1].items[i], "sections")))
            return false;
    return pieces(b, a, (uint32_t)axis, sizes, arg[1].n, out);
}

/* F.pad takes pairs (before, after), beginning with the last axis. */
VALUE_BUILDER(build_pad)
{
    const struct value *a = need_tensor(b, &arg[0], "input");
    const struct value *fill =
        obj_is_none(&arg[3]) ? graph_integer(b->g, 0) : need_value(b, &arg[3], "value");
    int64_t before[GRAPH_MAX_RANK] = {0}, after[GRAPH_MAX_RANK] = {0};
    bool any = false;
    if (!a || !fill)
        return NULL;
    if (!obj_is_text(&arg[2], "constant"))
        return lacks_value(b, "pad is supported only with mode='constant'");
    if (arg[1].kind != OBJ_TUPLE || arg[1].n % 2 || arg[1].n / 2 > a->rank)
        return refuse_value(b, "pad needs a number before and one after, for up to %u axes",
                            a->rank);
    for (size_t i = 0; i < arg[1].n; i++) {
        int64_t v, *side = i % 2 ? after : before;
        if (!need_whole(b, &arg[1].items[i], "pad", &v))
            return NULL;
        if (v < 0 || v > INT32_MAX)
            return refuse_value(b, "pad takes no negative numbers; cut with a slice");
        side[a->rank - 1 - i / 2] = v;
        any |= v != 0;
    }
    struct attr from = attr_ints(before, a->rank), to = attr_ints(after, a->rank);
    const struct value *args[] = {a, fill};
    return any ? make_op(b, OP_PAD, args, "before", &from, "after", &to, NO_MORE) : a;
}

/* ---- questions ------------------------------------------------------------------------------- */

OBJECT_BUILDER(build_size)
{
    const struct value *a = need_tensor(b, &arg[0], "input");
    int64_t axis;
    if (!a)
        return false;
    if (obj_is_none(&arg[1])) {
        *out = obj_shape(b, a);
        return true;
    }
    if (!need_axis(b, &arg[1], a->rank, &axis))
        return false;
    if (!a->rank)
        return refuse(b, "a value without axes has no axis");
    *out = obj_int(a->shape[axis]);
    return true;
}

OBJECT_BUILDER(build_dim)
{
    const struct value *a = need_tensor(b, &arg[0], "input");
    *out = a ? obj_number(b, a->rank) : obj_none();
    return a != NULL;
}

OBJECT_BUILDER(build_numel)
{
    const struct value *a = need_tensor(b, &arg[0], "input");
    *out = a ? obj_int(elements(b, a)) : obj_none();
    return a != NULL;
}

/* ---- x[index] -------------------------------------------------------------------------------- */

const struct value *index_source(const struct value *v)
{
    while (v->op == OP_CAST && v->dtype != DT_BOOL && !dtype_is_float(v->dtype) &&
           !dtype_is_float(v->args[0]->dtype) && v->args[0]->dtype != DT_BOOL &&
           dtype_bytes(v->dtype) >= dtype_bytes(v->args[0]->dtype))
        v = v->args[0];
    return v;
}

struct indexing {
    const struct value *x;
    uint32_t axis;                               /* next axis of x */
    const struct dim *shape[2 * GRAPH_MAX_RANK]; /* of the result so far */
    size_t n;
    bool gathered; /* a tensor has indexed an axis */
};

static bool keep_axis(struct build *b, struct indexing *i)
{
    if (i->n == GRAPH_MAX_RANK)
        return refuse(b, "a tensor has at most %d axes", GRAPH_MAX_RANK);
    i->shape[i->n++] = i->x->shape[i->axis++];
    return true;
}

/* Handles `index`, a tensor of integers in the index. In the result, its axes replace the axis that
 * it indexes. */
static bool gather(struct build *b, struct indexing *i, const struct value *index)
{
    if (i->gathered)
        return lacks(b, "an index with several tensors is not supported, only with one");
    if (index->weak || dtype_is_float(index->dtype) || index->dtype == DT_BOOL)
        return refuse(b, "an index must hold integers, not %s", dtype_name(index->dtype));
    struct attr dim = attr_axis(i->axis);
    const struct value *args[] = {i->x, index_source(index)};
    i->gathered = true;
    uint32_t n = index->rank;
    if (!(i->x = make_op(b, OP_INDEX_SELECT, args, "dim", &dim, NO_MORE)))
        return false;
    for (uint32_t k = 0; k < n; k++)
        if (!keep_axis(b, i))
            return false;
    return true;
}

static bool index_one(struct build *b, struct indexing *i, const struct object *o)
{
    if (o->kind == OBJ_NONE) {
        if (i->n == GRAPH_MAX_RANK)
            return refuse(b, "a tensor has at most %d axes", GRAPH_MAX_RANK);
        i->shape[i->n++] = number(b, 1);
        return true;
    }
    if (i->axis >= i->x->rank)
        return refuse(b, "the index names more axes than there are");
    if (o->kind == OBJ_VALUE)
        return gather(b, i, o->value);
    if (o->kind == OBJ_SLICE)
        return (i->x = sliced(b, i->x, i->axis, o)) && keep_axis(b, i);
    if (o->kind != OBJ_INT)
        return refuse(b, "%s cannot be an index", obj_what(o));
    i->x = one_of(b, i->x, i->axis++, o->dim);
    return i->x != NULL;
}

const struct value *build_index(struct build *b, const struct value *x, const struct object *index)
{
    const struct object *all = index->kind == OBJ_TUPLE ? index->items : index;
    size_t n = index->kind == OBJ_TUPLE ? index->n : 1, named = 0, dots = 0;
    bool integers = false, tensors = false;
    struct indexing i = {.x = x};
    for (size_t k = 0; k < n; k++) {
        integers |= all[k].kind == OBJ_INT;
        tensors |= all[k].kind == OBJ_VALUE;
        named += all[k].kind != OBJ_NONE && all[k].kind != OBJ_DOTS;
        dots += all[k].kind == OBJ_DOTS;
    }
    if (dots > 1 || named > x->rank)
        return refuse_value(b, dots > 1 ? "an index may hold '...' only once"
                                        : "the index names more axes than there are");
    if (integers && tensors) /* PyTorch would move axes to the front */
        return lacks_value(b, "an index with a tensor and integers is not supported; index twice");
    for (size_t k = 0; k < n; k++) {
        size_t left = all[k].kind == OBJ_DOTS ? x->rank - named : 0;
        for (; left; left--)
            if (!keep_axis(b, &i))
                return NULL;
        if (all[k].kind != OBJ_DOTS && !index_one(b, &i, &all[k]))
            return NULL;
    }
    while (i.axis < i.x->rank)
        if (!keep_axis(b, &i))
            return NULL;
    return reshape_to(b, i.x, i.shape, i.n);
}
