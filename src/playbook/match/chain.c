/*
 * chain.c - matches elementwise expressions that use sums, maxima or minima along axes, such as
 * norms. match.h explains ops and binding.
 *
 *     x / x.abs().amax(-1, keepdim=True)     a pass finds the greatest |x| of a row, m; then x / m
 *
 * graph_unfolded() (graph/normal/normal.h) rewrites operations along axes as sums and extremes
 * (maxima or minima). Each of these is one pass. Later passes and the result may use its value.
 *
 * All passes are along the same neighbouring axes, so the kernel sees the output as [outer, length,
 * inner]. A value is a *space* if it has an element for each element of the output, in the same
 * order. A reshape leads from one space to the next, as in a group norm. Inputs broadcast to the
 * shape of the output, or have the shape of another space.
 */
#include <stdlib.h>

#include "base/util.h"
#include "graph/normal/normal.h"
#include "playbook/match/functions.h"
#include "playbook/match/match.h"

enum { MAX_PASSES = 8, MAX_FIXED = 16 };

struct chain {
    struct match *x;
    const struct dim *outer, *length, *inner; /* NULL until a pass is found */
    const struct value *pass[MAX_PASSES];     /* inner ones first */
    size_t n;
    const struct value *space[GRAPH_MAX_VALUES]; /* the space that each value broadcasts to */
    bool in_pass[GRAPH_MAX_VALUES];
    bool full[PB_MAX_TENSORS];       /* inputs with the shape of another space than the output */
    bool broadcasts[PB_MAX_TENSORS]; /* inputs that broadcast to the output's shape */
    uint64_t summed;                 /* a bit for each input that a pass reads */
    /* Values that are the same for all elements of a row, such as a mean. The kernel computes them
     * once, in variables u0, u1, ... */
    const struct value *fixed[MAX_FIXED];
    size_t nfixed;
    const struct value
        *inverses[MAX_FIXED]; /* divisors that are the same for all of a row: w0, ... */
    size_t ninverses;
    bool exact; /* the task rounds to integers or compares, so small errors may become large */
    const struct value *fixed_now; /* the value whose variable is about to be written, or NULL */
    struct strbuf text; /* the variables and the passes, in the order of their computation */
};

static bool refuse(struct chain *c, const char *what, const struct value *v)
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

static bool same_axes(const struct chain *c, const struct dim *outer, const struct dim *length,
                      const struct dim *inner)
{
    return dim_same(outer, c->outer) && dim_same(length, c->length) && dim_same(inner, c->inner);
}

/* Sets [*from, *to) to the axes of v's operand that v reduces. Ignores axes of size 1. Returns
 * false if the reduced axes are not neighbours. */
static bool find_axes(const struct value *v, size_t *from, size_t *to)
{
    const struct attr *dim = value_attr(v, "dim");
    const struct value *of = v->args[0];
    bool along[GRAPH_MAX_RANK] = {0};
    for (size_t i = 0; i < dim->n; i++)
        along[dim->ints[i]] = true;
    *from = *to = of->rank;
    for (size_t i = 0; i < of->rank; i++)
        if ((along[i] || !dim->n) && !dim_is(of->shape[i], 1)) {
            *from = MIN(*from, i);
            *to = i + 1;
        }
    for (size_t i = *from; i < *to; i++)
        if (dim->n && !along[i] && !dim_is(of->shape[i], 1))
            return false;
    return true;
}

