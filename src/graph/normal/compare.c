/* compare.c - do two values, or two graphs, compute the same? */
#include "graph/normal/compare.h"

#include "base/util.h"

/* A sum or product of at most MAX_OPERANDS operands matches in any order. graph_same_value() makes
 * at most SAME_STEPS comparisons. value_matches(), and graph_same() for each output, make at most
 * GRAPH_STEPS comparisons. */
enum { MAX_OPERANDS = 12, SAME_STEPS = 2000, GRAPH_STEPS = 200000 };

static bool same_dim(const struct dim *a, const struct dim *b)
{
    return a == b || (a && b && str_eq(a->fixed->key, b->fixed->key));
}

static bool same_dims(const struct dim *const *a, const struct dim *const *b, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!same_dim(a[i], b[i]))
            return false;
    return true;
}

bool attr_equal(const struct attr *a, const struct attr *b)
{
    if (a->kind != ATTR_DIMS && a->kind != ATTR_DIM)
        return attr_same(a, b);
    return a->kind == b->kind && a->n == b->n && same_dims(a->dims, b->dims, a->n);
}

/* If v's operation is `op`, adds the operands on both sides of v to out[n...], else adds v itself.
 * Stops as soon as there are more than max. Returns the new count. */
static size_t gather_operands(const struct value *v, enum graph_op op, const struct value **out,
                              size_t n, size_t max)
{
    if (n > max)
        return n;
    if (v->op != op) {
        if (n < max)
            out[n] = v;
        return n + 1;
    }
    n = gather_operands(v->args[0], op, out, n, max);
    return gather_operands(v->args[1], op, out, n, max);
}

size_t value_operands(const struct value *v, enum graph_op op, const struct value **out, size_t max)
{
    /* A long chain is nested on the left. Give up before the recursion gets deep. */
    size_t depth = 0;
    for (const struct value *left = v; left->op == op; left = left->args[0])
        if (++depth > max)
            return max + 1;
    return gather_operands(v, op, out, 0, max);
}

/* ---- variables ------------------------------------------------------------------------------- */

static bool is_number_or_scalar(const struct value *v)
{
    double number;
    return v->op == OP_SCALAR || value_is_number(v, &number);
}

/* Makes the variable `a` stand for b, unless it stands for a value already. Returns 1 if `a` stands
 * for b, 0 if it cannot, and -1 if `a` is not a variable. */
static int bind(struct value_match *m, const struct value *a, const struct value *b)
{
    size_t i = 0;
    while (i < m->n && m->variables[i] != a)
        i++;
    if (i == m->n)
        return -1;
    if (m->bound[i])
        return m->bound[i] == b || graph_same_value(m->bound[i], b);
    if (m->accept ? !m->accept(m->ctx, a, b) : !is_number_or_scalar(b))
        return 0;
    m->bound[i] = b;
    m->order[m->norder++] = i;
    return 1;
}

static void unbind(struct value_match *m, size_t to)
{
    while (m->norder > to)
        m->bound[m->order[--m->norder]] = NULL;
}

/* ---- values ---------------------------------------------------------------------------------- */

static bool matches(struct value_match *m, const struct value *a, const struct value *b);

/* Matches operands [done, n) of `a` and b in any order. */
static bool match_orders(struct value_match *m, const struct value **a, const struct value **b,
                         size_t done, size_t n)
{
    if (done == n)
        return true;
    size_t mark = m->norder;
    for (size_t i = done; i < n; i++) {
        const struct value *now = b[i];
        b[i] = b[done];
        b[done] = now;
        if (matches(m, a[done], now) && match_orders(m, a, b, done + 1, n))
            return true;
        unbind(m, mark);
        b[done] = b[i];
        b[i] = now;
    }
    return false;
}

static bool match_in_order(struct value_match *m, const struct value *a, const struct value *b)
{
    for (size_t i = 0; i < a->nargs; i++)
        if (!matches(m, a->args[i], b->args[i]))
            return false;
    return true;
}

static bool match_swapped(struct value_match *m, const struct value *a, const struct value *b)
{
    return matches(m, a->args[0], b->args[1]) && matches(m, a->args[1], b->args[0]);
}

