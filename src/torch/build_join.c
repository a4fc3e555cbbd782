/* build_join.c - builds functions that join, repeat and rearrange elements. */
#include <math.h>

#include "base/util.h"
#include "torch/build.h"

static struct dim_pool *pool(struct build *b)
{
    return &b->g->dims;
}

/* ---- joins ----------------------------------------------------------------------------------- */

static bool need_tensors(struct build *b, const struct object *o, const char *of)
{
    if (o->kind != OBJ_TUPLE || !o->n)
        return refuse(b, "%s takes a list of at least one tensor, not %s", of,
                      o->kind == OBJ_TUPLE ? "an empty one" : obj_what(o));
    for (size_t i = 0; i < o->n; i++)
        if (!need_tensor(b, &o->items[i], "tensors"))
            return false;
    return true;
}

static const struct value *cat2(struct build *b, const struct value *a, const struct value *c,
                                int64_t axis)
{
    struct attr dim = attr_axis(axis);
    const struct value *args[] = {a, c};
    return a && c ? make_op(b, OP_CAT, args, "dim", &dim, NO_MORE) : NULL;
}

VALUE_BUILDER(build_cat)
{
    int64_t axis;
    if (!need_tensors(b, &arg[0], "cat"))
        return NULL;
    const struct value *y = arg[0].items[0].value;
    if (!y->rank)
        return refuse_value(b, "cat needs tensors with axes; use stack");
    if (!need_axis(b, &arg[1], y->rank, &axis))
        return NULL;
    for (size_t i = 1; y && i < arg[0].n; i++)
        y = cat2(b, y, arg[0].items[i].value, axis);
    return y;
}

/* Gives each tensor a new axis of size 1, then joins them along it. */
VALUE_BUILDER(build_stack)
{
    const struct value *y = NULL;
    int64_t axis;
    if (!need_tensors(b, &arg[0], "stack"))
        return NULL;
    const struct value *first = arg[0].items[0].value;
    if (!need_axis(b, &arg[1], first->rank + 1, &axis))
        return NULL;
    for (size_t i = 0; i < arg[0].n; i++) {
        const struct value *x = arg[0].items[i].value;
        if (x->rank != first->rank)
            return refuse_value(b, "stack needs tensors of one shape, not of %u and %u axes",
                                first->rank, x->rank);
        const struct object unsqueeze[] = {arg[0].items[i], obj_number(b, axis)};
        x = build_unsqueeze(b, OP_RESHAPE, unsqueeze);
        y = i ? cat2(b, y, x, axis) : x;
        if (!y)
            return NULL;
    }
    return y;
}

/* Moves the elements of one axis towards its end by `shift`. Elements that pass the end move to the
 * beginning. */
static const struct value *rolled(struct build *b, const struct value *a, int64_t axis,
                                  const struct dim *shift)
{
    if (!a)
        return NULL;
    const struct dim *zero = dim_number(pool(b), 0), *size = a->shape[axis];
    bool back = size_at_most(b, shift, zero);
    if (!back && !size_at_most(b, zero, shift))
        return lacks_value(b, "it is not known whether the shift '%s' is positive", shift->text);
    const struct dim *by = back ? dim_sub(pool(b), zero, shift) : shift;
    if (!size_at_most(b, by, size))
        by = dim_mod(pool(b), by, size);
    if (dim_is(by, 0) || dim_same(by, size))
        return a;
    const struct dim *rest = dim_sub(pool(b), size, by), *at = back ? by : rest;
    return cat2(b, slice_of(b, a, (uint32_t)axis, at, back ? rest : by, 1),
                slice_of(b, a, (uint32_t)axis, zero, at, 1), axis);
}

