/* views.c - the steps of the normal form that deal with shapes (views.h). */
#include "graph/normal/views.h"

#include <math.h>
#include <string.h>

#include "base/util.h"
#include "graph/normal/rules.h"

/* ---- views of views -------------------------------------------------------------------------- */

/* Merges permute(permute(x)): axis i of the result is axis inner[outer[i]] of x. */
static const struct value *merge_permutes(struct graph *g, const struct value *v)
{
    const struct value *x = v->args[0];
    const struct attr *outer = value_attr(v, "dims");
    int64_t axes[GRAPH_MAX_RANK];
    bool moves = false;
    for (size_t i = 0; i < v->rank; i++)
        moves |= outer->ints[i] != (int64_t)i;
    if (!moves)
        return x;
    if (x->op != OP_PERMUTE)
        return NULL;
    for (size_t i = 0; i < v->rank; i++)
        axes[i] = value_attr(x, "dims")->ints[outer->ints[i]];
    return graph_permute(g, x->args[0], axes, NULL);
}

static bool is_whole_axis(const struct value *v)
{
    const struct value *x = v->args[0];
    return dim_is(value_attr(v, "start")->dims[0], 0) && value_attr(v, "step")->i == 1 &&
           dim_same(value_attr(v, "length")->dims[0], x->shape[value_attr(v, "dim")->ints[0]]);
}

const struct value *views_merge(struct graph *g, const struct value *v)
{
    const struct value *x = v->nargs ? v->args[0] : NULL;
    if (!x)
        return NULL;
    switch (v->op) {
    case OP_RESHAPE:
    case OP_EXPAND:
        if (value_fits(x, v))
            return x;
        return x->op == v->op ? graph_rebuild(g, v, x->args, NULL) : NULL;
    case OP_PERMUTE:
        return merge_permutes(g, v);
    case OP_SLICE:
        return is_whole_axis(v) ? x : NULL;
    case OP_CAST:
        return value_fits(x, v) ? x : NULL;
    default:
        return NULL;
    }
}

/* ---- reductions ------------------------------------------------------------------------------ */

static bool is_reduction(const struct value *v)
{
    return op_row(v->op)->kind == OPK_REDUCTION;
}

static bool reduces_all(const struct value *v)
{
    return is_reduction(v) && value_attr(v, "dim")->n == v->args[0]->rank;
}

static const struct value *with_keepdim(struct graph *g, const struct value *v, bool keep)
{
    struct attr attrs[GRAPH_MAX_ATTRS];
    memcpy(attrs, v->attrs, sizeof attrs);
    attrs[op_attr_place(v->op, "keepdim")] = attr_bool(keep);
    return graph_add(g, v->op, v->args, attrs, NULL);
}

/* Writes to `out` the shape that the reduction would have with keepdim set to `keep`. NULL stands
 * for size 1. Returns the rank. */
static size_t reduced_shape(const struct value *v, bool keep, const struct dim **out)
{
    const struct value *x = v->args[0];
    const struct attr *axes = value_attr(v, "dim");
    size_t n = 0, k = 0;
    for (size_t i = 0; i < x->rank; i++) {
        if (k == axes->n || axes->ints[k] != (int64_t)i) {
            out[n++] = x->shape[i];
            continue;
        }
        k++;
        if (keep)
            out[n++] = NULL; /* an axis of size 1 */
    }
    return n;
}

const struct value *views_keepdim(struct graph *g, const struct value *v)
{
    const struct dim *shape[GRAPH_MAX_RANK];
    const struct value *r = v->op == OP_RESHAPE ? v->args[0] : NULL;
    if (!r || !is_reduction(r))
        return NULL;
    bool keep = !value_flag(r, "keepdim");
    if (reduced_shape(r, keep, shape) != v->rank)
        return NULL;
    for (size_t i = 0; i < v->rank; i++)
        if (shape[i] ? !dim_same(shape[i], v->shape[i]) : !dim_is(v->shape[i], 1))
            return NULL;
    return with_keepdim(g, r, keep);
}