static bool add_pass(struct chain *c, const struct value *v)
{
    const struct value *of = v->args[0];
    struct dim_pool *pool = &c->x->m->g.dims;
    size_t from, to, reduced = value_attr(v, "dim")->n;
    if (!find_axes(v, &from, &to))
        return refuse(c, "a reduction along axes that are not side by side", v);
    if (!value_flag(v, "keepdim") && reduced && reduced != of->rank)
        return refuse(c, "a reduction without keepdim", v);
    const struct dim *outer = dim_product(pool, of->shape, from),
                     *length = dim_product(pool, of->shape + from, to - from),
                     *inner = dim_product(pool, of->shape + to, of->rank - to);
    if (c->n && !same_axes(c, outer, length, inner))
        return refuse(c, "reductions along different axes", v);
    if (c->n == MAX_PASSES || c->x->m->n + 1 + MAX_PASSES > 2 * PB_MAX_TENSORS)
        return refuse(c, "more reductions than the playbook takes", v);
    c->outer = outer;
    c->length = length;
    c->inner = inner;
    c->pass[c->n++] = v;
    return true;
}

static bool see_input(struct chain *c, const struct value *v, const struct value *space,
                      bool in_pass)
{
    int n = meaning_input(c->x->m, v);
    if (n < 0)
        return true;
    if (in_pass)
        c->summed |= UINT64_C(1) << n;
    if (!v->rank || value_same_shape(v, c->x->v))
        return true;
    if (value_same_shape(space, c->x->v))
        c->broadcasts[n] = true;
    else if (value_same_shape(v, space))
        c->full[n] = true;
    else
        return refuse(c, "an input that broadcasts before a reshape", v);
    return !(c->full[n] && c->broadcasts[n]) || refuse(c, "an input in two shapes", v);
}

/* Finds the passes, inner ones first. v broadcasts to the shape of `space`. */
static bool look(struct chain *c, const struct value *v, const struct value *space, bool in_pass,
                 unsigned depth)
{
    bool leaf = op_row(v->op)->kind == OPK_LEAF || meaning_input(c->x->m, v) >= 0;
    if (leaf)
        return see_input(c, v, space, in_pass);
    if (c->space[v->id] && v->rank && !value_same_shape(c->space[v->id], space))
        return refuse(c, "a value that is used in two shapes", v);
    if (c->space[v->id] && (!in_pass || c->in_pass[v->id]))
        return true;
    c->space[v->id] = space;
    c->in_pass[v->id] = in_pass;
    if (depth > 200)
        return refuse(c, "too deep a nesting", v);
    bool pass = is_pass(v);
    for (size_t i = 0; i < c->n; i++)
        if (c->pass[i] == v)
            return true;
    if (v->op == OP_RESHAPE) {
        if (!value_same_shape(v, space))
            return refuse(c, "a reshape of a value that has fewer elements than the output", v);
        return look(c, v->args[0], v->args[0], in_pass, depth + 1);
    }
    if (pass && !value_same_shape(v->args[0], space))
        return refuse(c, "a reduction of a value that is constant along an axis", v);
    if (!pass && v->op != OP_EXPAND && op_row(v->op)->kind != OPK_ELEMENTWISE)
        return refuse(c, "an operation that is neither elementwise nor a sum or an extreme", v);
    for (uint32_t i = 0; i < v->nargs; i++)
        if (v->args[i] && !look(c, v->args[i], space, in_pass || pass, depth + 1))
            return false;
    return !pass || add_pass(c, v);
}

static bool is_length(const struct chain *c, const struct value *v)
{
    return v->op == OP_SIZE && dim_same(v->size, c->length);
}

/* Is v the length of a pass, minus 1? The length may be a plain number in the graph. */
static bool is_length_less_one(const struct chain *c, const struct value *v)
{
    double length = 0, less = 0;
    return v->op == OP_SUB && value_is_number(v->args[1], &less) && less == 1 &&
           (is_length(c, v->args[0]) ||
            (value_is_number(v->args[0], &length) && c->length->is_number &&
             length == (double)c->length->value));
}

static bool is_pass_result(const struct chain *c, const struct value *v)
{
    for (size_t i = 0; i < c->n; i++)
        if (c->pass[i] == v)
            return true;
    return false;
}

