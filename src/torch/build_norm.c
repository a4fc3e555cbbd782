/* build_norm.c - builds normalisations over the last axes, by channel or by group of channels. */
#include "base/util.h"
#include "torch/build.h"

/* The last axes of `a` must have the sizes of `o`, the argument normalized_shape. Returns how many
 * there are, or 0 with the reason in b->err. */
static size_t normalized_axes(struct build *b, const struct value *a, const struct object *o)
{
    const struct dim *d[GRAPH_MAX_RANK];
    size_t n;
    if (!need_dims(b, o, "normalized_shape", d, &n))
        return 0;
    if (!n || n > a->rank) {
        refuse(b, "normalized_shape names %zu axes, but the tensor has %u", n, a->rank);
        return 0;
    }
    for (size_t i = 0; i < n; i++) {
        const struct dim *is = a->shape[a->rank - n + i];
        if (!dim_same(d[i], is)) {
            refuse(b, "normalized_shape says '%s' where the tensor has '%s'", d[i]->text, is->text);
            return 0;
        }
    }
    return n;
}

static bool optional_tensor(struct build *b, const struct object *o, const char *name,
                            const struct value **out)
{
    *out = NULL;
    return obj_is_none(o) || (*out = need_tensor(b, o, name));
}

/* Parameters: input normalized_shape weight bias eps. */
VALUE_BUILDER(build_layer_norm)
{
    const struct value *args[4] = {need_tensor(b, &arg[0], "input")};
    size_t n = args[0] ? normalized_axes(b, args[0], &arg[1]) : 0;
    if (!n || !optional_tensor(b, &arg[2], "weight", &args[1]) ||
        !optional_tensor(b, &arg[3], "bias", &args[2]) ||
        !(args[3] = need_value(b, &arg[4], "eps")))
        return NULL;
    struct attr axes = attr_int((int64_t)n);
    return make_op(b, OP_LAYER_NORM, args, "axes", &axes, NO_MORE);
}

/* Parameters: input normalized_shape weight eps. */
VALUE_BUILDER(build_rms_norm)
{
    const struct value *args[3] = {need_tensor(b, &arg[0], "input")};
    size_t n = args[0] ? normalized_axes(b, args[0], &arg[1]) : 0;
    if (!n || !optional_tensor(b, &arg[2], "weight", &args[1]))
        return NULL;
    if (obj_is_none(&arg[3]) && args[0]->dtype != DT_F32)
        return refuse_value(b,
                            "rms_norm of %s without eps differs between versions of PyTorch; "
                            "give eps",
                            dtype_name(args[0]->dtype));
    args[2] = obj_is_none(&arg[3]) ? graph_number(b->g, 0x1p-23) : need_value(b, &arg[3], "eps");
    struct attr axes = attr_int((int64_t)n);
    return args[2] ? make_op(b, OP_RMS_NORM, args, "axes", &axes, NO_MORE) : NULL;
}

/* Reshapes a vector with a value for each channel to `rank` axes, of which the second is the
 * channel. */
static const struct value *by_channel(struct build *b, const struct object *o, const char *of,
                                      const char *name, uint32_t rank)
{
    const struct value *v = need_tensor(b, o, name);
    const struct dim *d[GRAPH_MAX_RANK];
    if (!v)
        return NULL;
    if (v->rank != 1)
        return refuse_value(b, "%s's %s has %u axes, not 1", of, name, v->rank);
    for (uint32_t i = 0; i < rank; i++)
        d[i] = i == 1 ? v->shape[0] : dim_number(&b->g->dims, 1);
    return reshape_to(b, v, d, rank);
}

/* Multiplies y by the weight and adds the bias of each channel, unless they are None. */
static const struct value *affine(struct build *b, const char *of, const struct value *y,
                                  const struct object *weight, const struct object *bias)
{
    if (y && !obj_is_none(weight))
        y = op2(b, OP_MUL, y, by_channel(b, weight, of, "weight", y->rank));
    if (y && !obj_is_none(bias))
        y = op2(b, OP_ADD, y, by_channel(b, bias, of, "bias", y->rank));
    return y;
}

/* Parameters: input running_mean running_var weight bias training momentum eps. */
VALUE_BUILDER(build_batch_norm)
{
    const struct value *x = need_tensor(b, &arg[0], "input"), *eps = need_value(b, &arg[7], "eps");
    bool training;
    if (!x || !eps || !need_bool(b, &arg[5], "training", &training))
        return NULL;
    if (training || obj_is_none(&arg[1]) || obj_is_none(&arg[2]))
        return lacks_value(
            b, "batch_norm is supported only with running statistics, not while training");
    if (x->rank < 2)
        return refuse_value(b, "batch_norm needs at least 2 axes");
    const struct value *mean = by_channel(b, &arg[1], "batch_norm", "running_mean", x->rank),
                       *var = by_channel(b, &arg[2], "batch_norm", "running_var", x->rank);
    const struct value *y =
        op2(b, OP_MUL, op2(b, OP_SUB, x, mean), op1(b, OP_RSQRT, op2(b, OP_ADD, var, eps)));
    return affine(b, "batch_norm", y, &arg[3], &arg[4]);
}

