/* playbook_conv.c - depthwise convolutions, as a task's PyTorch expression has them. */
#include <stdlib.h>
#include <string.h>

#include "author/playbook_bind.h"
#include "author/playbook_read.h"
#include "base/util.h"

enum { MAX_WINDOW = 64 };

/* The call, and what its arguments say. Pairs are of height and width; in one dimension the height
 * is 1. */
struct conv {
    size_t x, w, bias; /* inputs; bias may be none: SIZE_MAX */
    unsigned dims;
    long stride[2], pad[2], dilation[2];
    bool same, groups;
    const char *from, *to; /* where it stands in the text */
};

static bool take_name(const char **s, const struct values *v, size_t *out)
{
    text_take(s, "");
    size_t n = text_word(*s);
    for (size_t i = 0; i < v->inputs; i++)
        if (text_is(*s, n, v->names[i])) {
            *s += n;
            *out = i;
            while (text_take(s, ".float()") || text_take(s, ".contiguous()"))
                ;
            return true;
        }
    return false;
}

/* Up to four numbers, alone or in brackets; how many. */
static unsigned take_numbers(const char **s, long *out)
{
    bool list = text_take(s, "(") || text_take(s, "[");
    unsigned n = 0;
    do {
        char *end;
        out[n] = strtol(*s, &end, 10);
        if (end == *s || out[n] < 0 || out[n] > 1024)
            return 0;
        *s = end;
        n++;
    } while (list && n < 4 && text_take(s, ","));
    return !list || text_take(s, ")") || text_take(s, "]") ? n : 0;
}

/* A number for each dimension. */
static bool take_pair(const char **s, unsigned dims, long *pair)
{
    long v[4];
    unsigned n = take_numbers(s, v);
    if (n != 1 && n != dims)
        return false;
    if (dims == 2)
        pair[0] = v[0];
    pair[1] = v[n - 1];
    return true;
}

/* groups=...: any expression; the weights' shape says what it comes to. */
static bool skip_value(const char **s)
{
    int depth = 0;
    for (; **s && (depth || (**s != ',' && **s != ')')); (*s)++)
        depth += **s == '(' || **s == '[' ? 1 : **s == ')' || **s == ']' ? -1 : 0;
    return **s;
}

static bool take_input(const char **s, const struct values *v, struct conv *c)
{
    if (!text_take(s, "torch.nn.functional.pad(") && !text_take(s, "F.pad("))
        return take_name(s, v, &c->x);
    long p[4];
    unsigned n = 0;
    bool ok = take_name(s, v, &c->x) && text_take(s, ",") && (n = take_numbers(s, p)) &&
              text_take(s, ")");
    if (!ok || (n != 2 && n != 4) || n > 2 * c->dims)
        return false;
    /* The last axis comes first; what follows the plane is in the result's shape. */
    c->pad[1] = p[0];
    c->pad[0] = n == 4 ? p[2] : 0;
    return true;
}

static bool take_options(const char **s, const struct values *v, struct conv *c)
{
    while (text_take(s, ",")) {
        long pad[2] = {0, 0};
        if (text_take(s, "stride=")) {
            if (!take_pair(s, c->dims, c->stride))
                return false;
        } else if (text_take(s, "padding=")) {
            if (text_take(s, "'same'") || text_take(s, "\"same\""))
                c->same = true;
            else if (!take_pair(s, c->dims, pad))
                return false;
            c->pad[0] += pad[0];
            c->pad[1] += pad[1];
        } else if (text_take(s, "dilation=")) {
            if (!take_pair(s, c->dims, c->dilation))
                return false;
        } else if (text_take(s, "groups=")) {
            c->groups = skip_value(s);
        } else if (!text_take(s, "bias=None") && !text_take(s, "None")) {
            text_take(s, "bias=");
            if (c->bias != SIZE_MAX || !take_name(s, v, &c->bias))
                return false;
        }
    }
    return text_take(s, ")");
}

