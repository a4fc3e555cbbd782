/* build_reduce.c - builds functions along axes: reductions, softmax and its family, scans. */
#include <math.h>

#include "base/util.h"
#include "torch/build.h"

static const struct value *reduced(struct build *b, enum graph_op op, const struct value *a,
                                   const struct object *dim, const struct object *keepdim)
{
    struct attr axes, keep;
    bool yes;
    if (!a || !need_axes(b, dim, a->rank, &axes) || !need_bool(b, keepdim, "keepdim", &yes))
        return NULL;
    keep = attr_bool(yes);
    return make_op(b, op, &a, "dim", &axes, "keepdim", &keep, NO_MORE);
}

static const struct value *input_as(struct build *b, const struct object *input,
                                    const struct object *dtype)
{
    const struct value *a = need_tensor(b, input, "input");
    enum dtype t;
    if (!a || obj_is_none(dtype))
        return a;
    if (!need_dtype(b, dtype, "dtype", &t))
        return NULL;
    if (dtype_is_float(a->dtype) && !dtype_is_float(t))
        return refuse_value(b,
                            "dtype=%s would cut floats to integers first; cast the input if "
                            "that is meant",
                            dtype_name(t));
    return cast_to(b, a, t);
}

VALUE_BUILDER(build_reduce)
{
    return reduced(b, op, need_tensor(b, &arg[0], "input"), &arg[1], &arg[2]);
}

VALUE_BUILDER(build_reduce_as)
{
    return reduced(b, op, input_as(b, &arg[0], &arg[3]), &arg[1], &arg[2]);
}

static const struct value *along(struct build *b, enum graph_op op, const struct value *a,
                                 const struct object *dim)
{
    int64_t axis;
    if (!a)
        return NULL;
    if (obj_is_none(dim))
        return refuse_value(b, "%s needs an axis: dim=", op_row(op)->name);
    if (!a->rank)
        return refuse_value(b, "%s needs a tensor with axes", op_row(op)->name);
    if (!need_axis(b, dim, a->rank, &axis))
        return NULL;
    struct attr axes = attr_axis(axis);
    return make_op(b, op, &a, "dim", &axes, NO_MORE);
}

VALUE_BUILDER(build_along)
{
    return along(b, op, input_as(b, &arg[0], &arg[2]), &arg[1]);
}

/* Parameters of var and std: input dim unbiased keepdim correction. x.var(False) leaves out `dim`
 * and gives `unbiased`. */
VALUE_BUILDER(build_spread)
{
    const struct value *a = need_tensor(b, &arg[0], "input");
    bool flag_first = arg[1].kind == OBJ_BOOL, unbiased = true, yes = false;
    const struct object none = obj_none();
    struct attr axes;
    int64_t correction;
    if (!a || !need_axes(b, flag_first ? &none : &arg[1], a->rank, &axes) ||
        !need_bool(b, flag_first ? &arg[1] : &arg[2], "unbiased", &unbiased) ||
        !need_bool(b, &arg[3], "keepdim", &yes))
        return NULL;
    correction = unbiased;
    if (!obj_is_none(&arg[4]) && !need_whole(b, &arg[4], "correction", &correction))
        return NULL;
    struct attr keep = attr_bool(yes), less = attr_int(correction);
    return make_op(b, op, &a, "dim", &axes, "keepdim", &keep, "correction", &less, NO_MORE);
}

/* ---- norms of vectors ------------------------------------------------------------------------ */

static const struct value *norm_of(struct build *b, const struct value *a, double p,
                                   const struct object *dim, const struct object *keepdim)
{
    struct attr axes, keep, order = attr_real(p);
    bool yes;
    if (!a)
        return NULL;
    if (!dtype_is_float(a->dtype))
        return refuse_value(b, "a norm takes floats, not %s", dtype_name(a->dtype));
    if (p == 1)
        return reduced(b, OP_SUM, op1(b, OP_ABS, a), dim, keepdim);
    if (isinf(p))
        return reduced(b, p > 0 ? OP_AMAX : OP_AMIN, op1(b, OP_ABS, a), dim, keepdim);
    if (!(p > 0))
        return lacks_value(b, "a norm of the order %g is not supported", p);
    if (!need_axes(b, dim, a->rank, &axes) || !need_bool(b, keepdim, "keepdim", &yes))
        return NULL;
    keep = attr_bool(yes);
    return make_op(b, OP_NORM, &a, "p", &order, "dim", &axes, "keepdim", &keep, NO_MORE);
}

static bool order_of(struct build *b, const struct object *o, double *out)
{
    *out = 2;
    return obj_is_none(o) || obj_is_text(o, "fro") || obj_real(o, out) ||
           refuse(b, "the order of a norm must be a number, 'fro' or torch.inf");
}

VALUE_BUILDER(build_norm)
{
    double p;
    return order_of(b, &arg[1], &p) ? norm_of(b, input_as(b, &arg[0], &arg[4]), p, &arg[2], &arg[3])
                                    : NULL;
}

