/*
 * conv.c - matches one convolution with an epilogue (epilogue.h). match.h explains ops and binding.
 *
 *   op                      input             weight             output
 *   depthwise               [N, C, H, W]      [O, KH, KW]        [N, O, OH, OW]
 *   conv, conv_transpose    [N, C, D, H, W]   ... [KD, KH, KW]   [N, O, OD, OH, OW]
 *
 * A missing spatial axis has size 1.
 */
#include "base/util.h"
#include "playbook/match/epilogue.h"

/* The sides are depth, height and width. MAX_WINDOW limits the window along a side, and the
 * elements of a "depthwise" window. */
enum { SIDES = 3, MAX_WINDOW = 64 };
/* Limits stride, dilation and padding, because templates compute with int. */
enum { MAX_STEP = 1 << 16 };
/* The template has a mask of 64 bits: one bit for each place of the window along each side, and one
 * more bit. bind_taps() explains phases. */
enum { MAX_WINDOW_SUM = 63, MAX_PHASES = 4096 };

static const char *const side_names[SIDES] = {"d", "h", "w"};

struct conv {
    const struct value *v;
    bool transposed;
    int x, w, bias; /* numbers of inputs; `bias` may be -1 */
    unsigned dims;
    int64_t window[SIDES], stride[SIDES], pad[SIDES], dilation[SIDES];
};

static bool find_side(struct conv *c, const struct value *pad, unsigned i)
{
    unsigned axis = i + c->dims - SIDES; /* among the spatial axes */
    const struct dim *size = c->v->args[1]->shape[2 + axis]->fixed;
    if (!size->is_number || size->value < 1 || size->value > MAX_WINDOW)
        return false;
    c->window[i] = size->value;
    c->stride[i] = value_attr(c->v, "stride")->ints[axis];
    c->dilation[i] = value_attr(c->v, "dilation")->ints[axis];
    if (c->transposed) {
        c->pad[i] = value_attr(c->v, "padding")->ints[axis];
        return true;
    }
    const struct dim *before = value_attr(c->v, "before")->dims[axis]->fixed;
    c->pad[i] = before->value + (pad ? value_attr(pad, "before")->ints[2 + axis] : 0);
    return before->is_number;
}

/* Does v add only zeros, and only along spatial axes? The padding after the last element may be
 * unknown, because it follows from the result's shape. */
static bool is_zero_pad(const struct value *v)
{
    double zero = 1;
    const struct attr *before = value_attr(v, "before"), *after = value_attr(v, "after");
    return value_is_number(v->args[1], &zero) && zero == 0 && !before->ints[0] &&
           !before->ints[1] && !after->ints[0] && !after->ints[1];
}

/* Finds the task's only convolution of the kind `op`. Returns false if there is none that templates
 * can compute. Its operands must be inputs, and only the first one may be padded. */
static bool find_conv(const struct match *x, enum graph_op op, struct conv *c)
{
    *c = (struct conv){.v = only_one(x, op),
                       .transposed = op == OP_CONV_TRANSPOSE,
                       .window = {1, 1, 1},
                       .stride = {1, 1, 1},
                       .dilation = {1, 1, 1},
                       .bias = -1};
    if (!c->v || c->v->rank < 3 || c->v->rank > 2 + SIDES || x->m->g.outputs.n != 1)
        return false;
    const struct value *in = c->v->args[0], *pad = in->op == OP_PAD && !c->transposed ? in : NULL;
    c->dims = c->v->rank - 2;
    c->x = input_but_casts(x->m, pad ? pad->args[0] : in);
    c->w = input_but_casts(x->m, c->v->args[1]);
    if (c->v->args[2] && (c->bias = input_but_casts(x->m, c->v->args[2])) < 0)
        return false;
    if (c->x < 0 || c->w < 0 || (pad && !is_zero_pad(pad)))
        return false;
    for (unsigned i = SIDES - c->dims; i < SIDES; i++)
        if (!find_side(c, pad, i) || c->stride[i] > MAX_STEP || c->dilation[i] > MAX_STEP ||
            c->pad[i] > MAX_STEP || c->pad[i] < -MAX_STEP)
            return false;
    return true;
}

/* Does each output channel read only one input channel? Every convolution of a single input channel
 * does; of these, only one with a single output channel counts as depthwise. */
static bool is_depthwise(const struct conv *c)
{
    const struct value *w = c->v->args[1];
    return !c->transposed && c->dims <= 2 && c->window[1] * c->window[2] <= MAX_WINDOW &&
           dim_is(w->shape[1], 1) &&
           (!dim_is(c->v->args[0]->shape[1], 1) || dim_is(w->shape[0], 1));
}

static json_t *with_shape(const json_t *t, json_t *shape)
{
    json_t *copy = json_deep_copy(t);
    json_object_set_new(copy, "shape", shape);
    return copy;
}

/* Returns a copy of the tensor t with this many spatial axes. For example, if `axes` is 2,
 * [N, C, L] becomes [N, C, 1, L]. */
static json_t *with_axes(const json_t *t, unsigned axes)
{
    json_t *shape = json_deep_copy(json_object_get(t, "shape"));
    while (json_array_size(shape) < 2 + axes)
        json_array_insert_new(shape, 2, json_string("1"));
    return with_shape(t, shape);
}

static const json_t *tensor_of(const struct match *x, size_t i)
{
    return json_array_get(json_object_get(x->m->facts, "tensors"), i);
}

static void see_planes(struct match *x, const struct conv *c)
{
    const json_t *in = tensor_of(x, (size_t)c->x), *w = tensor_of(x, (size_t)c->w);
    json_t *window = json_pack("[O, o, o]", json_array_get(json_object_get(w, "shape"), 0),
                               json_sprintf("%lld", (long long)c->window[1]),
                               json_sprintf("%lld", (long long)c->window[2]));
    x->seen = json_pack("{s:[o, o, o], s:{}}", "tensors", with_axes(in, 2), with_shape(w, window),
                        with_axes(tensor_of(x, x->m->inputs), 2), "scalars");
}

