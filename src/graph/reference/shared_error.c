/*
 * shared_error.c - finds the errors that many terms of a sum share (struct shared_error in emit.h).
 *
 * The search goes from an operand of the sum through elementwise operations and views. It ends at
 * operands that are broadcast. These are the sources: each of their elements is in many terms.
 *
 * The sum may be an OP_SUM, a matrix product or a convolution. For an OP_SUM, values with one-sided
 * errors are sources too, but not if the sum reads them through a cat (concatenation). Each part of
 * a cat would be a source for only a few of the terms.
 */
#include "base/util.h"
#include "graph/reference/emit.h"
#include "graph/reference/lower.h"

/* Bits of an entry of `path`. SEEN: the search has visited the value. ON_PATH: the value lies
 * between the sum and a source. */
enum { SEEN = 2, ON_PATH = 1 };

static bool add_source(struct shared_error *s, const struct value *v, bool biased)
{
    for (uint32_t k = 0; k < s->n; k++)
        if (s->source[k] == v)
            return true;
    if (s->n == EMIT_SOURCES)
        return false;
    s->biased[s->n] = biased;
    s->source[s->n++] = v;
    return true;
}

/* Finds the sources of v, and marks the values between the sources and v in `path`. `repeated` says
 * that v is broadcast where it is read. `biased` says that values with one-sided errors are sources
 * too. Returns whether there is a source. */
static bool find_sources(struct emit *e, struct shared_error *s, uint8_t *path,
                         const struct value *v, bool repeated, bool biased)
{
    enum op_kind kind = op_row(v->op)->kind;
    const struct store *store = &e->store[v->id];
    if (store->is_exact)
        return false;
    if (path[v->id])
        return path[v->id] & ON_PATH;
    bool found = false;
    bool ends = biased && store->bias_axis >= 0 && store->is_stored;
    if (repeated)
        found = add_source(s, v, false);
    else if (kind == OPK_PRODUCT || kind == OPK_CONV)
        found = biased && store->bias_axis >= 0 && add_source(s, v, true);
    else if (kind == OPK_ELEMENTWISE || kind == OPK_VIEW)
        for (uint32_t k = 0; k < v->nargs; k++) {
            bool spreads = kind == OPK_ELEMENTWISE || v->op == OP_EXPAND;
            if (k == 1 && (e->notes[v->id] & LOWERED_SHIFT))
                continue; /* the result does not depend on this operand: see lower.h */
            found |= v->args[k] &&
                     find_sources(e, s, path, v->args[k], spreads && value_repeats(v->args[k], v),
                                  biased && !ends && v->op != OP_CAT);
        }
    /* v has one-sided errors and is stored. If it is a source, the sum reads v from the scratch
     * memory, and does not compute the product below v again. */
    if (ends && !found)
        found = add_source(s, v, true);
    path[v->id] = SEEN | (found ? ON_PATH : 0);
    return found;
}

static void find_all(struct emit *e, const struct value *const *v, uint32_t n, bool biased,
                     struct arena *a, struct shared_error *s)
{
    uint8_t *path = arena_alloc(a, e->g->values.n + 1);
    *s = (struct shared_error){.number = ++e->sums, .off = -1, .path = path};
    for (uint32_t k = 0; k < n; k++)
        find_sources(e, s, path, v[k], false, biased);
    for (size_t i = 0; i < e->g->values.n; i++)
        path[i] &= ON_PATH;
}

void shared_of_value(struct emit *e, const struct value *v, bool biased, struct arena *a,
                     struct shared_error *s)
{
    find_all(e, &v, 1, biased, a, s);
}

void shared_bias(struct emit *e, const struct value *v, struct shared_error *s)
{
    uint8_t *path = arena_alloc(e->u.arena, e->g->values.n + 1);
    *s = (struct shared_error){.number = ++e->sums, .off = -1, .path = path};
    for (uint32_t k = 0; k < v->nargs; k++)
        if (v->args[k] && value_same_shape(v, v->args[k]))
            find_sources(e, s, path, v->args[k], false, true);
    for (size_t i = 0; i < e->g->values.n; i++)
        path[i] &= ON_PATH;
    path[v->id] = ON_PATH;
}

struct shared_error *shared_begin(struct emit *e, const struct value *v, struct shared_error *s)
{
    struct shared_error *was = e->shared;
    *s = (struct shared_error){.off = -1};
    e->shared = NULL;
    bool adds =
        v->op == OP_SUM || op_row(v->op)->kind == OPK_PRODUCT || op_row(v->op)->kind == OPK_CONV;
    if (e->mode.kind != REFERENCE_SIGMA || !adds || !dtype_is_float(v->dtype))
        return was;
    find_all(e, v->args, MIN(v->nargs, 2u), v->op == OP_SUM, e->u.arena, s);
    if (s->n)
        e->shared = s;
    return was;
}