/* Parameters: input shifts dims. Without dims, rolls the flattened tensor. */
VALUE_BUILDER(build_roll)
{
    const struct value *a = need_tensor(b, &arg[0], "input");
    const struct dim *shift[GRAPH_MAX_RANK];
    size_t n, axes = arg[2].kind == OBJ_TUPLE ? arg[2].n : 1;
    int64_t axis;
    if (!a || !need_dims(b, &arg[1], "shifts", shift, &n))
        return NULL;
    if (obj_is_none(&arg[2]) || !axes) {
        const struct dim *all = dim_product(pool(b), a->shape, a->rank);
        if (n != 1)
            return refuse_value(b, "roll without dims takes one shift");
        return reshape_to(b, rolled(b, reshape_to(b, a, &all, 1), 0, shift[0]), a->shape, a->rank);
    }
    if (axes != n)
        return refuse_value(b, "roll has %zu shifts for %zu axes", n, axes);
    for (size_t i = 0; a && i < n; i++) {
        if (!need_axis(b, arg[2].kind == OBJ_TUPLE ? &arg[2].items[i] : &arg[2], a->rank, &axis))
            return NULL;
        a = a->rank ? rolled(b, a, axis, shift[i]) : a;
    }
    return a;
}

/* ---- repeats --------------------------------------------------------------------------------- */

/* Repeats `a` along one axis. With `each`, repeats each element `times` times before the next one.
 * Otherwise repeats the axis as a whole. */
static const struct value *repeated(struct build *b, const struct value *a, int64_t axis,
                                    const struct dim *times, bool each)
{
    const struct dim *with[GRAPH_MAX_RANK + 1], *wide[GRAPH_MAX_RANK + 1],
        *shape[GRAPH_MAX_RANK + 1];
    uint32_t n = 0;
    if (!a || dim_is(times, 1))
        return a;
    if (times->is_number && times->value < 0)
        return refuse_value(b, "a tensor cannot be repeated %lld times", (long long)times->value);
    for (uint32_t i = 0; i < a->rank; i++) {
        bool here = (int64_t)i == axis;
        shape[i] = here ? dim_mul(pool(b), a->shape[i], times) : a->shape[i];
        if (here && !each) {
            with[n] = dim_number(pool(b), 1);
            wide[n++] = times;
        }
        with[n] = wide[n] = a->shape[i];
        n++;
        if (here && each) {
            with[n] = dim_number(pool(b), 1);
            wide[n++] = times;
        }
    }
    const struct value *v = reshape_to(b, a, with, n);
    v = v ? expand_to(b, v, wide, n) : NULL;
    return v ? reshape_to(b, v, shape, a->rank) : NULL;
}

/* Parameters: input repeats. */
VALUE_BUILDER(build_repeat)
{
    const struct value *a = need_tensor(b, &arg[0], "input");
    const struct dim *times[GRAPH_MAX_RANK], *shape[GRAPH_MAX_RANK];
    size_t n;
    if (!a || !need_dims(b, &arg[1], "repeats", times, &n))
        return NULL;
    if (n < a->rank)
        return refuse_value(b, "repeat names %zu axes, but the tensor has %u", n, a->rank);
    for (size_t i = 0; i < n; i++)
        shape[i] = i + a->rank < n ? dim_number(pool(b), 1) : a->shape[i + a->rank - n];
    a = reshape_to(b, a, shape, n);
    for (size_t i = 0; i < n; i++)
        a = repeated(b, a, (int64_t)i, times[i], false);
    return a;
}

/* Parameters: input repeats dim. */
VALUE_BUILDER(build_repeat_interleave)
{
    const struct value *a = need_tensor(b, &arg[0], "input");
    const struct dim *times;
    int64_t axis = 0;
    if (!a)
        return NULL;
    if (arg[1].kind == OBJ_VALUE)
        return lacks_value(b, "repeat_interleave is supported only with one number for all "
                              "elements, not with a tensor");
    if (!(times = need_dim(b, &arg[1], "repeats")))
        return NULL;
    if (obj_is_none(&arg[2]) || !a->rank) {
        const struct dim *all = dim_product(pool(b), a->shape, a->rank);
        a = reshape_to(b, a, &all, 1);
    } else if (!need_axis(b, &arg[2], a->rank, &axis)) {
        return NULL;
    }
    return repeated(b, a, axis, times, true);
}