static bool find_conv(const char *text, const struct values *v, struct conv *c)
{
    static const struct {
        const char *name;
        unsigned dims;
    } calls[] = {{"torch.nn.functional.conv1d(", 1},
                 {"torch.nn.functional.conv2d(", 2},
                 {"F.conv1d(", 1},
                 {"F.conv2d(", 2},
                 {"torch.conv1d(", 1},
                 {"torch.conv2d(", 2}};
    for (size_t i = 0; i < ARRAY_LEN(calls); i++) {
        const char *at = strstr(text, calls[i].name), *s = at;
        if (!at)
            continue;
        *c = (struct conv){.bias = SIZE_MAX,
                           .dims = calls[i].dims,
                           .stride = {1, 1},
                           .dilation = {1, 1},
                           .from = at};
        s += strlen(calls[i].name);
        bool ok = take_input(&s, v, c) && text_take(&s, ",") && take_name(&s, v, &c->w) &&
                  take_options(&s, v, c) && c->groups && c->stride[0] && c->stride[1] &&
                  c->dilation[0] && c->dilation[1];
        c->to = s;
        return ok;
    }
    return false;
}

/* A dimension that is a number, or an axis that always is one; 0 if it is neither. */
static long known_size(const json_t *task, const char *dim)
{
    const json_t *axes = json_object_get(task, "axes");
    for (size_t i = 0; i < json_array_size(axes); i++) {
        const json_t *a = json_array_get(axes, i);
        if (str_eq(facts_text(a, "name"), dim))
            return (long)json_integer_value(json_object_get(a, "value"));
    }
    char *end;
    long n = strtol(dim, &end, 10);
    return *end ? 0 : n;
}

/* A window's size must be known: the template unrolls it. */
static bool window(const json_t *task, const struct conv *c, long size[2])
{
    const json_t *w =
        json_object_get(json_array_get(json_object_get(task, "tensors"), c->w), "shape");
    size_t n = json_array_size(w);
    size[0] = size[1] = 1;
    if (n != c->dims + 2)
        return false;
    for (unsigned d = 0; d < c->dims; d++) {
        size[1 - d] = known_size(task, json_string_value(json_array_get(w, n - 1 - d)));
        if (size[1 - d] < 1 || size[1 - d] > MAX_WINDOW)
            return false;
    }
    return size[0] * size[1] <= MAX_WINDOW;
}

/* Is the name in the text [from, to)? */
static bool mentions_name(const char *from, const char *to, const char *name)
{
    for (const char *s = from; s < to; s++) {
        size_t n = text_word(s);
        if (n && text_is(s, n, name))
            return true;
        s += n ? n - 1 : 0;
    }
    return false;
}

static json_t *with_shape(const json_t *t, json_t *shape)
{
    json_t *copy = json_deep_copy(t);
    json_object_set_new(copy, "shape", shape);
    return copy;
}

/* [N, C, L] as [N, C, 1, L]. */
static json_t *as_planes(const json_t *t)
{
    json_t *shape = json_deep_copy(json_object_get(t, "shape"));
    if (json_array_size(shape) == 3)
        json_array_insert_new(shape, 2, json_string("1"));
    return with_shape(t, shape);
}

static bool see_planes(const json_t *task, const struct conv *c, json_t **made)
{
    const json_t *tensors = json_object_get(task, "tensors");
    const json_t *x = json_array_get(tensors, c->x), *w = json_array_get(tensors, c->w);
    size_t inputs = values_of(task).inputs;
    const json_t *y = json_array_get(tensors, inputs);
    const json_t *xs = json_object_get(x, "shape"), *ws = json_object_get(w, "shape");
    long size[2];
    const char *channels = json_string_value(json_array_get(xs, 1));
    if (!window(task, c, size) || json_array_size(tensors) != inputs + 1 ||
        json_array_size(xs) != c->dims + 2 ||
        json_array_size(json_object_get(y, "shape")) != c->dims + 2 ||
        !same_text(json_string_value(json_array_get(ws, 0)), channels) ||
        !same_text(json_string_value(json_array_get(ws, 1)), "1"))
        return false;
    json_t *seen = json_pack("[s, o, o]", channels, json_sprintf("%ld", size[0]),
                             json_sprintf("%ld", size[1]));
    *made = json_pack("{s:[o, o, o], s:{}}", "tensors", as_planes(x), with_shape(w, seen),
                      as_planes(y), "scalars");
    return true;
}

