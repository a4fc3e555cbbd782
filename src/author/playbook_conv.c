/* playbook_conv.c - depthwise convolutions, as a task's PyTorch expression has them. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "author/playbook_bind.h"
#include "author/playbook_torch.h"
#include "base/util.h"

/* The call, and what its arguments say. Pairs are of height and width; in one dimension the height
 * is 1. */
struct conv {
    size_t x, w, bias; /* inputs; bias may be none: SIZE_MAX */
    unsigned dims;
    long stride[2], pad[2], dilation[2];
    bool same, groups;
    const char *from, *to; /* where it stands in the text */
};

static const char *blanks(const char *s)
{
    return s + strspn(s, " \t\r\n");
}

static bool take(const char **s, const char *token)
{
    *s = blanks(*s);
    if (!str_starts(*s, token))
        return false;
    *s += strlen(token);
    return true;
}

static bool take_name(const char **s, const struct values *v, size_t *out)
{
    *s = blanks(*s);
    size_t n = 0;
    while (isalnum((unsigned char)(*s)[n]) || (*s)[n] == '_')
        n++;
    for (size_t i = 0; i < v->inputs; i++)
        if (strlen(v->names[i]) == n && memcmp(v->names[i], *s, n) == 0) {
            *s += n;
            *out = i;
            while (take(s, ".float()") || take(s, ".contiguous()"))
                ;
            return true;
        }
    return false;
}

/* Up to four numbers, alone or in brackets; how many. */
static unsigned take_numbers(const char **s, long *out)
{
    bool list = take(s, "(") || take(s, "[");
    unsigned n = 0;
    do {
        char *end;
        *s = blanks(*s);
        out[n] = strtol(*s, &end, 10);
        if (end == *s || out[n] < 0 || out[n] > 1024)
            return 0;
        *s = end;
        n++;
    } while (list && n < 4 && take(s, ","));
    return !list || take(s, ")") || take(s, "]") ? n : 0;
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
    if (!take(s, "torch.nn.functional.pad(") && !take(s, "F.pad("))
        return take_name(s, v, &c->x);
    long p[4];
    unsigned n = 0;
    bool ok = take_name(s, v, &c->x) && take(s, ",") && (n = take_numbers(s, p)) && take(s, ")");
    if (!ok || (n != 2 && n != 4) || n > 2 * c->dims)
        return false;
    c->pad[1] =
        p[0]; /* the last axis comes first; what follows the plane is in the result's shape */
    c->pad[0] = n == 4 ? p[2] : 0;
    return true;
}

static bool take_options(const char **s, const struct values *v, struct conv *c)
{
    while (take(s, ",")) {
        long pad[2] = {0, 0};
        if (take(s, "stride=")) {
            if (!take_pair(s, c->dims, c->stride))
                return false;
        } else if (take(s, "padding=")) {
            if (take(s, "'same'") || take(s, "\"same\""))
                c->same = true;
            else if (!take_pair(s, c->dims, pad))
                return false;
            c->pad[0] += pad[0];
            c->pad[1] += pad[1];
        } else if (take(s, "dilation=")) {
            if (!take_pair(s, c->dims, c->dilation))
                return false;
        } else if (take(s, "groups=")) {
            c->groups = skip_value(s);
        } else if (!take(s, "bias=None") && !take(s, "None")) {
            take(s, "bias=");
            if (c->bias != SIZE_MAX || !take_name(s, v, &c->bias))
                return false;
        }
    }
    return take(s, ")");
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
        bool ok = take_input(&s, v, c) && take(&s, ",") && take_name(&s, v, &c->w) &&
                  take_options(&s, v, c) && c->groups && c->stride[0] && c->stride[1] &&
                  c->dilation[0] && c->dilation[1];
        c->to = s;
        return ok;
    }
    return false;
}

/* A window's size must be a number of the task: the template unrolls it. */
static bool window(const json_t *w, unsigned dims, long size[2])
{
    size_t n = json_array_size(w);
    size[0] = size[1] = 1;
    if (n != dims + 2)
        return false;
    for (unsigned d = 0; d < dims; d++) {
        const char *text = json_string_value(json_array_get(w, n - 1 - d));
        char *end;
        size[1 - d] = strtol(text, &end, 10);
        if (*end || size[1 - d] < 1)
            return false;
    }
    return size[0] * size[1] <= 64;
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
    const json_t *y = json_array_get(tensors, values_of(task).inputs);
    const json_t *xs = json_object_get(x, "shape"), *ws = json_object_get(w, "shape");
    long size[2];
    const char *channels = json_string_value(json_array_get(xs, 1));
    if (!window(ws, c->dims, size) || json_array_size(xs) != c->dims + 2 ||
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

static void bind_geometry(struct pb_binding *b, const json_t *w, const struct conv *c)
{
    static const char *const sides[2] = {"h", "w"};
    long size[2] = {1, 1};
    window(w, c->dims, size);
    for (int i = 0; i < 2; i++) {
        long pad = c->same ? c->dilation[i] * (size[i] - 1) / 2 : c->pad[i];
        const struct {
            const char *name;
            long value;
        } texts[] = {{"stride", c->stride[i]}, {"pad", pad}, {"dilation", c->dilation[i]}};
        for (size_t k = 0; k < ARRAY_LEN(texts); k++)
            bind_text(b, arena_printf(&b->arena, "%s:%s", texts[k].name, sides[i]),
                      arena_printf(&b->arena, "%ld", texts[k].value));
    }
}

const struct pb_op *conv_op_from_torch(const struct playbook *pb, const json_t *task,
                                       struct pb_binding *b, json_t **made, struct strbuf *why)
{
    struct values v = values_of(task);
    const char *text = facts_text(task, "torch");
    const json_t *tensors = json_object_get(task, "tensors");
    struct conv c;
    if (!find_conv(text, &v, &c) || !see_planes(task, &c, made)) {
        strbuf_adds(why,
                    "its PyTorch expression has no depthwise conv1d or conv2d of an input, with "
                    "groups and a window of known size");
        return NULL;
    }
    /* What is around the call is an expression of its result, a value of another name. */
    const char *names[ARRAY_LEN(v.names) + 1];
    memcpy(names, v.names, sizeof v.names);
    names[v.n] = "conv_result";
    bool bias = c.bias != SIZE_MAX;
    char *around = xasprintf("%.*s(conv_result%s%s)%s", (int)(c.from - text), text,
                             bias ? " + " : "", bias ? v.names[c.bias] : "", c.to);
    struct strbuf expr = STRBUF_INIT(16 << 10);
    bool ok = torch_to_c(around, names, v.n + 1, &expr, why);
    struct epilogue e = {.product = v.n, .used = {c.x, c.w}, .channel = c.bias, .expr = expr.buf};
    ok = ok && bind_epilogue(b, task, &e, why);
    if (ok)
        bind_geometry(b, json_object_get(json_array_get(tensors, c.w), "shape"), &c);
    strbuf_release(&expr);
    free(around);
    return ok ? op_named(pb, "depthwise") : NULL;
}
