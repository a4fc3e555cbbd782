/*
 * along.c - matches reductions, softmaxes and scans of an elementwise expression, along adjacent
 * axes. match.h explains ops and binding.
 *
 *     (x * x).sum(dim=-1)              the op "sum" of "(v0 * v0)"
 *     1 - x.mean(-1)                   the op "mean" of "v0", and post "(1.f - v0)"
 *
 * For integers the op is "whole_sum", "whole_max" and so on, if the playbook has it. In post, the
 * expression after a reduction, v0 is the reduction's result.
 */
#include <stdio.h>
#include <string.h>

#include "base/util.h"
#include "playbook/match/match.h"

#define WHOLE "whole_"

struct along {
    const char *name; /* of the op; NULL if no playbook has such an op */
    const struct value *of;
    uint32_t from, to;
};

static const char *name_of(const struct value *v)
{
    static const char *const names[OP_COUNT] = {
        [OP_SUM] = "sum",         [OP_MEAN] = "mean",
        [OP_PROD] = "prod",       [OP_AMAX] = "max",
        [OP_AMIN] = "min",        [OP_ARGMAX] = "argmax",
        [OP_ARGMIN] = "argmin",   [OP_ANY] = "any",
        [OP_ALL] = "all",         [OP_LOGSUMEXP] = "logsumexp",
        [OP_SOFTMAX] = "softmax", [OP_LOG_SOFTMAX] = "log_softmax",
        [OP_SOFTMIN] = "softmin", [OP_CUMSUM] = "cumsum",
        [OP_CUMPROD] = "cumprod", [OP_CUMMAX] = "cummax",
        [OP_CUMMIN] = "cummin"};
    if (v->op == OP_NORM)
        return value_attr(v, "p")->real == 2 ? "norm" : NULL;
    if (v->op != OP_VAR && v->op != OP_STD)
        return names[v->op];
    int64_t correction = value_attr(v, "correction")->i;
    bool var = v->op == OP_VAR;
    return correction == 0   ? (var ? "pvar" : "pstd")
           : correction == 1 ? (var ? "var" : "std")
                             : NULL;
}

static bool is_zero(const struct value *v)
{
    double number;
    while (v->op == OP_EXPAND || v->op == OP_CAST || v->op == OP_RESHAPE)
        v = v->args[0];
    return value_is_number(v, &number) && number == 0;
}

/* An exclusive scan is a zero, followed by the running sums of all elements except the last.
 * Returns the scanned value, or NULL. */
static const struct value *exclusive_scan_of(const struct value *v)
{
    if (v->op != OP_CAT || v->nargs < 2 || (v->nargs > 2 && v->args[2]) ||
        v->args[1]->op != OP_CUMSUM || v->args[1]->args[0]->op != OP_SLICE)
        return NULL;
    const struct value *zero = v->args[0], *sum = v->args[1], *part = sum->args[0],
                       *of = part->args[0];
    int64_t dim = value_attr(v, "dim")->ints[0];
    const struct attr *start = value_attr(part, "start");
    bool same = value_attr(sum, "dim")->ints[0] == dim && value_attr(part, "dim")->ints[0] == dim &&
                value_same_shape(of, v) && dim_is(zero->shape[dim], 1) && dim_is(start->dims[0], 0);
    return same && is_zero(zero) ? of : NULL;
}

static bool is_reduction(const struct value *v)
{
    return op_row(v->op)->kind == OPK_REDUCTION && v->op != OP_ARGMAX && v->op != OP_ARGMIN &&
           v->op != OP_ANY && v->op != OP_ALL;
}

/* ---- the expression after a reduction -------------------------------------------------------- */

/* Counts the reductions in the task's expression that no other reduction contains. Sets *found to
 * the last of them. */
static unsigned outermost(const struct match *x, const struct value **found)
{
    const bool *needed = graph_needed(&x->m->g, x->v, is_reduction, &x->m->mem);
    unsigned n = 0;
    for (size_t i = 0; i <= x->v->id; i++)
        if (needed[i] && is_reduction(x->m->g.values.items[i])) {
            *found = x->m->g.values.items[i];
            n++;
        }
    return n;
}

struct post {
    const struct value *reduction;
    const struct meaning *m;
};

