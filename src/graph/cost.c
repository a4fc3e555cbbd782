/* cost.c - finds the class of a graph, and counts its flops and bytes. */
#include "graph/cost.h"

#include <math.h>
#include <stdlib.h>

#include "base/util.h"

/* ---- class ----------------------------------------------------------------------------------- */

struct census {
    uint32_t by_kind[OPK_LOSS + 1];
    bool computes; /* there is an elementwise operation other than a cast */
    bool spreads;  /* a reduction's result is broadcast, as in a norm */
    bool permutes;
};

/* Returns whether v broadcasts its operand `a`. Of the views, only an expand broadcasts. A reshape
 * from [R] to [R, 1], for example, does not, although value_repeats() is true for it. */
static bool broadcasts(const struct value *a, const struct value *v)
{
    bool may = op_row(v->op)->kind == OPK_ELEMENTWISE || v->op == OP_EXPAND;
    return may && value_repeats(a, v);
}

/* Sets reduced[v->id] if v is the result of a reduction, or has elements that come from such a
 * result without a broadcast. */
static void mark_reduced(const struct value *v, bool *reduced)
{
    enum op_kind k = op_row(v->op)->kind;
    reduced[v->id] = k == OPK_REDUCTION;
    for (uint32_t i = 0; i < v->nargs && (k == OPK_ELEMENTWISE || k == OPK_VIEW); i++)
        if (v->args[i] && !broadcasts(v->args[i], v))
            reduced[v->id] |= reduced[v->args[i]->id];
}

static void count_value(const struct value *v, const bool *reduced, struct census *c)
{
    enum op_kind k = op_row(v->op)->kind;
    c->by_kind[k]++;
    c->computes |= k == OPK_ELEMENTWISE && v->op != OP_CAST;
    c->permutes |= v->op == OP_PERMUTE;
    for (uint32_t i = 0; i < v->nargs; i++)
        c->spreads |= v->args[i] && reduced[v->args[i]->id] && broadcasts(v->args[i], v);
}

static enum task_class class_of_kind(enum op_kind k)
{
    switch (k) {
    case OPK_PRODUCT:
        return CLASS_GEMM;
    case OPK_CONV:
        return CLASS_CONV;
    case OPK_ATTENTION:
        return CLASS_ATTENTION;
    case OPK_SOFTMAX:
        return CLASS_SOFTMAX;
    case OPK_SCAN:
    case OPK_RECURRENT:
        return CLASS_SCAN;
    case OPK_NORM:
        return CLASS_NORM;
    case OPK_GATHER:
        return CLASS_GATHER;
    case OPK_REDUCTION:
    case OPK_LOSS:
        return CLASS_REDUCTION;
    default:
        return CLASS_ELEMENTWISE;
    }
}

enum task_class graph_class(const struct graph *g)
{
    struct arena a = ARENA_INIT;
    struct census c = {.computes = false};
    const uint32_t *uses = graph_uses(g, &a);
    bool *reduced = arena_alloc(&a, (g->values.n + 1) * sizeof *reduced);
    for (size_t i = 0; i < g->values.n; i++)
        mark_reduced(g->values.items[i], reduced);
    for (size_t i = 0; i < g->values.n; i++)
        if (uses[i])
            count_value(g->values.items[i], reduced, &c);
    arena_release(&a);
    uint32_t *n = c.by_kind;
    uint32_t heavy = n[OPK_PRODUCT] + n[OPK_CONV] + n[OPK_ATTENTION] + n[OPK_RECURRENT];
    uint32_t light = n[OPK_NORM] + n[OPK_SOFTMAX] + n[OPK_SCAN] + n[OPK_GATHER] + n[OPK_LOSS];
    if (heavy + light + (heavy ? n[OPK_REDUCTION] : 0) > 1)
        return CLASS_CHAIN;
    static const enum op_kind first[] = {OPK_PRODUCT,   OPK_CONV,   OPK_ATTENTION,
                                         OPK_RECURRENT, OPK_NORM,   OPK_SOFTMAX,
                                         OPK_SCAN,      OPK_GATHER, OPK_LOSS};
    for (size_t i = 0; i < ARRAY_LEN(first); i++)
        if (n[first[i]])
            return class_of_kind(first[i]);
    if (n[OPK_REDUCTION])
        return c.spreads ? CLASS_NORM : CLASS_REDUCTION;
    return c.permutes && !c.computes ? CLASS_TRANSPOSE : CLASS_ELEMENTWISE;
}

/* ---- flops ----------------------------------------------------------------------------------- */

static const struct dim *elements(struct graph *g, const struct value *v)
{
    return dim_product(&g->dims, v->shape, v->rank);
}

static const struct dim *times(struct graph *g, const struct dim *d, int64_t n)
{
    return dim_mul(&g->dims, d, dim_number(&g->dims, n));
}