/* Is v the same for all elements of a row? */
static bool same_in_row(const struct chain *c, const struct value *v, unsigned depth)
{
    if (is_pass_result(c, v))
        return true;
    if (meaning_input(c->x->m, v) >= 0 || depth > 20)
        return false;
    if (op_row(v->op)->kind == OPK_LEAF)
        return true;
    if (op_row(v->op)->kind != OPK_ELEMENTWISE && v->op != OP_EXPAND && v->op != OP_RESHAPE)
        return false;
    for (uint32_t i = 0; i < v->nargs; i++)
        if (v->args[i] && !same_in_row(c, v->args[i], depth + 1))
            return false;
    return true;
}

static bool leaf(void *ctx, const struct value *v, struct strbuf *out, struct strbuf *why);

/* If v is the same for all elements of a row, returns the number of the variable that has it, and
 * writes that variable before the next pass. Returns -1 if v needs no variable. */
static int fix(struct chain *c, const struct value *v)
{
    size_t i = 0;
    while (i < c->nfixed && c->fixed[i] != v)
        i++;
    if (i < c->nfixed)
        return (int)i;
    if (i == MAX_FIXED || op_row(v->op)->kind != OPK_ELEMENTWISE || !dtype_is_float(v->dtype) ||
        is_length_less_one(c, v) || !same_in_row(c, v, 0))
        return -1;
    struct strbuf text = STRBUF_INIT(MAX_EXPRESSION), why = STRBUF_INIT(1000);
    struct leaves leaves = {leaf, c, !c->exact};
    c->fixed_now = v;
    bool ok = write_expression(v, &leaves, &text, &why) && !text.truncated;
    c->fixed_now = NULL;
    if (ok) {
        i = c->nfixed++;
        c->fixed[i] = v;
        strbuf_addf(&c->text, "\n    float u%zu = %s;", i, text.buf);
    }
    strbuf_release(&text);
    strbuf_release(&why);
    return ok ? (int)i : -1;
}

/* Does v divide elements by a value that is the same for all elements of a row? */
static bool divides_row(const struct chain *c, const struct value *v)
{
    return v->op == OP_DIV && !c->exact && dtype_is_float(v->dtype) &&
           dtype_is_float(v->args[0]->dtype) && op_row(v->args[1]->op)->kind != OPK_LEAF &&
           same_in_row(c, v->args[1], 0) && !same_in_row(c, v->args[0], 0);
}

/* Writes the variable with the value v / v->args[1] divides by: an inverse, because a kernel
 * computes that once, and a multiplication is faster than a division. Returns false if there is
 * none. */
static bool write_inverse(struct chain *c, const struct value *v, struct strbuf *out)
{
    struct leaves leaves = {leaf, c, !c->exact};
    struct strbuf by = STRBUF_INIT(MAX_EXPRESSION), why = STRBUF_INIT(1000);
    size_t i = 0;
    bool ok = true;
    while (i < c->ninverses && c->inverses[i] != v)
        i++;
    if (i == c->ninverses) {
        ok = i < MAX_FIXED && write_expression(v, &leaves, &by, &why) && !by.truncated;
        if (ok) {
            strbuf_addf(&c->text, "\n    Inverse w%zu(%s);", i, by.buf);
            c->inverses[c->ninverses++] = v;
        }
    }
    if (ok)
        strbuf_addf(out, "w%zu", i);
    strbuf_release(&by);
    strbuf_release(&why);
    return ok;
}