VALUE_BUILDER(build_vector_norm)
{
    return build_norm(b, op, arg);
}

/* If no order is given, or 'fro', linalg.norm takes the 2-norm over all named axes. With another
 * order, it is a norm of vectors if it runs along one axis, or if the tensor is a vector. Otherwise
 * it is a norm of matrices, which is not supported. */
VALUE_BUILDER(build_linalg_norm)
{
    const struct value *a = need_tensor(b, &arg[0], "A");
    bool ordered = !obj_is_none(&arg[1]) && !obj_is_text(&arg[1], "fro");
    bool one_axis = arg[2].kind == OBJ_INT || (arg[2].kind == OBJ_TUPLE && arg[2].n == 1);
    if (a && ordered && !one_axis && !(a->rank == 1 && obj_is_none(&arg[2])))
        return lacks_value(
            b, "norms of matrices are not supported; vector_norm takes the norm over all axes");
    return a ? build_norm(b, op, arg) : NULL;
}

/* ---- others ---------------------------------------------------------------------------------- */

VALUE_BUILDER(build_count_nonzero)
{
    const struct value *a = need_tensor(b, &arg[0], "input");
    const struct object keep = obj_bool(false);
    return a ? reduced(b, OP_SUM, op2(b, OP_NE, a, graph_integer(b->g, 0)), &arg[1], &keep) : NULL;
}

/* Reduces the last `axes` axes to one value. Supports only pooling with an output size of 1. */
static const struct value *pooled(struct build *b, enum graph_op op, const struct object *arg,
                                  size_t axes)
{
    const struct object *size = &arg[1], keep = obj_bool(true);
    bool one = obj_is(size, 1);
    if (size->kind == OBJ_TUPLE) {
        one = size->n == axes;
        for (size_t i = 0; i < size->n; i++)
            one = one && obj_is(&size->items[i], 1);
    }
    const struct object last[] = {obj_number(b, -2), obj_number(b, -1)};
    const struct object dims = obj_tuple(b, last + 2 - axes, axes);
    return one ? reduced(b, op, need_tensor(b, &arg[0], "input"), &dims, &keep)
               : lacks_value(b, "adaptive pooling is supported only with an output_size of 1");
}

VALUE_BUILDER(build_pool1d)
{
    return pooled(b, op, arg, 1);
}

VALUE_BUILDER(build_pool2d)
{
    return pooled(b, op, arg, 2);
}

/* ---- values and indices ---------------------------------------------------------------------- */

static bool pair_of(struct build *b, struct object values, struct object indices,
                    struct object *out)
{
    const struct object both[] = {values, indices};
    *out = obj_tuple(b, both, 2);
    out->pair = true;
    return true;
}

/* Builds max or min: over all elements, with another tensor, or along an axis. Along an axis, the
 * result is a pair of values and indices. */
static bool extreme(struct build *b, const struct object *arg, enum graph_op all,
                    enum graph_op where, enum graph_op two, struct object *out)
{
    const struct value *a = need_tensor(b, &arg[0], "input");
    if (!a)
        return false;
    const struct object *other = arg[1].kind == OBJ_VALUE ? &arg[1] : &arg[3];
    if (!obj_is_none(other))
        return obj_set(b, op2(b, two, a, need_tensor(b, other, "other")), out);
    if (obj_is_none(&arg[1]))
        return obj_set(b, reduced(b, all, a, &arg[1], &arg[2]), out);
    if (arg[1].kind != OBJ_INT)
        return refuse(b, "max and min take a tensor or one axis, not %s", obj_what(&arg[1]));
    struct object values, indices;
    return obj_set(b, reduced(b, all, a, &arg[1], &arg[2]), &values) &&
           obj_set(b, reduced(b, where, a, &arg[1], &arg[2]), &indices) &&
           pair_of(b, values, indices, out);
}

OBJECT_BUILDER(build_max)
{
    return extreme(b, arg, OP_AMAX, OP_ARGMAX, OP_MAXIMUM, out);
}

OBJECT_BUILDER(build_min)
{
    return extreme(b, arg, OP_AMIN, OP_ARGMIN, OP_MINIMUM, out);
}

static bool running_extreme(struct build *b, enum graph_op op, const struct object *arg,
                            struct object *out)
{
    struct object values,
        indices = {.kind = OBJ_MISSING, .text = "the tensor of indices of cummax and cummin"};
    return obj_set(b, along(b, op, need_tensor(b, &arg[0], "input"), &arg[1]), &values) &&
           pair_of(b, values, indices, out);
}

OBJECT_BUILDER(build_cummax)
{
    return running_extreme(b, OP_CUMMAX, arg, out);
}

OBJECT_BUILDER(build_cummin)
{
    return running_extreme(b, OP_CUMMIN, arg, out);
}