/* Sets *out to the number of times that interpolate repeats each element of an axis. `is` is the
 * size of this axis. The number comes from the new size, or else from scale_factor. */
static bool factor_of(struct build *b, const struct object *size, const struct object *scale,
                      const struct dim *is, const struct dim **out)
{
    double v;
    if (!obj_is_none(size)) {
        const struct dim *to = need_dim(b, size, "size");
        *out = to ? dim_div(pool(b), to->fixed, is->fixed) : NULL;
        if (to && (!(*out)->is_number || !dim_same(dim_mul(pool(b), *out, is), to)))
            return lacks(b, "interpolate: '%s' is not known to be a fixed multiple of '%s'",
                         to->text, is->text);
    } else {
        if (!obj_real(scale, &v))
            return refuse(b, "'scale_factor' must be a number that is known, not %s",
                          obj_what(scale));
        if (!(v >= 1 && v <= 65536) || v != floor(v))
            return lacks(b, "interpolate is supported only with whole factors, not with %g", v);
        *out = dim_number(pool(b), (int64_t)v);
    }
    if (!*out || (*out)->value < 1)
        return refuse(b, "interpolate: the factor must be at least 1");
    /* For the element at place i of the output, PyTorch takes the input at place i * (1/factor),
     * and computes 1/factor in float32. If this float is below the exact 1/factor, the first copy
     * of an element can become a copy of the element before. */
    v = (double)(*out)->value;
    return (double)(float)(1 / v) >= 1 / v ||
           lacks(b, "interpolate: PyTorch rounds the factor %g; its result is not supported", v);
}

/* Parameters: input size scale_factor mode align_corners recompute_scale_factor antialias. */
VALUE_BUILDER(build_interpolate)
{
    const struct value *a = need_tensor(b, &arg[0], "input");
    const struct object *given = obj_is_none(&arg[1]) ? &arg[2] : &arg[1];
    if (!a)
        return NULL;
    if (!obj_is_text(&arg[3], "nearest") && !obj_is_text(&arg[3], "nearest-exact"))
        return lacks_value(b, "interpolate is supported only with mode='nearest'");
    if (!obj_is_none(&arg[4]) || !obj_is(&arg[6], 0))
        return refuse_value(b, "align_corners and antialias have no meaning for mode='nearest'");
    if (obj_is_none(&arg[1]) == obj_is_none(&arg[2]))
        return refuse_value(b, "interpolate needs either 'size' or 'scale_factor'");
    if (a->rank < 3 || a->rank > 5)
        return refuse_value(b, "interpolate takes tensors of 3 to 5 axes, not %u", a->rank);
    if (given->kind == OBJ_TUPLE && given->n != a->rank - 2)
        return refuse_value(b, "interpolate has %zu numbers for %u axes", given->n, a->rank - 2);
    for (uint32_t i = 2; a && i < a->rank; i++) {
        const struct object *one = given->kind == OBJ_TUPLE ? &given->items[i - 2] : given;
        const struct object none = obj_none();
        const struct dim *times;
        if (!factor_of(b, given == &arg[1] ? one : &none, one, a->shape[i], &times))
            return NULL;
        a = repeated(b, a, i, times, true);
    }
    return a;
}

/* ---- pixels ---------------------------------------------------------------------------------- */

/* Reads the input [..., C, H, W] and the factor of pixel_shuffle and pixel_unshuffle. */
static const struct value *pixels(struct build *b, const struct object *arg, const char *of,
                                  const char *factor, const struct dim **by)
{
    const struct value *a = need_tensor(b, &arg[0], "input");
    int64_t v;
    if (!a || !need_whole(b, &arg[1], factor, &v))
        return NULL;
    if (v < 1 || v > 65536)
        return refuse_value(b, "'%s' must be at least 1 and at most 65536", factor);
    if (a->rank < 3 || a->rank + 2 > GRAPH_MAX_RANK)
        return refuse_value(b, "%s takes tensors of 3 to %d axes, not %u", of, GRAPH_MAX_RANK - 2,
                            a->rank);
    *by = dim_number(pool(b), v);
    return a;
}

