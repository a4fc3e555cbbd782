/* build_norm.c - builds normalisations over the last axes or by channel, and losses over rows. */
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
static const struct value *by_channel(struct build *b, const struct object *o, const char *name,
                                      uint32_t rank)
{
    const struct value *v = need_tensor(b, o, name);
    const struct dim *d[GRAPH_MAX_RANK];
    if (!v)
        return NULL;
    if (v->rank != 1)
        return refuse_value(b, "batch_norm's %s has %u axes, not 1", name, v->rank);
    for (uint32_t i = 0; i < rank; i++)
        d[i] = i == 1 ? v->shape[0] : dim_number(&b->g->dims, 1);
    return reshape_to(b, v, d, rank);
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
    const struct value *mean = by_channel(b, &arg[1], "running_mean", x->rank),
                       *var = by_channel(b, &arg[2], "running_var", x->rank);
    const struct value *y =
        op2(b, OP_MUL, op2(b, OP_SUB, x, mean), op1(b, OP_RSQRT, op2(b, OP_ADD, var, eps)));
    if (y && !obj_is_none(&arg[3]))
        y = op2(b, OP_MUL, y, by_channel(b, &arg[3], "weight", x->rank));
    if (y && !obj_is_none(&arg[4]))
        y = op2(b, OP_ADD, y, by_channel(b, &arg[4], "bias", x->rank));
    return y;
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

/* ---- losses ---------------------------------------------------------------------------------- */

static bool reduction_of(struct build *b, const struct object *o, struct attr *out)
{
    if (o->kind != OBJ_TEXT)
        return refuse(b, "reduction must be 'none', 'mean' or 'sum'");
    *out = attr_text(o->text);
    return true;
}

/* Parameters: input target weight ignore_index reduction label_smoothing. */
VALUE_BUILDER(build_cross_entropy)
{
    const struct value *args[2] = {need_tensor(b, &arg[0], "input"),
                                   need_tensor(b, &arg[1], "target")};
    struct attr how;
    if (!args[0] || !args[1] || !reduction_of(b, &arg[4], &how))
        return NULL;
    if (!obj_is_none(&arg[2]) || !obj_is(&arg[3], -100) || !obj_is(&arg[5], 0))
        return lacks_value(b, "cross_entropy with weight, ignore_index or label_smoothing is not "
                              "supported");
    args[1] = index_source(args[1]);
    return make_op(b, OP_CROSS_ENTROPY, args, "reduction", &how, NO_MORE);
}

/* Parameters: anchor positive negative margin p eps swap size_average reduce reduction. */
VALUE_BUILDER(build_triplet)
{
    static const char *const names[] = {"anchor", "positive", "negative"};
    const struct value *args[5] = {NULL};
    struct attr how;
    for (size_t i = 0; i < 3; i++)
        if (!(args[i] = need_tensor(b, &arg[i], names[i])))
            return NULL;
    if (!(args[3] = need_value(b, &arg[3], "margin")) ||
        !(args[4] = need_value(b, &arg[5], "eps")) || !reduction_of(b, &arg[9], &how))
        return NULL;
    if (!obj_is(&arg[4], 2) || !obj_is(&arg[6], 0) || !obj_is_none(&arg[7]) ||
        !obj_is_none(&arg[8]))
        return lacks_value(b, "triplet_margin_loss is supported only with p=2 and without swap");
    return make_op(b, OP_TRIPLET_MARGIN_LOSS, args, "reduction", &how, NO_MORE);
}
