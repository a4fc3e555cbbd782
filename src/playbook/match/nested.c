/*
 * nested.c - matches reductions of reductions, as in a loss. Each row is reduced, an expression is
 * computed from the results, and its values for all rows are reduced to one.
 *
 *     (x - y).norm(dim=1).mean()     p[0]: a pass, the sum of the squares of a row
 *                                    v0: the outer reduction, the sum of sqrt(p[0]) over n rows
 *                                    post: the result, "(v0 / n)"
 *
 * graph_unfolded() (graph/normal/normal.h) rewrites operations along axes as sums and extremes
 * (maxima or minima). Each one along a row is a pass. No pass may use another pass, so the kernel
 * reads the inputs once. The operands of the passes have the shape [rows, cols], to which inputs
 * broadcast. An input that only the row's expression uses has an element for each row.
 */
#include <stdlib.h>

#include "base/util.h"
#include "graph/normal/normal.h"
#include "playbook/match/functions.h"
#include "playbook/match/match.h"

enum { MAX_PASSES = 8, MAX_DEPTH = 200 };

struct nested {
    struct match *x;
    const struct value *outer;            /* the reduction over the rows */
    const struct value *pass[MAX_PASSES]; /* sums and extremes along the rows */
    size_t n;
    const struct value *space;      /* an operand of a pass; all operands have this shape */
    const struct dim *rows, *cols;  /* the sizes of `space` before and along the reduced axes */
    bool seen[GRAPH_MAX_VALUES][2]; /* look() has visited a value: [0] outside a pass, [1] in one */
    bool in_row[PB_MAX_TENSORS];    /* inputs that the row's expression reads */
    bool in_pass[PB_MAX_TENSORS];   /* inputs that a pass reads */
};

static bool refuse(struct nested *c, const char *what, const struct value *v)
{
    if (!c->x->why->len)
        strbuf_addf(c->x->why, "the task's PyTorch expression has %s: '%s'", what,
                    op_row(v->op)->name);
    return false;
}

static bool is_pass(const struct value *v)
{
    return v->op == OP_SUM || v->op == OP_AMAX || v->op == OP_AMIN;
}

static bool is_leaf(const struct nested *c, const struct value *v)
{
    return op_row(v->op)->kind == OPK_LEAF || meaning_input(c->x->m, v) >= 0;
}

/* Finds the only reduction that no other reduction contains. */
static bool find_outer(struct nested *c, const struct value *v, bool *seen, unsigned depth)
{
    if (seen[v->id] || is_leaf(c, v))
        return true;
    seen[v->id] = true;
    if (depth > MAX_DEPTH)
        return refuse(c, "too deep a nesting", v);
    if (is_pass(v)) {
        if (c->outer)
            return refuse(c, "several reductions that are not part of each other", v);
        c->outer = v;
        return true;
    }
    if (op_row(v->op)->kind != OPK_ELEMENTWISE)
        return refuse(c, "an operation that is neither elementwise nor a sum or an extreme", v);
    for (uint32_t i = 0; i < v->nargs; i++)
        if (v->args[i] && !find_outer(c, v->args[i], seen, depth + 1))
            return false;
    return true;
}

/* Is the reduction v along the last axes? They begin at *from. */
static bool along_last(const struct value *v, uint32_t *from)
{
    const struct attr *dim = value_attr(v, "dim");
    uint32_t rank = v->args[0]->rank;
    *from = dim->n ? rank - (uint32_t)dim->n : 0;
    for (size_t i = 0; i < dim->n; i++)
        if (dim->ints[i] != (int64_t)(*from + i))
            return false;
    return true;
}

static bool add_pass(struct nested *c, const struct value *v)
{
    struct dim_pool *pool = &c->x->m->g.dims;
    const struct value *of = v->args[0];
    uint32_t from;
    if (!along_last(v, &from) || !from)
        return refuse(c, "a reduction inside of another that is not along the last axes", v);
    const struct dim *cols = dim_product(pool, of->shape + from, of->rank - from);
    if (c->n && (!value_same_shape(of, c->space) || !dim_same(cols, c->cols)))
        return refuse(c, "reductions of values of different shapes", v);
    if (c->n == MAX_PASSES)
        return refuse(c, "more reductions than the playbook takes", v);
    c->space = of;
    c->rows = dim_product(pool, of->shape, from);
    c->cols = cols;
    c->pass[c->n++] = v;
    return true;
}

