/* build_new.c - builds tensors from sizes and numbers: ranges, constants, one-hot rows. */
#include "base/util.h"
#include "torch/build.h"

/* Returns the numbers 0, 1, ..., n - 1 as int64. */
static const struct value *range(struct build *b, const struct dim *n)
{
    const struct value *none[GRAPH_MAX_ARGS] = {NULL};
    struct attr shape = attr_dims(&n, 1);
    return make_op(b, OP_IOTA, none, "shape", &shape, NO_MORE);
}

/* Checks the argument `device`. Builders then ignore it, because a device changes no value. */
static bool is_device(struct build *b, const struct object *o)
{
    return o->kind == OBJ_NONE || o->kind == OBJ_DEVICE || o->kind == OBJ_TEXT ||
           refuse(b, "'device' must be a device, not %s", obj_what(o));
}

/* Parameters: start end step dtype device. arange(n) gives only the end. */
VALUE_BUILDER(build_arange)
{
    struct dim_pool *p = &b->g->dims;
    bool one = obj_is_none(&arg[1]);
    const struct object *ends[] = {&arg[0], &arg[1], &arg[2]};
    enum dtype t = DT_I64;
    int64_t step;
    if (!is_device(b, &arg[4]) || (!obj_is_none(&arg[3]) && !need_dtype(b, &arg[3], "dtype", &t)))
        return NULL;
    for (size_t i = 0; i < ARRAY_LEN(ends); i++)
        if (ends[i]->kind == OBJ_FLOAT)
            return lacks_value(b, "arange is supported only with integers; write "
                                  "torch.arange(n) * step");
    const struct dim *from = one ? dim_number(p, 0) : need_dim(b, &arg[0], "start"),
                     *to = need_dim(b, one ? &arg[0] : &arg[1], "end");
    if (!from || !to || !need_whole(b, &arg[2], "step", &step))
        return NULL;
    if (step < 1)
        return lacks_value(b, "arange is supported only with a step of at least 1; use flip");
    const struct dim *n = dim_sub(p, to, from);
    if (!size_at_most(b, dim_number(p, 0), n))
        return refuse_value(b, "arange: the end '%s' may be before the start '%s'", to->text,
                            from->text);
    if (step > 1)
        n = dim_div(p, dim_add(p, n, dim_number(p, step - 1)), dim_number(p, step));
    const struct value *v = range(b, n);
    if (step > 1)
        v = op2(b, OP_MUL, v, graph_integer(b->g, step));
    if (!dim_is(from, 0)) {
        const struct object start = obj_int(from);
        v = op2(b, OP_ADD, v, need_value(b, &start, "start"));
    }
    return cast_to(b, v, t);
}

/* Returns a tensor with the shape of `like`, filled with v. If `dtype` is None, the tensor has the
 * dtype of `like`. */
static const struct value *filled_as(struct build *b, const struct object *like,
                                     const struct object *dtype, const struct object *device,
                                     const struct value *v)
{
    const struct value *a = need_tensor(b, like, "input");
    enum dtype t;
    if (!a || !v || !is_device(b, device))
        return NULL;
    t = a->dtype;
    if (!obj_is_none(dtype) && !need_dtype(b, dtype, "dtype", &t))
        return NULL;
    if (!v->weak || v->rank)
        return refuse_value(b, "full_like takes a number, not a tensor");
    if (dtype_is_float(v->dtype) && !dtype_is_float(t))
        return refuse_value(b, "a tensor of %s cannot hold a float", dtype_name(t));
    v = cast_to(b, v, t);
    return v && a->rank ? expand_to(b, v, a->shape, a->rank) : v;
}

/* Parameters: input dtype device. */
VALUE_BUILDER(build_zeros_like)
{
    return filled_as(b, &arg[0], &arg[1], &arg[2], graph_integer(b->g, 0));
}

VALUE_BUILDER(build_ones_like)
{
    return filled_as(b, &arg[0], &arg[1], &arg[2], graph_integer(b->g, 1));
}

/* Parameters: input fill_value dtype device. */
VALUE_BUILDER(build_full_like)
{
    return filled_as(b, &arg[0], &arg[2], &arg[3], need_value(b, &arg[1], "fill_value"));
}

/* Parameters: tensor num_classes. */
VALUE_BUILDER(build_one_hot)
{
    const struct value *a = need_tensor(b, &arg[0], "tensor");
    const struct dim *n = a ? need_dim(b, &arg[1], "num_classes") : NULL;
    const struct dim *shape[GRAPH_MAX_RANK];
    if (!n)
        return NULL;
    if (n->is_number && n->value < 0)
        return lacks_value(b,
                           "one_hot without num_classes: the size of the result depends on data");
    if (a->dtype != DT_I64)
        return refuse_value(b, "one_hot takes int64, not %s", dtype_name(a->dtype));
    if (a->rank + 1 > GRAPH_MAX_RANK)
        return refuse_value(b, "a tensor has at most %d axes", GRAPH_MAX_RANK);
    for (uint32_t i = 0; i < a->rank; i++)
        shape[i] = a->shape[i];
    shape[a->rank] = dim_number(&b->g->dims, 1);
    a = reshape_to(b, index_source(a), shape, a->rank + 1);
    return cast_to(b, op2(b, OP_EQ, a, range(b, n)), DT_I64);
}