/* The kernel has the length of a pass in a float variable, so length - 1 is a float too. */
static bool leaf(void *ctx, const struct value *v, struct strbuf *out, struct strbuf *why)
{
    struct chain *c = ctx;
    const struct meaning *m = c->x->m;
    if (is_length(c, v) || is_length_less_one(c, v)) {
        strbuf_addf(out, v->op == OP_SIZE ? "v%zu" : "(v%zu - 1.f)", m->n);
        return true;
    }
    const struct value *computed = c->fixed_now;
    c->fixed_now = NULL;
    int fixed = v == computed ? -1 : fix(c, v);
    if (fixed >= 0) {
        strbuf_addf(out, "u%d", fixed);
        return true;
    }
    struct leaves leaves = {leaf, c, !c->exact};
    if (divides_row(c, v)) {
        strbuf_addc(out, '(');
        if (!write_expression(v->args[0], &leaves, out, why))
            return true;
        strbuf_adds(out, " / ");
        if (!write_inverse(c, v->args[1], out))
            return !cannot_write(why, "the quotient", v);
        strbuf_addc(out, ')');
        return true;
    }
    for (size_t i = 0; i < c->n; i++)
        if (c->pass[i] == v) {
            strbuf_addf(out, "v%zu", m->n + 1 + i);
            return true;
        }
    if (write_value_number(m, v, "", out))
        return true;
    if (v->op != OP_RESHAPE && v->op != OP_EXPAND)
        return false;
    if (!write_expression(v->args[0], &leaves, out, why) && !why->len)
        cannot_write(why, "the view", v);
    return true;
}

/* Writes v as an expression. Refuses integers, because the kernel adds in floats, and sums of
 * integers would not be exact. */
static bool write_real(struct chain *c, const struct value *v, struct strbuf *out)
{
    struct leaves leaves = {leaf, c, !c->exact};
    if (!dtype_is_float(v->dtype) && v->dtype != DT_BOOL)
        return refuse(c, "integers where the playbook takes floats", v);
    return write_expression(v, &leaves, out, c->x->why);
}

/* If pass `first` sums e, returns the number of a pass that sums (e - mean of e)^2. Returns 0 if
 * there is none. The kernel computes both sums while it reads the elements once. */
static size_t find_squares(const struct chain *c, size_t first)
{
    const struct value *sum = c->pass[first];
    double n = 0;
    for (size_t i = first + 1; sum->op == OP_SUM && i < c->n; i++) {
        const struct value *square = c->pass[i]->args[0];
        if (c->pass[i]->op != OP_SUM || square->op != OP_SQUARE || square->args[0]->op != OP_SUB)
            continue;
        const struct value *e = square->args[0]->args[0], *mean = square->args[0]->args[1];
        if (e == sum->args[0] && mean->op == OP_DIV && mean->args[0] == sum &&
            (is_length(c, mean->args[1]) ||
             (value_is_number(mean->args[1], &n) && c->length->is_number &&
              n == (double)c->length->value)))
            return i;
    }
    return 0;
}

static bool write_pass(struct chain *c, size_t i, bool *done)
{
    struct strbuf term = STRBUF_INIT(MAX_EXPRESSION);
    size_t v = c->x->m->n + 1, squares = find_squares(c, i);
    enum graph_op op = c->pass[i]->op;
    const char *unit = op == OP_SUM ? "0.f" : op == OP_AMAX ? "-" C_INFINITY : C_INFINITY;
    const char *join = op == OP_SUM ? "sum_of" : op == OP_AMAX ? "max_nan" : "min_nan";
    bool ok = write_real(c, c->pass[i]->args[0], &term);
    if (squares)
        strbuf_addf(&c->text, "\n    float v%zu, v%zu;\n    moments(v%zu, v%zu, ", v + i,
                    v + squares, v + i, v + squares);
    else
        strbuf_addf(&c->text, "\n    float v%zu = reduce(%s, %s, ", v + i, unit, join);
    strbuf_addf(&c->text, "[&](@{in:values}) -> float { return %s; });", term.buf);
    done[i] = done[squares ? squares : i] = true;
    strbuf_release(&term);
    return ok;
}

static bool write_passes(struct chain *c)
{
    bool ok = true, done[MAX_PASSES] = {0};
    int64_t stages = 0;
    size_t bytes = 0;
    /* The first variable is the length. One for each pass follows. */
    strbuf_addf(&c->text, "float v%zu = float(length);", c->x->m->n);
    for (size_t i = 0; i < c->n && ok; i++)
        if (!done[i]) {
            ok = write_pass(c, i, done);
            stages++;
        }
    for (size_t i = 0; i < c->x->m->inputs; i++)
        bytes += c->summed >> i & 1 ? dtype_bytes(c->x->m->types[i]) : 0;
    bind_number(c->x->b, "passes:n", (int64_t)c->n);
    bind_number(c->x->b, "passes:stages", stages);
    bind_number(c->x->b, "passes:inputs", (int64_t)c->summed);
    bind_number(c->x->b, "passes:bytes", (int64_t)MAX(bytes, 1u));
    return ok;
}