/* The C channels of x [N, C, ...] form `groups` groups of neighbours. In each of the N samples,
 * each group becomes (x - mean) / sqrt(variance + eps), with the group's own mean and variance. */
static const struct value *by_group(struct build *b, const char *of, const struct value *x,
                                    const struct dim *groups, const struct value *eps)
{
    struct dim_pool *p = &b->g->dims;
    const struct dim *d[GRAPH_MAX_RANK] = {NULL}, *channels;
    if (x->rank < 2 || x->rank >= GRAPH_MAX_RANK)
        return refuse_value(b, "%s takes tensors of 2 to %d axes, not %u", of, GRAPH_MAX_RANK - 1,
                            x->rank);
    channels = x->shape[1];
    if (groups->fixed->is_number && groups->fixed->value < 1)
        return refuse_value(b, "num_groups must be at least 1");
    const struct dim *each = dim_div(p, channels, groups);
    if (!dim_same(dim_mul(p, each, groups), channels))
        return lacks_value(b,
                           "the number of channels '%s' is not known to be a multiple of '%s'; a "
                           "constraint such as \"C %% 8 == 0\" can say so",
                           channels->text, groups->text);
    d[0] = x->shape[0];
    d[1] = groups;
    d[2] = each;
    for (uint32_t i = 2; i < x->rank; i++)
        d[i + 1] = x->shape[i];
    const struct value *split = reshape_to(b, x, d, x->rank + 1);
    struct attr axes = split ? attr_last_axes(split, (int64_t)split->rank - 2) : attr_none(),
                keep = attr_bool(true), none = attr_int(0);
    const struct value *mean =
        split ? make_op(b, OP_MEAN, &split, "dim", &axes, "keepdim", &keep, NO_MORE) : NULL;
    const struct value *var = mean ? make_op(b, OP_VAR, &split, "dim", &axes, "keepdim", &keep,
                                             "correction", &none, NO_MORE)
                                   : NULL;
    const struct value *y =
        op2(b, OP_MUL, op2(b, OP_SUB, split, mean), op1(b, OP_RSQRT, op2(b, OP_ADD, var, eps)));
    return y ? reshape_to(b, y, x->shape, x->rank) : NULL;
}

/* Parameters: input num_groups weight bias eps. */
VALUE_BUILDER(build_group_norm)
{
    const struct value *x = need_tensor(b, &arg[0], "input"), *eps = need_value(b, &arg[4], "eps");
    const struct dim *groups = x && eps ? need_dim(b, &arg[1], "num_groups") : NULL;
    return groups ? affine(b, "group_norm", by_group(b, "group_norm", x, groups, eps), &arg[2],
                           &arg[3])
                  : NULL;
}

/* Parameters: input running_mean running_var weight bias use_input_stats momentum eps. */
VALUE_BUILDER(build_instance_norm)
{
    const struct value *x = need_tensor(b, &arg[0], "input"), *eps = need_value(b, &arg[7], "eps");
    bool own;
    if (!x || !eps || !need_bool(b, &arg[5], "use_input_stats", &own))
        return NULL;
    if (!own || !obj_is_none(&arg[1]) || !obj_is_none(&arg[2]))
        return lacks_value(b, "instance_norm is supported only without running statistics");
    if (x->rank < 3)
        return refuse_value(b, "instance_norm needs at least 3 axes: [N, C, ...]");
    const struct value *y = by_group(b, "instance_norm", x, x->shape[1], eps);
    return affine(b, "instance_norm", y, &arg[3], &arg[4]);
}

/* Parameters: input p dim eps. */
VALUE_BUILDER(build_normalize)
{
    const struct value *args[2] = {need_tensor(b, &arg[0], "input"), need_value(b, &arg[3], "eps")};
    int64_t axis;
    double p;
    if (!args[0] || !args[1] || !need_axis(b, &arg[2], args[0]->rank, &axis))
        return NULL;
    if (!obj_real(&arg[1], &p))
        return refuse_value(b, "normalize's p must be a number");
    struct attr order = attr_real(p), dim = attr_axis(axis);
    return make_op(b, OP_NORMALIZE, args, "p", &order, "dim", &dim, NO_MORE);
}