static bool look(struct nested *c, const struct value *v, bool in_pass, unsigned depth)
{
    int input = meaning_input(c->x->m, v);
    if (input >= 0)
        (in_pass ? c->in_pass : c->in_row)[input] = true;
    if (is_leaf(c, v) || c->seen[v->id][in_pass])
        return true;
    c->seen[v->id][in_pass] = true;
    if (depth > MAX_DEPTH)
        return refuse(c, "too deep a nesting", v);
    bool pass = is_pass(v);
    if (pass && in_pass)
        return refuse(c, "a reduction that uses the result of another along the same axes", v);
    if (!pass && op_row(v->op)->kind != OPK_ELEMENTWISE && !(in_pass && v->op == OP_EXPAND))
        return refuse(c, "an operation that is neither elementwise nor a sum or an extreme", v);
    if (pass && !add_pass(c, v))
        return false;
    for (uint32_t i = 0; i < v->nargs; i++)
        if (v->args[i] && !look(c, v->args[i], in_pass || pass, depth + 1))
            return false;
    return true;
}

/* How many axes of size 1 see_space() adds to an input that only the row's expression uses. */
static uint32_t missing_axes(const struct nested *c)
{
    return c->space->rank - c->outer->args[0]->rank;
}

/* The outer reduction must be over all rows, and each input must be used in one shape. */
static bool check_shapes(struct nested *c)
{
    struct meaning *m = c->x->m;
    const struct value *of = c->outer->args[0];
    uint32_t from;
    if (!c->n)
        return refuse(c, "no reduction inside of another", c->outer);
    if (!along_last(c->outer, &from) || from || of->rank > c->space->rank ||
        !dim_same(dim_product(&m->g.dims, of->shape, of->rank), c->rows))
        return refuse(c, "a reduction that is not over all rows", c->outer);
    for (size_t i = 0; i < m->inputs; i++)
        if (c->in_row[i] && c->in_pass[i] && m->seen[i]->rank && missing_axes(c))
            return refuse(c, "an input in two shapes", m->seen[i]);
    return true;
}

/* ---- texts ----------------------------------------------------------------------------------- */

static bool row_leaf(void *ctx, const struct value *v, struct strbuf *out, struct strbuf *why)
{
    const struct nested *c = ctx;
    if (v->op == OP_SIZE && dim_same(v->size, c->cols)) {
        strbuf_adds(out, "length");
        return true;
    }
    for (size_t i = 0; i < c->n; i++)
        if (c->pass[i] == v) {
            strbuf_addf(out, "p[%zu]", i);
            return true;
        }
    return write_value_number(c->x->m, v, "", out);
}

/* Writes a leaf of `post`: the outer reduction is v0, the number of rows is n. Returns false for an
 * input, because `post` must not read inputs. */
static bool post_leaf(void *ctx, const struct value *v, struct strbuf *out, struct strbuf *why)
{
    const struct nested *c = ctx;
    bool rows = v->op == OP_SIZE && dim_same(v->size, c->rows);
    if (v == c->outer || rows) {
        strbuf_adds(out, rows ? "n" : "v0");
        return true;
    }
    return meaning_input(c->x->m, v) < 0 && write_value_number(c->x->m, v, "", out);
}

static bool bind_real(struct nested *c, const char *key, const struct value *v,
                      const struct leaves *leaves)
{
    struct strbuf out = STRBUF_INIT(MAX_EXPRESSION);
    bool ok = dtype_is_float(v->dtype) ? write_expression(v, leaves, &out, c->x->why)
                                       : refuse(c, "integers where the playbook takes floats", v);
    if (ok)
        bind_text(c->x->b, key, out.buf);
    strbuf_release(&out);
    return ok;
}

static const char *unit_of(enum graph_op op)
{
    return op == OP_SUM ? "0.f" : op == OP_AMAX ? "-" C_INFINITY : C_INFINITY;
}

