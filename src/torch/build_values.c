/* build_values.c - builders of elementwise functions, casts, and losses of a difference. */
#include <string.h>

#include "base/util.h"
#include "torch/build.h"

VALUE_BUILDER(build_elementwise)
{
    const struct op_param *params;
    const struct value *args[GRAPH_MAX_ARGS] = {NULL};
    uint32_t n = op_args(op, &params);
    for (uint32_t i = 0; i < n; i++)
        if (!(args[i] = need_value(b, &arg[i], params[i].name)))
            return NULL;
    return make_op(b, op, args, NO_MORE);
}

/* Returns factor * v, or v itself if the factor is 1. */
static const struct value *scaled(struct build *b, const struct object *factor,
                                  const struct value *v)
{
    return obj_is(factor, 1) ? v : op2(b, OP_MUL, need_value(b, factor, "alpha"), v);
}

VALUE_BUILDER(build_scaled)
{
    const struct value *a = need_value(b, &arg[0], "input"), *c = need_value(b, &arg[1], "other");
    return a && c ? op2(b, op, a, scaled(b, &arg[2], c)) : NULL;
}

VALUE_BUILDER(build_div)
{
    const struct value *a = need_value(b, &arg[0], "input"), *c = need_value(b, &arg[1], "other");
    if (!a || !c)
        return NULL;
    if (obj_is_none(&arg[2]))
        return op2(b, OP_DIV, a, c);
    if (obj_is_text(&arg[2], "floor"))
        return op2(b, OP_FLOOR_DIV, a, c);
    if (!obj_is_text(&arg[2], "trunc"))
        return refuse_value(b, "rounding_mode must be None, 'floor' or 'trunc'");
    const struct value *q = op2(b, OP_DIV, a, c);
    if (q && !dtype_is_float(a->dtype) && !dtype_is_float(c->dtype))
        return lacks_value(b, "division of integers with rounding_mode='trunc' is not known");
    return op1(b, OP_TRUNC, q);
}

/* addcmul: input + value * tensor1 * tensor2; addcdiv divides by tensor2. */
VALUE_BUILDER(build_addc)
{
    const struct value *a = need_value(b, &arg[0], "input"), *c = need_value(b, &arg[1], "tensor1"),
                       *d = need_value(b, &arg[2], "tensor2");
    return a && c && d ? op2(b, OP_ADD, a, op2(b, op, scaled(b, &arg[3], c), d)) : NULL;
}

VALUE_BUILDER(build_clamp)
{
    bool low = !obj_is_none(&arg[1]), high = !obj_is_none(&arg[2]);
    const struct value *a = need_value(b, &arg[0], "input"),
                       *min = low ? need_value(b, &arg[1], "min") : NULL,
                       *max = high ? need_value(b, &arg[2], "max") : NULL;
    if (!low && !high)
        return refuse_value(b, "clamp needs 'min', 'max' or both");
    return !high  ? op2(b, OP_CLAMP_MIN, a, min)
           : !low ? op2(b, OP_CLAMP_MAX, a, max)
                  : op3(b, OP_CLAMP, a, min, max);
}

VALUE_BUILDER(build_relu6)
{
    return op3(b, OP_CLAMP, need_value(b, &arg[0], "input"), graph_integer(b->g, 0),
               graph_integer(b->g, 6));
}

VALUE_BUILDER(build_gelu)
{
    bool tanh = obj_is_text(&arg[1], "tanh");
    if (!tanh && !obj_is_text(&arg[1], "none"))
        return refuse_value(b, "gelu's approximate must be 'none' or 'tanh'");
    return op1(b, tanh ? OP_GELU_TANH : OP_GELU, need_value(b, &arg[0], "input"));
}

VALUE_BUILDER(build_glu)
{
    const struct object chunk[] = {arg[0], obj_number(b, 2), arg[1]};
    struct object halves;
    if (!build_chunk(b, chunk, &halves))
        return NULL;
    if (halves.n != 2)
        return refuse_value(b, "glu needs an axis of an even size");
    return op2(b, OP_MUL, halves.items[0].value, op1(b, OP_SIGMOID, halves.items[1].value));
}

VALUE_BUILDER(build_masked_fill)
{
    const struct value *a = need_tensor(b, &arg[0], "input"),
                       *mask = need_tensor(b, &arg[1], "mask"),
                       *fill = need_value(b, &arg[2], "value");
    if (!a || !mask || !fill)
        return NULL;
    if (dtype_is_float(fill->dtype) && !dtype_is_float(a->dtype))
        return refuse_value(b, "masked_fill cannot put a float into a tensor of %s",
                            dtype_name(a->dtype));
    return cast_to(b, op3(b, OP_WHERE, mask, fill, a), a->dtype);
}

