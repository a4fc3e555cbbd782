/*
 * pool.c - matches pooling: the sum, mean, maximum or minimum of each window. The windows lie along
 * the last one, two or three axes of the only input. The task may apply an expression to each
 * pooled value.
 *
 *     F.avg_pool2d(x, 3, stride=2, padding=1)
 *     pad -> windows along H -> windows along W -> sum over the windows -> div(9)
 *
 * The kernel sees [P, D, H, W] and [P, OD, OH, OW]. All other axes are merged into P. An axis that
 * the input lacks has size 1.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/util.h"
#include "playbook/match/functions.h"
#include "playbook/match/match.h"

enum { MAX_TAPS = 256 }; /* elements of a window */

/* Axis 0 is D, axis 1 is H, axis 2 is W. */
struct pool {
    struct match *x;
    const struct value *of, *reduced; /* the input or a reshape of it; the reduction */
    int64_t size[3], step[3], dilation[3], pad[3];
    double fill; /* the value of the padding */
};

static bool refuse(struct pool *p, const char *what, const struct value *v)
{
    cannot_write(p->x->why, what, v);
    return false;
}

static const char *name_of(const struct value *v)
{
    switch (v->op) {
    case OP_SUM:
        return "sum";
    case OP_MEAN:
        return "mean";
    case OP_AMAX:
        return "max";
    case OP_AMIN:
        return "min";
    default:
        return NULL;
    }
}

/* Returns the last reduction over windows that the output needs, or NULL. */
static const struct value *find_reduction(struct match *x)
{
    const bool *needed = graph_needed(&x->m->g, x->v, NULL, &x->m->mem);
    for (uint32_t i = x->v->id + 1; i-- > 0;) {
        const struct value *v = x->m->g.values.items[i];
        if (needed[i] && name_of(v) && v->args[0]->op == OP_WINDOWS)
            return v;
    }
    return NULL;
}

/* Goes from the reduction back through the windows, and notes their sizes. Sets p->of to the value
 * that they are windows of. */
static bool read_windows(struct pool *p)
{
    const struct value *v = p->reduced->args[0], *base = v;
    uint32_t windows = 0;
    for (; base->op == OP_WINDOWS; base = base->args[0])
        windows++;
    if (base->rank < 1 || v->rank != base->rank + windows)
        return refuse(p, "windows of windows at", v);
    const struct attr *dim = value_attr(p->reduced, "dim");
    bool all = dim->n == windows;
    for (size_t i = 0; all && i < windows; i++)
        all = dim->ints[i] == (int64_t)(base->rank + i);
    if (!all)
        return refuse(p, "a reduction that is not over whole windows at", p->reduced);
    for (; v->op == OP_WINDOWS; v = v->args[0]) {
        const struct dim *size = value_attr(v, "size")->dims[0];
        int64_t axis = value_attr(v, "dim")->ints[0] - (int64_t)base->rank + 3;
        if (axis < 0 || axis > 2 || !size->is_number || p->size[axis])
            return refuse(p, "windows that no playbook takes, at", v);
        p->size[axis] = size->value;
        p->step[axis] = value_attr(v, "step")->i;
        p->dilation[axis] = value_attr(v, "dilation")->i;
    }
    p->of = base;
    return true;
}

static bool read_padding(struct pool *p)
{
    const struct value *v = p->of;
    if (v->op == OP_PAD) {
        const struct attr *before = value_attr(v, "before"), *after = value_attr(v, "after");
        if (!value_is_number(v->args[1], &p->fill))
            return refuse(p, "padding that is not a number at", v);
        for (uint32_t i = 0; i < v->rank; i++)
            if (i + 3 >= v->rank)
                p->pad[i + 3 - v->rank] = before->ints[i];
            else if (before->ints[i] || after->ints[i])
                return refuse(p, "padding of other axes at", v);
        p->of = v->args[0];
    }
    const struct value *input = p->of->op == OP_RESHAPE ? p->of->args[0] : p->of;
    if (meaning_input(p->x->m, p->of) < 0 && meaning_input(p->x->m, input) < 0)
        return refuse(p, "windows of a value that is not the input:", p->of);
    return p->x->m->inputs == 1 || refuse(p, "more than one input at", p->of);
}

static bool leaf(void *ctx, const struct value *v, struct strbuf *out, struct strbuf *why)
{
    if (v == ctx)
        strbuf_adds(out, "v0");
    return v == ctx;
}

static bool bind_post(struct pool *p)
{
    struct strbuf post = STRBUF_INIT(MAX_EXPRESSION);
    struct leaves leaves = {leaf, (void *)p->reduced, false};
    bool ok = dtype_is_float(p->reduced->dtype) && dtype_is_float(p->x->v->dtype) &&
              write_expression(p->x->v, &leaves, &post, p->x->why);
    if (ok)
        bind_text(p->x->b, "post", post.buf);
    strbuf_release(&post);
    return ok;
}

static void bind_windows(struct pool *p)
{
    static const char *const axes[] = {"d", "h", "w"};
    char key[16];
    for (int i = 0; i < 3; i++) {
        const struct {
            const char *name;
            int64_t v;
        } numbers[] = {{"size", p->size[i] ? p->size[i] : 1},
                       {"step", p->size[i] ? p->step[i] : 1},
                       {"dilation", p->size[i] ? p->dilation[i] : 1},
                       {"pad", p->pad[i]}};
        for (size_t k = 0; k < ARRAY_LEN(numbers); k++) {
            snprintf(key, sizeof key, "%s:%s", numbers[k].name, axes[i]);
            bind_number(p->x->b, key, numbers[k].v);
        }
    }
    snprintf(key, sizeof key, "%.9g", p->fill);
    bool whole = !strpbrk(key, ".e");
    bind_text(p->x->b, "fill",
              isinf(p->fill) ? (p->fill < 0 ? "-" C_INFINITY : C_INFINITY)
                             : arena_printf(&p->x->m->mem, "%s%sf", key, whole ? "." : ""));
}

/* Returns a copy of the task in which all tensors have four axes. */
static json_t *see_axes(const struct pool *p)
{
    struct dim_pool *dims = &p->x->m->g.dims;
    json_t *task = json_deep_copy(p->x->m->facts), *t;
    size_t k;
    json_array_foreach(json_object_get(task, "tensors"), k, t)
    {
        const struct value *v = json_is_true(json_object_get(t, "input")) ? p->of : p->reduced;
        uint32_t axes = MIN(v->rank, 3u);
        json_t *shape = json_array();
        json_array_append_new(shape,
                              json_string(dim_product(dims, v->shape, v->rank - axes)->text));
        for (uint32_t i = 0; i < 3; i++)
            json_array_append_new(
                shape, json_string(i + axes < 3 ? "1" : v->shape[v->rank + i - 3]->text));
        json_object_set_new(t, "shape", shape);
    }
    return task;
}

const struct pb_op *match_pool(struct match *x)
{
    struct pool p = {.x = x, .reduced = find_reduction(x)};
    if (!p.reduced) {
        strbuf_adds(x->why, "the task's PyTorch expression has no pooling");
        return NULL;
    }
    if (!read_windows(&p) || !read_padding(&p) || !bind_post(&p))
        return NULL;
    int64_t taps = 1;
    for (int i = 0; i < 3; i++)
        taps *= MAX(p.size[i], 1);
    if (taps > MAX_TAPS) {
        refuse(&p, "windows that are too large at", p.reduced);
        return NULL;
    }
    bind_windows(&p);
    x->seen = see_axes(&p);
    return op_called(x->pb, name_of(p.reduced));
}