static const char *join_of(enum graph_op op)
{
    return op == OP_SUM ? "sum_of" : op == OP_AMAX ? "max_nan" : "min_nan";
}

static bool bind_passes(struct nested *c)
{
    struct strbuf units = STRBUF_INIT(1024), take = STRBUF_INIT(64 << 10), join = STRBUF_INIT(4096);
    const struct leaves leaves = {row_leaf, c, false};
    bool ok = true;
    uint64_t inputs = 0;
    for (size_t i = 0; i < c->n && ok; i++) {
        struct strbuf term = STRBUF_INIT(MAX_EXPRESSION);
        const struct value *of = c->pass[i]->args[0];
        const char *how = join_of(c->pass[i]->op), *gap = i ? "\n    " : "";
        ok = dtype_is_float(of->dtype) || of->dtype == DT_BOOL
                 ? write_expression(of, &leaves, &term, c->x->why)
                 : refuse(c, "integers where the playbook takes floats", of);
        strbuf_addf(&units, "%s%s", i ? ", " : "", unit_of(c->pass[i]->op));
        strbuf_addf(&take, "%sp[%zu] = %s(p[%zu], %s);", gap, i, how, i, term.buf);
        strbuf_addf(&join, "%sp[%zu] = %s(p[%zu], q[%zu]);", gap, i, how, i, i);
        strbuf_release(&term);
    }
    for (size_t i = 0; i < c->x->m->inputs; i++)
        inputs |= c->in_pass[i] ? UINT64_C(1) << i : 0;
    bind_number(c->x->b, "passes:n", (int64_t)c->n);
    bind_number(c->x->b, "passes:inputs", (int64_t)inputs);
    bind_text(c->x->b, "passes:units", units.buf);
    bind_text(c->x->b, "passes:take", take.buf);
    bind_text(c->x->b, "passes:join", join.buf);
    ok = ok && !take.truncated;
    strbuf_release(&units);
    strbuf_release(&take);
    strbuf_release(&join);
    return ok;
}

static bool bind_texts(struct nested *c, const struct value *v)
{
    struct match *x = c->x;
    const struct leaves row = {row_leaf, c, false}, post = {post_leaf, c, false};
    bind_text(x->b, "outer:unit", unit_of(c->outer->op));
    bind_text(x->b, "outer:join", join_of(c->outer->op));
    bind_text(x->b, "rows", arena_printf(&x->m->mem, "(%s)", c->rows->text));
    bind_text(x->b, "cols", arena_printf(&x->m->mem, "(%s)", c->cols->text));
    return bind_passes(c) && bind_real(c, "expr", c->outer->args[0], &row) &&
           bind_real(c, "post", v, &post);
}

static void see_space(struct nested *c)
{
    json_t *task = json_deep_copy(c->x->m->facts), *t, *space = json_array();
    size_t k, n = 0;
    for (uint32_t i = 0; i < c->space->rank; i++)
        json_array_append_new(space, json_string(c->space->shape[i]->text));
    json_object_set_new(task, "space", space);
    json_array_foreach(json_object_get(task, "tensors"), k, t)
    {
        if (!json_is_true(json_object_get(t, "input")))
            continue;
        for (uint32_t i = 0; c->in_row[n] && !c->in_pass[n] && i < missing_axes(c); i++)
            json_array_append_new(json_object_get(t, "shape"), json_string("1"));
        n++;
    }
    c->x->seen = task;
}

const struct pb_op *match_nested(struct match *x)
{
    struct nested *c = xcalloc(1, sizeof *c);
    bool *seen = xcalloc(GRAPH_MAX_VALUES, sizeof *seen);
    c->x = x;
    const struct value *v = graph_unfolded(&x->m->g, x->v);
    bool ok = v && find_outer(c, v, seen, 0) && c->outer;
    ok = ok && look(c, c->outer->args[0], false, 0) && check_shapes(c) && bind_texts(c, v);
    if (ok)
        see_space(c);
    else if (!x->why->len)
        strbuf_adds(x->why, "the task's PyTorch expression has no reduction inside of another");
    free(seen);
    free(c);
    return ok ? op_called(x->pb, "*") : NULL;
}