static bool match_operands(struct value_match *m, const struct value *a, const struct value *b)
{
    if (a->op == OP_ADD || a->op == OP_MUL) {
        const struct value *as[MAX_OPERANDS], *bs[MAX_OPERANDS];
        size_t na = value_operands(a, a->op, as, MAX_OPERANDS);
        size_t nb = value_operands(b, a->op, bs, MAX_OPERANDS);
        if (na == nb && na <= MAX_OPERANDS)
            return match_orders(m, as, bs, 0, na);
        if (na != nb)
            return false;
    }
    size_t mark = m->norder;
    if (match_in_order(m, a, b))
        return true;
    unbind(m, mark);
    if (!op_is_commutative(a->op))
        return false;
    if (match_swapped(m, a, b))
        return true;
    unbind(m, mark);
    return false;
}

static bool same_leaf(const struct value *a, const struct value *b)
{
    if (a->op == OP_SIZE)
        return same_dim(a->size, b->size);
    return str_eq(a->name, b->name) && a->dtype == b->dtype && a->rank == b->rank &&
           same_dims(a->shape, b->shape, a->rank);
}

static bool same_attrs(const struct value *a, const struct value *b)
{
    for (size_t i = 0; i < a->nattrs; i++)
        if (!attr_equal(&a->attrs[i], &b->attrs[i]))
            return false;
    return true;
}

/* If v is a number, or a size whose axes are constant, sets *out to its value and returns true. */
static bool has_number(const struct value *v, double *out)
{
    if (v->op != OP_SIZE || !v->size->fixed->is_number)
        return value_is_number(v, out);
    *out = (double)v->size->fixed->value;
    return true;
}

static bool matches(struct value_match *m, const struct value *a, const struct value *b)
{
    double x, y;
    if (!a || !b)
        return a == b;
    if (!m->steps || !m->steps--)
        return false;
    int bound = m->n ? bind(m, a, b) : -1;
    if (bound >= 0)
        return bound;
    if (a == b && !m->n)
        return true;
    if (has_number(a, &x))
        return has_number(b, &y) && x == y;
    if (a->op != b->op || a->nargs != b->nargs || a->nattrs != b->nattrs)
        return false;
    if (op_row(a->op)->kind == OPK_LEAF)
        return same_leaf(a, b);
    if (m->same && m->same[a->id] == b)
        return true;
    if (!same_attrs(a, b) || !match_operands(m, a, b))
        return false;
    if (m->same)
        m->same[a->id] = b;
    return true;
}

bool value_matches(struct value_match *m, const struct value *a, const struct value *b)
{
    if (m->n > MATCH_MAX_VARIABLES)
        BUG("%zu variables in a match", m->n);
    m->steps = m->steps ? m->steps : GRAPH_STEPS;
    m->norder = 0;
    bool ok = matches(m, a, b);
    if (!ok)
        unbind(m, 0);
    return ok;
}

bool graph_same_value(const struct value *a, const struct value *b)
{
    struct value_match m = {.steps = SAME_STEPS};
    return a == b || value_matches(&m, a, b);
}

/* ---- graphs ---------------------------------------------------------------------------------- */

static bool has_leaves(const struct graph *g, const struct value *const *leaves, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const struct value *other = graph_find(g, leaves[i]->name);
        if (!other || other->op != leaves[i]->op || !same_leaf(leaves[i], other))
            return false;
    }
    return true;
}

static bool same_output(struct value_match *m, const struct graph_output *a,
                        const struct graph_output *b)
{
    return str_eq(a->name, b->name) && a->dtype == b->dtype && a->rank == b->rank &&
           same_dims(a->shape, b->shape, a->rank) && value_matches(m, a->value, b->value);
}

bool graph_same(const struct graph *a, const struct graph *b)
{
    if (a->inputs.n != b->inputs.n || a->scalars.n != b->scalars.n ||
        a->outputs.n != b->outputs.n || !has_leaves(b, a->inputs.items, a->inputs.n) ||
        !has_leaves(b, a->scalars.items, a->scalars.n))
        return false;
    struct value_match m = {.same = xcalloc(a->values.n + 1, sizeof(*m.same))};
    bool same = true;
    for (size_t i = 0; same && i < a->outputs.n; i++) {
        m.steps = GRAPH_STEPS;
        same = same_output(&m, &a->outputs.items[i], &b->outputs.items[i]);
    }
    free(m.same);
    return same;
}