static void bind_geometry(struct pb_binding *b, const json_t *task, const struct conv *c)
{
    static const char *const sides[2] = {"h", "w"};
    long size[2] = {1, 1};
    window(task, c, size);
    for (int i = 0; i < 2; i++) {
        long pad = c->pad[i] + (c->same ? c->dilation[i] * (size[i] - 1) / 2 : 0);
        const struct {
            const char *name;
            long value;
        } texts[] = {{"stride", c->stride[i]}, {"pad", pad}, {"dilation", c->dilation[i]}};
        for (size_t k = 0; k < ARRAY_LEN(texts); k++)
            bind_text(b, arena_printf(&b->arena, "%s:%s", texts[k].name, sides[i]),
                      arena_printf(&b->arena, "%ld", texts[k].value));
    }
}

/* What is around the call, as an expression of its result: v<v->n>. */
static bool around_conv(const struct values *v, const struct conv *c, const char *text,
                        struct strbuf *expr, struct strbuf *why)
{
    struct values all = *v;
    char result[80] = "conv";
    for (size_t i = 0; i < v->n; i++) /* a name that no other has */
        if (strlen(v->names[i]) >= strlen(result))
            snprintf(result, sizeof result, "%.60s_conv", v->names[i]);
    if (v->n == ARRAY_LEN(all.names)) {
        strbuf_adds(why, "it has too many inputs and scalars");
        return false;
    }
    all.names[all.n] = result;
    all.types[all.n++] = DT_F32;
    bool bias = c->bias != SIZE_MAX;
    char *around = xasprintf("%.*s(%s%s%s)%s", (int)(c->from - text), text, result,
                             bias ? " + " : "", bias ? v->names[c->bias] : "", c->to);
    struct torch_names names = torch_names_of(&all);
    enum dtype type;
    bool ok = torch_to_c(around, &names, expr, &type, why);
    free(around);
    return ok;
}

/* The task with a bias that lies along the channels, as the call has it. NULL if it is of another
 * shape, or the expression has it once more, along the last axis. A new reference. */
static json_t *bias_of_channels(const json_t *task, const struct conv *c)
{
    json_t *copy = json_deep_copy(task);
    if (c->bias == SIZE_MAX)
        return copy;
    json_t *tensors = json_object_get(copy, "tensors");
    json_t *bias = json_array_get(tensors, c->bias), *shape = json_object_get(bias, "shape");
    const char *name = facts_text(bias, "name"), *text = facts_text(task, "torch");
    const json_t *x = json_object_get(json_array_get(tensors, c->x), "shape");
    bool once =
        !mentions_name(text, c->from, name) && !mentions_name(c->to, c->to + strlen(c->to), name);
    if (!once || json_array_size(shape) != 1 ||
        !same_text(json_string_value(json_array_get(shape, 0)),
                   json_string_value(json_array_get(x, 1)))) {
        json_decref(copy);
        return NULL;
    }
    for (unsigned d = 0; d < c->dims; d++)
        json_array_append_new(shape, json_string("1"));
    return copy;
}

const struct pb_op *conv_op_from_torch(const struct playbook *pb, const json_t *task,
                                       struct pb_binding *b, json_t **made, struct strbuf *why)
{
    struct values v = values_of(task);
    const char *text = facts_text(task, "torch");
    struct conv c;
    if (!find_conv(text, &v, &c) || !see_planes(task, &c, made)) {
        strbuf_adds(why,
                    "its PyTorch expression has no depthwise conv1d or conv2d of an input, with "
                    "groups, a window of known size and one output");
        return NULL;
    }
    json_t *with_bias = bias_of_channels(task, &c);
    struct strbuf expr = STRBUF_INIT(16 << 10);
    if (!with_bias)
        strbuf_adds(why, "its bias is not one value for each channel, or is used once more");
    bool ok = with_bias && around_conv(&v, &c, text, &expr, why);
    struct epilogue e = {.product = v.n, .used = {c.x, c.w}, .expr = expr.buf};
    ok = ok && bind_epilogue(b, with_bias, &e, why);
    if (ok)
        bind_geometry(b, task, &c);
    strbuf_release(&expr);
    json_decref(with_bias);
    return ok ? op_named(pb, "depthwise") : NULL;
}