static const struct dim *exact_part(struct build *b, const char *of, const struct dim *size,
                                    const struct dim *by)
{
    const struct dim *part = dim_div(pool(b), size, by);
    if (dim_same(dim_mul(pool(b), part, by), size))
        return part;
    lacks(b,
          "%s: '%s' is not known to be a multiple of %s; a constraint such as \"C %% 8 == 0\" can "
          "say so",
          of, size->text, by->text);
    return NULL;
}

/* Splits the last three axes into five parts, orders the parts, and joins them to three axes. */
static const struct value *rearranged(struct build *b, const struct value *a,
                                      const struct dim *const parts[5], const int64_t order[5],
                                      const struct dim *const made[3])
{
    const struct dim *split[GRAPH_MAX_RANK], *shape[GRAPH_MAX_RANK];
    int64_t axes[GRAPH_MAX_RANK];
    uint32_t n = a->rank - 3;
    for (uint32_t i = 0; i < n + 5; i++) {
        axes[i] = i < n ? i : n + order[i - n];
        split[i] = i < n ? a->shape[i] : parts[i - n];
        shape[i] = i < n ? a->shape[i] : made[MIN(i - n, 2)];
    }
    a = reshape_to(b, a, split, n + 5);
    a = a ? permute_to(b, a, axes) : NULL;
    return a ? reshape_to(b, a, shape, n + 3) : NULL;
}

/* [..., C*r*r, H, W] becomes [..., C, H*r, W*r]. */
VALUE_BUILDER(build_pixel_shuffle)
{
    const struct dim *r;
    const struct value *a = pixels(b, arg, "pixel_shuffle", "upscale_factor", &r);
    if (!a)
        return NULL;
    uint32_t n = a->rank - 3;
    const struct dim *channels =
        exact_part(b, "pixel_shuffle", a->shape[n], dim_mul(pool(b), r, r));
    if (!channels)
        return NULL;
    const struct dim *h = a->shape[n + 1], *w = a->shape[n + 2];
    const struct dim *parts[] = {channels, r, r, h, w},
                     *made[] = {channels, dim_mul(pool(b), h, r), dim_mul(pool(b), w, r)};
    const int64_t order[] = {0, 3, 1, 4, 2}; /* C H r W r */
    return rearranged(b, a, parts, order, made);
}

/* [..., C, H*r, W*r] becomes [..., C*r*r, H, W]. */
VALUE_BUILDER(build_pixel_unshuffle)
{
    const struct dim *r;
    const struct value *a = pixels(b, arg, "pixel_unshuffle", "downscale_factor", &r);
    if (!a)
        return NULL;
    uint32_t n = a->rank - 3;
    const struct dim *h = exact_part(b, "pixel_unshuffle", a->shape[n + 1], r),
                     *w = exact_part(b, "pixel_unshuffle", a->shape[n + 2], r);
    if (!h || !w)
        return NULL;
    const struct dim *channels = a->shape[n], *parts[] = {channels, h, r, w, r},
                     *made[] = {dim_mul(pool(b), channels, dim_mul(pool(b), r, r)), h, w};
    const int64_t order[] = {0, 2, 4, 1, 3}; /* C r r H W */
    return rearranged(b, a, parts, order, made);
}

/* ---- others ---------------------------------------------------------------------------------- */

VALUE_BUILDER(build_outer)
{
    const struct value *a = need_tensor(b, &arg[0], "input"), *c = need_tensor(b, &arg[1], "vec2");
    if (!a || !c)
        return NULL;
    if (a->rank != 1 || c->rank != 1)
        return refuse_value(b, "outer takes vectors");
    const struct dim *column[] = {a->shape[0], dim_number(pool(b), 1)};
    return op2(b, OP_MUL, reshape_to(b, a, column, 2), c);
}
