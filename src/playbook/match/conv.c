/*
 * conv.c - matches one depthwise convolution, in one or two dimensions, with an epilogue.
 *
 * The op is "depthwise". Its tensors are [N, C, H, W], [C, KH, KW] and [N, C, OH, OW]; in one
 * dimension H is 1.
 */
#include "base/util.h"
#include "playbook/match/epilogue.h"

enum { MAX_WINDOW = 64 };

/* Each pair has a number for the height and a number for the width. In one dimension the height has
 * size and stride 1 and padding 0. */
struct conv {
    const struct value *v;
    int x, w, bias; /* inputs; bias: -1 if there is none */
    unsigned dims;
    int64_t window[2], stride[2], pad[2], dilation[2];
};

/* Finds the geometry of side i (0 height, 1 width); false if a number is not known. */
static bool find_side(struct conv *c, const struct value *pad, unsigned i)
{
    unsigned axis = i + c->dims - 2; /* among the spatial axes */
    const struct dim *size = c->v->args[1]->shape[2 + axis]->fixed,
                     *before = value_attr(c->v, "before")->dims[axis]->fixed;
    if (!size->is_number || size->value < 1 || size->value > MAX_WINDOW || !before->is_number)
        return false;
    c->window[i] = size->value;
    c->stride[i] = value_attr(c->v, "stride")->ints[axis];
    c->dilation[i] = value_attr(c->v, "dilation")->ints[axis];
    c->pad[i] = before->value + (pad ? value_attr(pad, "before")->ints[2 + axis] : 0);
    return true;
}

/* Does v pad only spatial axes, and with zeros, as F.pad does? The padding after the last row and
 * column need not be a known number, because it follows from the result's shape. */
static bool is_zero_pad(const struct value *v)
{
    double zero = 1;
    const struct attr *before = value_attr(v, "before"), *after = value_attr(v, "after");
    return value_is_number(v->args[1], &zero) && zero == 0 && !before->ints[0] &&
           !before->ints[1] && !after->ints[0] && !after->ints[1];
}

static bool find_conv(const struct match *x, struct conv *c)
{
    *c = (struct conv){.v = only_one(x, OP_CONV),
                       .window = {1, 1},
                       .stride = {1, 1},
                       .dilation = {1, 1},
                       .bias = -1};
    if (!c->v || c->v->rank < 3 || c->v->rank > 4)
        return false;
    const struct value *in = c->v->args[0], *pad = in->op == OP_PAD ? in : NULL;
    c->dims = c->v->rank - 2;
    c->x = input_but_casts(x->m, pad ? pad->args[0] : in);
    c->w = input_but_casts(x->m, c->v->args[1]);
    if (c->v->args[2] && (c->bias = input_but_casts(x->m, c->v->args[2])) < 0)
        return false;
    if (c->x < 0 || c->w < 0 || (pad && !is_zero_pad(pad)))
        return false;
    for (unsigned i = 2 - c->dims; i < 2; i++)
        if (!find_side(c, pad, i))
            return false;
    const struct value *w = c->v->args[1];
    return c->window[0] * c->window[1] <= MAX_WINDOW && dim_is(w->shape[1], 1) &&
           dim_same(w->shape[0], in->shape[1]) && x->m->g.outputs.n == 1;
}

static json_t *with_shape(const json_t *t, json_t *shape)
{
    json_t *copy = json_deep_copy(t);
    json_object_set_new(copy, "shape", shape);
    return copy;
}

/* Gives a tensor [N, C, L] the shape [N, C, 1, L]. */
static json_t *as_planes(const json_t *t)
{
    json_t *shape = json_deep_copy(json_object_get(t, "shape"));
    if (json_array_size(shape) == 3)
        json_array_insert_new(shape, 2, json_string("1"));
    return with_shape(t, shape);
}

static void see_planes(struct match *x, const struct conv *c)
{
    const json_t *tensors = json_object_get(x->m->facts, "tensors");
    const json_t *in = json_array_get(tensors, (size_t)c->x),
                 *w = json_array_get(tensors, (size_t)c->w),
                 *y = json_array_get(tensors, x->m->inputs);
    const char *channels = json_string_value(json_array_get(json_object_get(in, "shape"), 1));
    json_t *window = json_pack("[s, o, o]", channels, json_sprintf("%lld", (long long)c->window[0]),
                               json_sprintf("%lld", (long long)c->window[1]));
    x->seen = json_pack("{s:[o, o, o], s:{}}", "tensors", as_planes(in), with_shape(w, window),
                        as_planes(y), "scalars");
}

static void bind_geometry(struct match *x, const struct conv *c)
{
    static const char *const sides[2] = {"h", "w"};
    for (int i = 0; i < 2; i++) {
        const struct {
            const char *name;
            int64_t value;
        } texts[] = {{"stride", c->stride[i]}, {"pad", c->pad[i]}, {"dilation", c->dilation[i]}};
        for (size_t k = 0; k < ARRAY_LEN(texts); k++)
            bind_number(x->b, arena_printf(&x->b->arena, "%s:%s", texts[k].name, sides[i]),
                        texts[k].value);
    }
}

const struct pb_op *match_conv(struct match *x)
{
    struct conv c;
    if (!find_conv(x, &c)) {
        strbuf_adds(x->why,
                    "its PyTorch expression has no depthwise conv1d or conv2d of an input, with "
                    "groups, a window of known size and one output");
        return NULL;
    }
    struct epilogue e = {.product = c.v, .operands = {c.x, c.w}, .bias = c.bias};
    if (!bind_epilogue(x, &e))
        return NULL;
    bind_geometry(x, &c);
    see_planes(x, &c);
    return op_called(x->pb, "depthwise");
}
