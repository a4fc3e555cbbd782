/* cost.c - finds the class of a graph, and counts its flops and bytes. */
#include "graph/cost.h"

#include <stdlib.h>

#include "base/util.h"

/* ---- class ----------------------------------------------------------------------------------- */

/* The kinds of operations that a graph has. */
struct census {
    uint32_t by_kind[OPK_LOSS + 1];
    bool computes; /* there is an elementwise operation other than a cast */
    bool spreads;  /* a reduction's result is broadcast back to larger values, as a norm does */
    bool permutes;
};

/* Marks v if it is computed from a reduction's result by elementwise operations and views only. */
static void mark_reduced(const struct value *v, bool *reduced)
{
    enum op_kind k = op_row(v->op)->kind;
    reduced[v->id] = k == OPK_REDUCTION;
    for (uint32_t i = 0; i < v->nargs && (k == OPK_ELEMENTWISE || k == OPK_VIEW); i++)
        if (v->args[i] && !value_repeats(v->args[i], v))
            reduced[v->id] |= reduced[v->args[i]->id];
}

static void count_value(const struct value *v, const bool *reduced, struct census *c)
{
    enum op_kind k = op_row(v->op)->kind;
    c->by_kind[k]++;
    c->computes |= k == OPK_ELEMENTWISE && v->op != OP_CAST;
    c->permutes |= v->op == OP_PERMUTE;
    for (uint32_t i = 0; i < v->nargs && k == OPK_ELEMENTWISE; i++)
        c->spreads |= reduced[v->args[i]->id] && value_repeats(v->args[i], v);
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

/* How many products of two elements are summed up for one element of v. */
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
    case OP_CONV_TRANSPOSE: /* each element of the input meets the window of each output channel */
        return times(g, dim_mul(p, elements(g, v->args[0]), pairs(g, v)), each);
    case OP_ATTENTION: { /* two products; 2 flops for each pair of operands */
        const struct value *q = v->args[0], *k = v->args[1];
        const struct dim *n = dim_add(p, elements(g, q), elements(g, v));
        return times(g, dim_mul(p, n, k->shape[k->rank - 2]), 2);
    }
    case OP_LSTM:
    case OP_GRU:
    case OP_RNN: /* each gate of each step multiplies a row of the weight with h */
        return times(g, dim_mul(p, elements(g, v->args[0]), v->args[1]->shape[1]), each);
    case OP_INDEX_ADD:
        return times(g, elements(g, v->args[2]), each);
    case OP_EMBEDDING_BAG:
        return dim_add(p, dim_mul(p, elements(g, v->args[0]), v->shape[1]), elements(g, v));
    default:
        return times(g, elements(g, op_row(v->op)->kind == OPK_ELEMENTWISE ? v : v->args[0]), each);
    }
}

const struct dim *graph_flops(struct graph *g)
{
    struct arena a = ARENA_INIT;
    const uint32_t *uses = graph_uses(g, &a);
    const struct dim *all = dim_number(&g->dims, 0);
    for (size_t i = 0; i < g->values.n; i++) {
        const struct value *v = g->values.items[i];
        if (uses[i] && v->nargs && op_row(v->op)->flops)
            all = dim_add(&g->dims, all, value_flops(g, v));
    }
    arena_release(&a);
    return all;
}

/* ---- bytes ----------------------------------------------------------------------------------- */

const struct dim *graph_bytes(struct graph *g)
{
    struct arena a = ARENA_INIT;
    const uint32_t *uses = graph_uses(g, &a);
    const struct dim *all = dim_number(&g->dims, 0);
    for (size_t i = 0; i < g->inputs.n; i++) {
        const struct value *v = g->inputs.items[i];
        if (uses[v->id])
            all = dim_add(&g->dims, all, times(g, elements(g, v), (int64_t)dtype_bytes(v->dtype)));
    }
    vec_each (const struct graph_output, o, &g->outputs)
        all = dim_add(
            &g->dims, all,
            times(g, dim_product(&g->dims, o->shape, o->rank), (int64_t)dtype_bytes(o->dtype)));
    arena_release(&a);
    return all;
}