static void bind_axes(struct chain *c)
{
    const struct {
        const char *key;
        const struct dim *dim;
    } axes[] = {{"outer", c->outer}, {"length", c->length}, {"inner", c->inner}};
    for (size_t i = 0; i < ARRAY_LEN(axes); i++)
        bind_text(c->x->b, axes[i].key, arena_printf(&c->x->m->mem, "(%s)", axes[i].dim->text));
}

static void see_full(struct chain *c)
{
    json_t *task = json_deep_copy(c->x->m->facts), *t, *shape = json_array();
    size_t k, n = 0;
    for (uint32_t i = 0; i < c->x->v->rank; i++)
        json_array_append_new(shape, json_string(c->x->v->shape[i]->text));
    json_array_foreach(json_object_get(task, "tensors"), k, t)
    {
        bool input = json_is_true(json_object_get(t, "input"));
        if (!input || c->full[n])
            json_object_set(t, "shape", shape);
        n += input;
    }
    json_decref(shape);
    c->x->seen = task;
}

static bool has_steps(const struct graph *g)
{
    for (size_t i = 0; i < g->values.n; i++)
        switch (g->values.items[i]->op) {
        case OP_CEIL:
        case OP_FLOOR:
        case OP_FLOOR_DIV:
        case OP_FMOD:
        case OP_FRAC:
        case OP_REMAINDER:
        case OP_ROUND:
        case OP_SIGN:
        case OP_TRUNC:
        case OP_EQ:
        case OP_NE:
        case OP_LT:
        case OP_LE:
        case OP_GT:
        case OP_GE:
            return true;
        default:
            break;
        }
    return false;
}

static bool find_chain(struct chain *c, struct strbuf *expr)
{
    struct match *x = c->x;
    if (op_row(x->v->op)->kind == OPK_SOFTMAX)
        return refuse(c, "a softmax, which has playbooks of its own", x->v);
    if (!x->v->rank)
        return refuse(c, "no rows", x->v);
    const struct value *v = graph_unfolded(&x->m->g, x->v);
    if (!v || !look(c, v, v, false, 0))
        return false;
    c->exact = has_steps(&x->m->g);
    if (!c->n) {
        strbuf_adds(x->why, "the task's PyTorch expression has no reduction with keepdim");
        return false;
    }
    /* The kernel rounds the result when it stores it. */
    bool rounds = v->op == OP_CAST && v->dtype == x->v->dtype && dtype_is_float(v->dtype) &&
                  v->args[0]->dtype == DT_F32;
    if (!write_passes(c) || !write_real(c, rounds ? v->args[0] : v, expr) || c->text.truncated)
        return false;
    bind_text(x->b, "passes", c->text.buf);
    return true;
}

const struct pb_op *match_chain(struct match *x)
{
    struct chain *c = xcalloc(1, sizeof *c);
    struct strbuf expr = STRBUF_INIT(MAX_EXPRESSION);
    c->x = x;
    c->text = (struct strbuf)STRBUF_INIT(64 << 10);
    bool ok = find_chain(c, &expr);
    if (ok) {
        bind_text(x->b, "expr", expr.buf);
        bind_axes(c);
        see_full(c);
    } else if (!x->why->len) {
        strbuf_adds(x->why,
                    "the task's PyTorch expression has a form that the playbook does not know");
    }
    strbuf_release(&expr);
    strbuf_release(&c->text);
    free(c);
    return ok ? op_called(x->pb, "*") : NULL;
}