/* Returns how many products are added up for one element of v. For OP_CONV_TRANSPOSE: how many
 * weights multiply an element of the input. */
static const struct dim *pairs(struct graph *g, const struct value *v)
{
    const struct value *a = v->args[0], *w = v->args[1];
    if (v->op == OP_MATMUL)
        return a->shape[a->rank - 1];
    return dim_product(&g->dims, w->shape + 1, w->rank - 1);
}

const struct dim *value_flops(struct graph *g, const struct value *v)
{
    struct dim_pool *p = &g->dims;
    unsigned each = op_row(v->op)->flops;
    switch (v->op) {
    case OP_MATMUL:
    case OP_CONV:
        return times(g, dim_mul(p, elements(g, v), pairs(g, v)), each);
    case OP_CONV_TRANSPOSE:
        return times(g, dim_mul(p, elements(g, v->args[0]), pairs(g, v)), each);
    /* q . k and weights . values, each with 2 flops for each pair of factors */
    case OP_ATTENTION: {
        const struct value *q = v->args[0], *k = v->args[1];
        const struct dim *n = dim_add(p, elements(g, q), elements(g, v));
        return times(g, dim_mul(p, n, k->shape[k->rank - 2]), 2);
    }
    case OP_LSTM:
    case OP_GRU:
    case OP_RNN: /* each gate of each step multiplies the state by a row of the weight */
        return times(g, dim_mul(p, elements(g, v->args[0]), v->args[1]->shape[1]), each);
    case OP_INDEX_ADD:
        return times(g, elements(g, v->args[2]), each);
    case OP_EMBEDDING_BAG:
        return dim_add(p, dim_mul(p, elements(g, v->args[0]), v->shape[1]), elements(g, v));
    default:
        return times(g, elements(g, op_row(v->op)->kind == OPK_ELEMENTWISE ? v : v->args[0]), each);
    }
}

/* Does v hold the indices (OP_IOTA) along one axis only? from_last counts the axes
 * after that axis. */
static bool is_index(const struct value *v, uint32_t from_last)
{
    for (uint32_t i = 0; i < v->rank; i++)
        if (i + 1 + from_last != v->rank && !dim_is(v->shape[i], 1))
            return false;
    while (v->op == OP_RESHAPE)
        v = v->args[0];
    return v->op == OP_IOTA && v->rank == 1;
}

/* Does v compare the column index with the row index, as the masks of triu and tril do? If v
 * has the form "row - column < NUMBER", *k becomes that number, else 0. */
static bool compares_indices(const struct value *v, double *k)
{
    bool is_order = v->op == OP_LT || v->op == OP_LE || v->op == OP_GT || v->op == OP_GE;
    if (!is_order)
        return false;
    const struct value *x = v->args[0], *y = v->args[1];
    *k = 0;
    if (x->op == OP_SUB && value_is_number(y, k)) {
        y = x->args[1];
        x = x->args[0];
    }
    return (is_index(x, 0) && is_index(y, 1)) || (is_index(x, 1) && is_index(y, 0));
}

/* If v is a matrix product, or is computed from one element by element, returns the product.
 * Returns NULL if anything else uses the product or a value on the way to v. */
static const struct value *only_product(const struct value *v, const uint32_t *uses)
{
    while (uses[v->id] == 1 && op_row(v->op)->kind == OPK_ELEMENTWISE) {
        const struct value *next = NULL;
        for (uint32_t i = 0; i < v->nargs; i++)
            if (value_same_shape(v->args[i], v) && op_row(v->args[i]->op)->kind != OPK_LEAF)
                next = v->args[i];
        if (!next)
            return NULL;
        v = next;
    }
    return uses[v->id] == 1 && v->op == OP_MATMUL && v->rank > 1 ? v : NULL;
}

static bool is_constant(const struct value *v)
{
    double number;
    while (v->op == OP_CAST)
        v = v->args[0];
    return value_is_number(v, &number);
}

/* If `where` keeps a triangle of a matrix product, returns the product, and sets *flops to the
 * flops of the triangle. Otherwise returns NULL. */