const struct value *views_under_reduction(struct graph *g, const struct value *v)
{
    if (!reduces_all(v) || value_flag(v, "keepdim") || v->args[0]->op != OP_RESHAPE)
        return NULL;
    struct attr attrs[GRAPH_MAX_ATTRS];
    memcpy(attrs, v->attrs, sizeof attrs);
    attrs[op_attr_place(v->op, "dim")] = attr_none(); /* all axes, however many */
    return graph_add(g, v->op, v->args[0]->args, attrs, NULL);
}

static bool has_one_element(const struct value *v)
{
    for (size_t i = 0; i < v->rank; i++)
        if (!dim_is(v->shape[i], 1))
            return false;
    return true;
}

const struct value *views_of_output(struct graph *g, const struct value *v)
{
    while (v->op == OP_RESHAPE && has_one_element(v))
        v = v->args[0];
    if (!reduces_all(v) || !value_flag(v, "keepdim"))
        return v;
    const struct value *made = with_keepdim(g, v, false);
    return made ? made : v;
}

/* ---- broadcasting ---------------------------------------------------------------------------- */

const struct value *views_hoist_expand(struct graph *g, const struct value *v)
{
    const struct value *args[GRAPH_MAX_ARGS] = {NULL};
    bool any = false;
    if (op_row(v->op)->kind != OPK_ELEMENTWISE)
        return NULL;
    for (size_t i = 0; i < v->nargs; i++) {
        bool expands = v->args[i] && v->args[i]->op == OP_EXPAND;
        args[i] = expands ? v->args[i]->args[0] : v->args[i];
        any |= expands;
    }
    const struct value *made = any ? graph_rebuild(g, v, args, NULL) : NULL;
    if (!made || value_fits(made, v))
        return made;
    struct attr shape = attr_dims(v->shape, v->rank);
    made = graph_add(g, OP_EXPAND, &made, &shape, NULL);
    return value_fits(made, v) ? made : NULL;
}

/* ---- sizes ----------------------------------------------------------------------------------- */

static const struct dim *size_of(struct graph *g, const struct value *v)
{
    if (v->op == OP_SIZE)
        return v->size;
    bool whole = v->op == OP_NUMBER && !dtype_is_float(v->dtype) && fabs(v->number) < 1e9;
    return whole ? dim_number(&g->dims, (int64_t)v->number) : NULL;
}

/* Python rounds a quotient down, but division of sizes rounds towards 0. The two agree if the
 * division leaves no remainder or if neither operand is negative. */
static const struct dim *floor_div(struct dim_pool *p, const struct dim *a, const struct dim *b)
{
    if (dim_is(b, 0))
        return NULL;
    const struct dim *q = dim_div(p, a, b);
    bool positive = a->is_number && b->is_number && a->value >= 0 && b->value > 0;
    return positive || dim_mul(p, q, b) == a ? q : NULL;
}

const struct value *views_fold_sizes(struct graph *g, const struct value *v)
{
    struct dim_pool *p = &g->dims;
    const struct dim *a = v->nargs ? size_of(g, v->args[0]) : NULL;
    const struct dim *b = a && v->nargs == 2 ? size_of(g, v->args[1]) : NULL, *d = NULL;
    double number;
    if (v->op == OP_NEG && value_is_number(v, &number) && fabs(number) < 1e18)
        return dtype_is_float(v->dtype) ? graph_number(g, number)
                                        : graph_integer(g, (int64_t)number);
    if (!b)
        return NULL;
    if (v->op == OP_ADD)
        d = dim_add(p, a, b);
    else if (v->op == OP_SUB)
        d = dim_sub(p, a, b);
    else if (v->op == OP_MUL)
        d = dim_mul(p, a, b);
    else if (v->op == OP_FLOOR_DIV)
        d = floor_div(p, a, b);
    return d ? graph_size(g, d) : NULL;
}