/* Writes a leaf of `post`: the reduction is v0. Returns false for an input, because `post` must not
 * read inputs. */
static bool post_leaf(void *ctx, const struct value *v, struct strbuf *out, struct strbuf *why)
{
    const struct post *p = ctx;
    if (v == p->reduction) {
        strbuf_adds(out, "v0");
        return true;
    }
    return meaning_input(p->m, v) < 0 && write_value_number(p->m, v, "", out);
}

/* Splits an expression such as "torch.sqrt(x.mean(-1) + 1)" into the reduction, which it returns,
 * and `post`. */
static const struct value *split_post(struct match *x, struct strbuf *post)
{
    const struct value *reduction = NULL;
    if (name_of(x->v) || exclusive_scan_of(x->v))
        return x->v;
    unsigned n = outermost(x, &reduction);
    if (n != 1 || !op_called(x->pb, "sum")) {
        cannot_write(x->why, n ? "more than one reduction at" : "no reduction that Hone knows, but",
                     x->v);
        return NULL;
    }
    struct post around = {reduction, x->m};
    struct leaves leaves = {post_leaf, &around, false};
    if (!write_expression(x->v, &leaves, post, x->why))
        return NULL;
    if (!dtype_is_float(x->v->dtype) || !dtype_is_float(reduction->dtype)) {
        strbuf_addf(x->why, "it can compute '%s' of integers, but no expression of the result",
                    name_of(reduction));
        return NULL;
    }
    return reduction;
}

/* ---- the axes -------------------------------------------------------------------------------- */

static bool find_axes(const struct value *v, struct along *out, struct strbuf *why)
{
    const struct attr *dim = value_attr(v, "dim");
    const struct value *exclusive = exclusive_scan_of(v);
    out->name = exclusive ? "exclusive_cumsum" : name_of(v);
    out->of = exclusive ? exclusive : v->args[0];
    if (!out->name)
        return cannot_write(why, "options that no playbook has, at", v);
    for (size_t i = 1; i < dim->n; i++)
        if (dim->ints[i] != dim->ints[i - 1] + 1)
            return cannot_write(why, "axes that are not side by side at", v);
    out->from = dim->n ? (uint32_t)dim->ints[0] : 0;
    out->to = out->from + (uint32_t)dim->n;
    return true;
}

static json_t *shape_of(const struct value *v)
{
    json_t *shape = json_array();
    for (uint32_t i = 0; i < v->rank; i++)
        json_array_append_new(shape, json_string(v->shape[i]->text));
    return shape;
}

/* Is `other` equal to `shape`, with the axes [from, to) removed or of size 1? */
static bool keeps_others(const json_t *shape, const struct along *a, const json_t *other)
{
    size_t n = json_array_size(shape), axes = a->to - a->from, k = 0;
    bool kept = json_array_size(other) == n;
    if (!kept && json_array_size(other) != n - axes)
        return false;
    for (size_t i = 0; i < n; i++) {
        bool gone = i >= a->from && i < a->to;
        if (gone && !kept)
            continue;
        const char *want = gone ? "1" : json_string_value(json_array_get(shape, i));
        if (!same_text(want, json_string_value(json_array_get(other, k++))))
            return false;
    }
    return true;
}

/*
 * Returns a copy of the task in which the tensors have the shapes of the op's roles. With `rows`,
 * the op's axes are merged into the last axis. Otherwise a tensor gets three axes: all axes before
 * `from`, [from, to), and all after. The result of a reduction lacks the middle axis.
 */
static json_t *see_axes(const json_t *task, const struct along *a, bool rows)
{
    struct arena mem = ARENA_INIT;
    json_t *copy = json_deep_copy(task), *t, *seen = json_array(), *shape = shape_of(a->of);
    const char *before = dims_product(&mem, shape, 0, a->from),
               *axes = dims_product(&mem, shape, a->from, a->to),
               *after = dims_product(&mem, shape, a->to, json_array_size(shape));
    size_t k;
    for (size_t i = 0; rows && i < a->from; i++)
        json_array_append(seen, json_array_get(shape, i));
    if (!rows)
        json_array_append_new(seen, json_string(before));
    json_array_append_new(seen, json_string(axes));
    if (!rows)
        json_array_append_new(seen, json_string(after));
    json_array_foreach(json_object_get(copy, "tensors"), k, t)
    {
        const json_t *own = json_object_get(t, "shape");
        bool input = json_is_true(json_object_get(t, "input"));
        if ((input || !rows) && same_shape(own, shape))
            json_object_set(t, "shape", seen);
        else if (!rows && !input && keeps_others(shape, a, own))
            json_object_set_new(t, "shape", json_pack("[s, s]", before, after));
    }
    json_decref(seen);
    json_decref(shape);
    arena_release(&mem);
    return copy;
}