static const struct value *kept_triangle(struct graph *g, const struct value *where,
                                         const uint32_t *uses, const struct dim **flops)
{
    const struct value *p = NULL;
    double k;
    if (where->op != OP_WHERE || !compares_indices(where->args[0], &k))
        return NULL;
    for (uint32_t i = 1; i < 3 && !p; i++)
        if (is_constant(where->args[3 - i]))
            p = only_product(where->args[i], uses);
    if (!p || !value_same_shape(p, where))
        return NULL;
    /* A triangle has about side*side/2 elements, with 2 flops for each pair of factors. If its
     * diagonal is k away from the main one, its side may be up to k shorter. We take the shortest
     * side. */
    const struct dim *rows = p->shape[p->rank - 2], *cols = p->shape[p->rank - 1];
    const struct dim *side = dim_min(&g->dims, rows, cols);
    if (fabs(k) > 1) {
        side = dim_sub(&g->dims, side, dim_number(&g->dims, (int64_t)MIN(fabs(k), 1e9)));
        side = dim_max(&g->dims, side, dim_number(&g->dims, 0));
    }
    const struct dim *n = dim_mul(&g->dims, side, side);
    n = dim_mul(&g->dims, n, dim_product(&g->dims, p->shape, p->rank - 2));
    *flops = dim_mul(&g->dims, n, pairs(g, p));
    return p;
}

const struct dim *graph_flops(struct graph *g)
{
    struct arena a = ARENA_INIT;
    const uint32_t *uses = graph_uses(g, &a);
    const struct dim *all = dim_number(&g->dims, 0), *some;
    const struct dim **kept = arena_alloc(&a, (g->values.n + 1) * sizeof *kept);
    for (size_t i = 0; i < g->values.n; i++) {
        const struct value *p = uses[i] ? kept_triangle(g, g->values.items[i], uses, &some) : NULL;
        if (p)
            kept[p->id] = some;
    }
    for (size_t i = 0; i < g->values.n; i++) {
        const struct value *v = g->values.items[i];
        if (uses[i] && v->nargs && op_row(v->op)->flops)
            all = dim_add(&g->dims, all, kept[i] ? kept[i] : value_flops(g, v));
    }
    arena_release(&a);
    return all;
}

/* ---- bytes ----------------------------------------------------------------------------------- */

/* If `read` elements of v are read: how many elements of its operand number k does the operation v
 * read at most? For `read` and for the result, NULL means all. */
static const struct dim *read_through(struct graph *g, const struct value *v, uint32_t k,
                                      const struct dim *read)
{
    switch (v->op) {
    case OP_INDEX_SELECT:
    case OP_GATHER:
        return k == 0 ? elements(g, v) : NULL;
    case OP_EMBEDDING_BAG:
        return k == 1 && v->args[0]
                   ? dim_mul(&g->dims, elements(g, v->args[0]), v->args[1]->shape[1])
                   : NULL;
    case OP_SLICE:
        return read ? read : elements(g, v);
    case OP_RESHAPE:
    case OP_PERMUTE:
    case OP_FLIP:
        return read;
    default:
        return NULL;
    }
}

/* Returns for each value how many of its elements the graph reads at most. NULL means all. An index
 * may read only a few rows of a table, and a slice only a part of a tensor. */
static const struct dim **elements_read(struct graph *g, const uint32_t *uses, struct arena *a)
{
    const struct dim **read = arena_alloc(a, (g->values.n + 1) * sizeof *read);
    bool *whole = arena_alloc(a, g->values.n + 1);
    vec_each (const struct graph_output, o, &g->outputs)
        whole[o->value->id] = true;
    for (size_t i = g->values.n; i-- > 0;) {
        const struct value *v = g->values.items[i];
        for (uint32_t k = 0; uses[v->id] && k < v->nargs; k++) {
            const struct value *arg = v->args[k];
            if (!arg)
                continue;
            const struct dim *n = read_through(g, v, k, whole[v->id] ? NULL : read[v->id]);
            const struct dim *sum = !n              ? NULL
                                    : read[arg->id] ? dim_add(&g->dims, read[arg->id], n)
                                                    : n;
            read[arg->id] = sum && dim_has_text(sum) ? sum : NULL;
            whole[arg->id] |= !read[arg->id];
        }
    }
    for (size_t i = 0; i < g->values.n; i++)
        if (whole[i])
            read[i] = NULL;
    return read;
}

const struct dim *graph_bytes(struct graph *g)
{
    struct arena a = ARENA_INIT;
    const uint32_t *uses = graph_uses(g, &a);
    const struct dim **read = elements_read(g, uses, &a);
    const struct dim *all = dim_number(&g->dims, 0);
    for (size_t i = 0; i < g->inputs.n; i++) {
        const struct value *v = g->inputs.items[i];
        const struct dim *n = elements(g, v);
        if (read[v->id] && !dim_same(read[v->id], n))
            n = dim_min(&g->dims, n, read[v->id]);
        if (!dim_has_text(n))
            n = elements(g, v);
        if (uses[v->id])
            all = dim_add(&g->dims, all, times(g, n, (int64_t)dtype_bytes(v->dtype)));
    }
    vec_each (const struct graph_output, o, &g->outputs)
        all = dim_add(
            &g->dims, all,
            times(g, dim_product(&g->dims, o->shape, o->rank), (int64_t)dtype_bytes(o->dtype)));
    arena_release(&a);
    return all;
}
