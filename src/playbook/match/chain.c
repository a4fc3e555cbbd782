/*
 * chain.c - matches elementwise expressions that use sums, maxima or minima of each row, such as
 * norms.
 *
 *     x / x.abs().amax(-1, keepdim=True)     a pass finds the greatest |x| of a row, m; then x / m
 *
 * graph_unfolded() (graph/normal/normal.h) rewrites operations along the last axis as sums and
 * extremes. An extreme is a maximum or a minimum. Each sum or extreme is one pass over the row.
 * Later passes and the result may use the value of a pass.
 */
#include <string.h>

#include "base/util.h"
#include "graph/normal/normal.h"
#include "playbook/match/functions.h"
#include "playbook/match/match.h"

enum { MAX_PASSES = 8 };

struct chain {
    struct match *x;
    const struct dim *row;                /* the length of a row */
    const struct value *pass[MAX_PASSES]; /* sums and extremes, inner ones first */
    size_t n;
    uint64_t seen[GRAPH_MAX_VALUES / 64 + 1]; /* values that were looked at */
};

static bool refuse(struct chain *c, const char *what, const struct value *v)
{
    if (!c->x->why->len)
        strbuf_addf(c->x->why, "its PyTorch expression has %s: '%s'", what, op_row(v->op)->name);
    return false;
}

static bool is_pass(const struct value *v)
{
    return v->op == OP_SUM || v->op == OP_AMAX || v->op == OP_AMIN;
}

/* Does v have an element for each element of a row? */
static bool spans_rows(const struct chain *c, const struct value *v)
{
    return v->rank && dim_same(v->shape[v->rank - 1], c->row);
}

static bool add_pass(struct chain *c, const struct value *v)
{
    const struct attr *dim = value_attr(v, "dim");
    const struct value *of = v->args[0];
    if (!of || dim->n != 1 || dim->ints[0] != (int64_t)of->rank - 1 || !value_flag(v, "keepdim"))
        return refuse(c, "a reduction that is not along the last axis with keepdim", v);
    if (!spans_rows(c, of))
        return refuse(c, "a reduction of a value that is constant along a row", v);
    if (c->n == MAX_PASSES || c->x->m->n + 1 + MAX_PASSES > 2 * PB_MAX_TENSORS)
        return refuse(c, "more reductions than it can take", v);
    c->pass[c->n++] = v;
    return true;
}

/* Finds the passes under v, the inner ones first. */
static bool find_passes(struct chain *c, const struct value *v, unsigned depth)
{
    if (c->seen[v->id / 64] >> v->id % 64 & 1)
        return true;
    c->seen[v->id / 64] |= UINT64_C(1) << v->id % 64;
    if (depth > 200)
        return refuse(c, "too deep a nesting", v);
    for (uint32_t i = 0; i < v->nargs; i++)
        if (v->args[i] && !find_passes(c, v->args[i], depth + 1))
            return false;
    return !is_pass(v) || add_pass(c, v);
}

static bool is_length(const struct chain *c, const struct value *v)
{
    return v->op == OP_SIZE && dim_same(v->size, c->row);
}

/* Is v the length of a row minus 1, as in var()? The length may be a number. */
static bool is_length_less_one(const struct chain *c, const struct value *v)
{
    double length = 0, less = 0;
    return v->op == OP_SUB && value_is_number(v->args[1], &less) && less == 1 &&
           (is_length(c, v->args[0]) || (value_is_number(v->args[0], &length) &&
                                         c->row->is_number && length == (double)c->row->value));
}

/* Writes leaves. The kernel has the length of a row in a float variable, so the length minus 1 is a
 * float too. */
static bool leaf(void *ctx, const struct value *v, struct strbuf *out, struct strbuf *why)
{
    struct chain *c = ctx;
    const struct meaning *m = c->x->m;
    if (is_length(c, v) || is_length_less_one(c, v)) {
        strbuf_addf(out, v->op == OP_SIZE ? "v%zu" : "(v%zu - 1.f)", m->n);
        return true;
    }
    for (size_t i = 0; i < c->n; i++)
        if (c->pass[i] == v) {
            strbuf_addf(out, "v%zu", m->n + 1 + i);
            return true;
        }
    return write_value_number(m, v, "", out);
}

/* Writes an expression of floats. Refuses integers, because their sums would not be exact in
 * floats. */
static bool write_real(struct chain *c, const struct value *v, struct strbuf *out)
{
    struct leaves leaves = {leaf, c};
    if (!dtype_is_float(v->dtype) && v->dtype != DT_BOOL)
        return refuse(c, "integers where the playbook takes floats", v);
    return write_expression(v, &leaves, out, c->x->why);
}

static bool bind_passes(struct chain *c)
{
    struct strbuf all = STRBUF_INIT(64 << 10);
    bool ok = true;
    /* Variable number `first` is the row's length. One variable for each pass follows. */
    size_t first = c->x->m->n;
    strbuf_addf(&all, "float v%zu = float(cols);", first);
    for (size_t i = 0; i < c->n && ok; i++) {
        struct strbuf term = STRBUF_INIT(MAX_EXPRESSION);
        enum graph_op op = c->pass[i]->op;
        const char *unit = op == OP_SUM ? "0.f" : op == OP_AMAX ? "-" C_INFINITY : C_INFINITY;
        const char *join = op == OP_SUM ? "sum_of" : op == OP_AMAX ? "max_nan" : "min_nan";
        ok = write_real(c, c->pass[i]->args[0], &term);
        strbuf_addf(&all,
                    "\n    float v%zu = reduce(%s, %s, [&](@{in:values}) -> float { return %s; });",
                    first + 1 + i, unit, join, term.buf);
        strbuf_release(&term);
    }
    bind_text(c->x->b, "passes", all.buf);
    bind_number(c->x->b, "passes:n", (int64_t)c->n);
    ok = ok && !all.truncated;
    strbuf_release(&all);
    return ok;
}

const struct pb_op *match_chain(struct match *x)
{
    struct chain c = {.x = x};
    struct strbuf expr = STRBUF_INIT(MAX_EXPRESSION);
    bool ok = false;
    if (op_row(x->v->op)->kind == OPK_SOFTMAX) {
        refuse(&c, "a softmax, which has playbooks of its own", x->v);
    } else if (!x->v->rank) {
        refuse(&c, "no rows", x->v);
    } else {
        c.row = x->v->shape[x->v->rank - 1];
        const struct value *v = graph_unfolded(&x->m->g, x->v);
        ok = v && find_passes(&c, v, 0);
        if (ok && !c.n) {
            strbuf_adds(x->why, "its PyTorch expression has no reduction along the last axis");
            ok = false;
        }
        ok = ok && bind_passes(&c) && write_real(&c, v, &expr);
        if (!ok && !x->why->len)
            strbuf_adds(x->why,
                        "its PyTorch expression has a form that the playbook does not know");
    }
    if (ok)
        bind_text(x->b, "expr", expr.buf);
    strbuf_release(&expr);
    return ok ? op_called(x->pb, "*") : NULL;
}