/* triu keeps column - row >= diagonal, tril column - row <= diagonal. `op` is the comparison. */
VALUE_BUILDER(build_triangle)
{
    const struct value *a = need_tensor(b, &arg[0], "input"), *at[2];
    int64_t diagonal;
    if (!a || !need_whole(b, &arg[1], "diagonal", &diagonal))
        return NULL;
    if (a->rank < 2)
        return refuse_value(b, "triu and tril need a tensor with at least 2 dimensions");
    for (uint32_t i = 0; i < 2; i++) { /* rows, then columns */
        const struct dim *n = a->shape[a->rank - 2 + i], *one = dim_number(&b->g->dims, 1);
        const struct dim *shape[] = {i ? one : n, i ? n : one};
        struct attr size = attr_dims(&n, 1);
        const struct value *none[GRAPH_MAX_ARGS] = {NULL},
                           *index = make_op(b, OP_IOTA, none, "shape", &size, NO_MORE);
        at[i] = index ? graph_reshape(b->g, index, 2, shape, &b->err) : NULL;
        if (!at[i])
            return NULL;
    }
    const struct value *kept =
        op2(b, op, op2(b, OP_SUB, at[1], at[0]), graph_integer(b->g, diagonal));
    return cast_to(b, op3(b, OP_WHERE, kept, a, graph_integer(b->g, 0)), a->dtype);
}

/* ---- casts ----------------------------------------------------------------------------------- */

VALUE_BUILDER(build_type)
{
    const struct value *a = need_tensor(b, &arg[0], "input");
    if (arg[1].kind == OBJ_VALUE && !arg[1].value->weak)
        return cast_to(b, a, arg[1].value->dtype);
    enum dtype t;
    return a && need_dtype(b, &arg[1], "dtype", &t) ? cast_to(b, a, t) : NULL;
}

/* Only a dtype or a tensor changes the result's dtype; devices, strings and flags do not. */
VALUE_BUILDER(build_to)
{
    const struct value *a = need_tensor(b, &arg[0], "input");
    enum dtype t = DT_NONE;
    if (!a)
        return NULL;
    for (size_t i = 1; i <= 3; i++) {
        const struct object *o = &arg[i];
        if (o->kind == OBJ_DTYPE)
            t = o->dtype;
        else if (o->kind == OBJ_VALUE && !o->value->weak)
            t = o->value->dtype;
        else if (o->kind != OBJ_NONE && o->kind != OBJ_DEVICE && o->kind != OBJ_TEXT)
            return refuse_value(b, "to() takes a dtype, a device or a tensor, not %s", obj_what(o));
    }
    return t == DT_NONE ? a : cast_to(b, a, t);
}

#define CAST_BUILDER(name, dtype)                                   \
    VALUE_BUILDER(name)                                             \
    {                                                               \
        return cast_to(b, need_tensor(b, &arg[0], "input"), dtype); \
    }

CAST_BUILDER(build_float, DT_F32)
CAST_BUILDER(build_half, DT_F16)
CAST_BUILDER(build_bfloat16, DT_BF16)
CAST_BUILDER(build_double, DT_F64)
CAST_BUILDER(build_long, DT_I64)
CAST_BUILDER(build_int, DT_I32)
CAST_BUILDER(build_short, DT_I16)
CAST_BUILDER(build_bool, DT_BOOL)

/* ---- losses of a difference ------------------------------------------------------------------ */

/* Applies op to input - target, then `reduction`. */
static const struct value *difference_loss(struct build *b, enum graph_op op,
                                           const struct object *arg)
{
    const struct value *a = need_tensor(b, &arg[0], "input"),
                       *c = need_tensor(b, &arg[1], "target");
    if (!obj_is_none(&arg[2]) || !obj_is_none(&arg[3]))
        return refuse_value(b, "PyTorch has removed size_average and reduce; use reduction=");
    const struct value *d = a && c ? op1(b, op, op2(b, OP_SUB, a, c)) : NULL;
    if (!d || obj_is_text(&arg[4], "none"))
        return d;
    bool mean = obj_is_text(&arg[4], "mean");
    if (!mean && !obj_is_text(&arg[4], "sum"))
        return refuse_value(b, "reduction must be 'none', 'mean' or 'sum'");
    return make_op(b, mean ? OP_MEAN : OP_SUM, &d, NO_MORE);
}

VALUE_BUILDER(build_mse_loss)
{
    return difference_loss(b, OP_SQUARE, arg);
}

VALUE_BUILDER(build_l1_loss)
{
    return difference_loss(b, OP_ABS, arg);
}