static void bind_geometry(struct match *x, const struct conv *c)
{
    for (int i = 0; i < SIDES; i++) {
        const struct {
            const char *name;
            int64_t value;
        } texts[] = {{"stride", c->stride[i]}, {"pad", c->pad[i]}, {"dilation", c->dilation[i]}};
        for (size_t k = 0; k < ARRAY_LEN(texts); k++)
            bind_number(x->b, arena_printf(&x->b->arena, "%s:%s", texts[k].name, side_names[i]),
                        texts[k].value);
    }
}

static bool bind_around(struct match *x, const struct conv *c)
{
    struct epilogue e = {.product = c->v, .operands = {c->x, c->w}, .bias = c->bias};
    if (!bind_epilogue(x, &e))
        return false;
    bind_geometry(x, c);
    return true;
}

const struct pb_op *match_conv(struct match *x)
{
    struct conv c;
    if (!find_conv(x, OP_CONV, &c) || !is_depthwise(&c)) {
        strbuf_adds(
            x->why,
            "the task's PyTorch expression has no depthwise conv1d or conv2d of an input, with "
            "groups, a window of known size and one output");
        return NULL;
    }
    if (!bind_around(x, &c))
        return NULL;
    see_planes(x, &c);
    return op_called(x->pb, "depthwise");
}

/* ---- convolutions that are products of matrices ---------------------------------------------- */

static bool is_too_large(const struct conv *c)
{
    int64_t phases = 1;
    for (int i = 0; c->transposed && i < SIDES; i++)
        phases = MIN(phases * c->stride[i], MAX_PHASES + 1);
    return phases > MAX_PHASES || c->window[0] + c->window[1] + c->window[2] > MAX_WINDOW_SUM;
}

static void bind_side(struct match *x, const char *name, int side, int64_t v)
{
    bind_number(x->b, arena_printf(&x->b->arena, "%s:%s", name, side_names[side]), v);
}

/* Binds five numbers about the taps (places of the window) along side i. In a transposed
 * convolution, outputs whose places are equal modulo the stride form a phase.
 * - "phases": the stride of a transposed convolution, else 1.
 * - "taps": the most taps that a phase uses. But along the width of a transposed convolution it is
 *   the number of columns. Taps with the same floor(offset / stride) form a column; they have
 *   different phases.
 * - "kinds": how many remainders the offsets of taps have modulo the stride; 1 if transposed. Taps
 *   with one remainder read one kind of input places.
 * - "reach": the distance from the first tap to the last, in places of one kind.
 * - "turn": only for the width of a transposed convolution. The phase of a tap is its place plus
 *   the turn, modulo the stride. The turn makes up for the padding, so that the phases of one
 *   input place are neighbours in the output. It is 0 if this needs more taps.
 *
 * Returns the most taps that a phase uses. */
static int64_t bind_taps(struct match *x, const struct conv *c, int i)
{
    int64_t window = c->window[i], stride = c->stride[i], gap = c->dilation[i];
    int64_t step = stride / int_gcd(gap, stride), most = (window + step - 1) / step;
    bool w = i == SIDES - 1;
    if (!c->transposed) {
        int64_t kinds = MIN(window, step);
        bind_side(x, "phases", i, 1);
        bind_side(x, "taps", i, window);
        bind_side(x, "kinds", i, kinds);
        bind_side(x, "reach", i, (window - 1) / kinds * (kinds * gap / stride));
        bind_side(x, "turn", i, 0);
        return window;
    }
    int64_t far = (window - 1) * gap / stride, turn = (stride - c->pad[i] % stride) % stride;
    bind_side(x, "phases", i, stride);
    bind_side(x, "taps", i, !w ? most : gap >= stride ? window : far + 1);
    bind_side(x, "kinds", i, 1);
    bind_side(x, "reach", i, w ? far : (most - 1) * (gap * step / stride));
    bind_side(x, "turn", i, ((window - 1) * gap + turn) / stride == far ? turn : 0);
    return most;
}

static void bind_phases(struct match *x, const struct conv *c)
{
    int64_t phases = 1, taps = 1;
    for (int i = 0; i < SIDES; i++) {
        taps *= bind_taps(x, c, i);
        phases *= c->transposed ? c->stride[i] : 1;
    }
    bind_number(x->b, "phases", phases);
    bind_number(x->b, "taps", taps);
}

const struct pb_op *match_dense_conv(struct match *x)
{
    struct conv c;
    if ((!find_conv(x, OP_CONV, &c) && !find_conv(x, OP_CONV_TRANSPOSE, &c)) || is_depthwise(&c) ||
        is_too_large(&c)) {
        strbuf_adds(x->why,
                    "the task's PyTorch expression must have exactly one convolution: of an input, "
                    "in 1, 2 or 3 dimensions, not depthwise, with a window of known size and one "
                    "output");
        return NULL;
    }
    if (!bind_around(x, &c))
        return NULL;
    bind_phases(x, &c);
    bind_text(x->b, "groups",
              arena_printf(&x->b->arena, "(%s)", value_attr(c.v, "groups")->dims[0]->text));
    x->seen =
        json_pack("{s:[o, o, o], s:{}}", "tensors", with_axes(tensor_of(x, (size_t)c.x), SIDES),
                  with_axes(tensor_of(x, (size_t)c.w), SIDES),
                  with_axes(tensor_of(x, x->m->inputs), SIDES), "scalars");
    return op_called(x->pb, c.transposed ? "conv_transpose" : "conv");
}