/* Returns a copy of the task with two more keys: "space", the shape to which the inputs broadcast,
 * and "reduced", the number of reduced axes. Binds C to the number of elements of a row. */
static json_t *see_space(struct match *x, const struct along *a)
{
    json_t *copy = json_deep_copy(x->m->facts), *shape = shape_of(a->of);
    bind_text(x->b, "C",
              arena_printf(&x->m->mem, "(%s)", dims_product(&x->m->mem, shape, a->from, a->to)));
    json_object_set_new(copy, "space", shape);
    json_object_set_new(copy, "reduced", json_integer(a->to - a->from));
    return copy;
}

/* ---- the op ---------------------------------------------------------------------------------- */

static bool is_whole(const struct pb_op *op)
{
    return str_starts(op->name, WHOLE);
}

static const struct pb_op *op_for(struct match *x, const struct along *a, bool rows)
{
    char name[64];
    snprintf(name, sizeof name, WHOLE "%s", a->name);
    const struct pb_op *op = dtype_is_float(a->of->dtype) ? NULL : op_called(x->pb, name);
    op = op ? op : op_called(x->pb, a->name);
    bool last = a->to == a->of->rank;
    if (rows != last)
        strbuf_addf(x->why, "it works along %s",
                    rows ? "the last axis" : "other axes than the last");
    else if (!op)
        strbuf_addf(x->why, "it does not know '%s'", a->name);
    else if (!dtype_is_float(a->of->dtype) && a->of->dtype != DT_BOOL && !is_whole(op))
        strbuf_addf(x->why, "it takes '%s' of floats, not of integers", a->name);
    return x->why->len ? NULL : op;
}

static bool bind_values(struct match *x, const struct pb_op *op, const struct along *a,
                        const struct strbuf *post)
{
    if (!json_object_get(op->texts, "expr")) {
        if (meaning_input(x->m, a->of) != 0)
            strbuf_addf(x->why, "it takes '%s' only of the input, not of an expression", a->name);
        return !x->why->len;
    }
    struct strbuf expr = STRBUF_INIT(MAX_EXPRESSION);
    struct leaves leaves = usual_leaves(x->m);
    bool ok = write_expression(a->of, &leaves, &expr, x->why);
    if (ok && is_whole(op) && post->len) {
        strbuf_addf(x->why, "it can compute '%s' of integers, but no expression of the result",
                    a->name);
        ok = false;
    }
    if (ok) {
        bind_text(x->b, "expr", expr.buf);
        bind_text(x->b, "post", post->len ? post->buf : "v0");
        if (is_whole(op))
            bind_text(x->b, "expr:type", value_type(a->of->dtype));
    }
    strbuf_release(&expr);
    return ok;
}

static const struct pb_op *along_axes(struct match *x, bool rows)
{
    struct strbuf post = STRBUF_INIT(MAX_EXPRESSION);
    struct along a = {0};
    const struct value *v = split_post(x, &post);
    const struct pb_op *op = v && find_axes(v, &a, x->why) ? op_for(x, &a, rows) : NULL;
    if (op && !bind_values(x, op, &a, &post))
        op = NULL;
    if (op && rows && op->sig->tensors[0].broadcast && is_reduction(v))
        x->seen = see_space(x, &a);
    else if (op && (!rows || a.to - a.from != 1))
        x->seen = see_axes(x->m->facts, &a, rows);
    strbuf_release(&post);
    return op;
}

const struct pb_op *match_rows(struct match *x)
{
    return along_axes(x, true);
}

const struct pb_op *match_axis(struct match *x)
{
    return along_axes(x, false);
}
