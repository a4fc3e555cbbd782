/* drawn.c - chooses the values that get copies with random errors, and adds the copies (drawn.h).
 * Arrays have one entry per value, by its old id. */
#include "graph/reference/drawn.h"

#include <string.h>

#include "base/util.h"

struct plan {
    struct emit *e;
    bool *affected; /* does the value depend on a product in TF32? */
    bool *mixed;    /* does it depend on a sum of affected elements? They may share an error. */
    bool *copied;
    const struct value **copy;    /* the copy, or NULL */
    const struct value **rounded; /* the value rounded at random, or NULL */
    VEC(struct value *) values;   /* the values in their new order */
    /* For each new id: flags of enum lowered_note (lower.h), and DRAWN_... flags (emit.h). */
    VEC(uint8_t) notes, kinds;
};

/* ---- which values ---------------------------------------------------------------------------- */

/* Counts the operands of v that are rounded to TF32 only once and then used in many sums, from
 * index *first on. The state of a recurrent operation does not count: each step rounds it anew. */
static uint32_t rounded_operands(const struct emit *e, const struct value *v, uint32_t *first)
{
    enum op_kind kind = op_row(v->op)->kind;
    *first = kind == OPK_RECURRENT;
    if (tf32_rounding(e, v) <= 0)
        return 0;
    switch (kind) {
    case OPK_PRODUCT:
    case OPK_CONV:
        return 2;
    case OPK_ATTENTION:
        return 3;
    case OPK_RECURRENT:
        return 1;
    default:
        return 0;
    }
}

static bool adds_up(const struct value *v)
{
    switch (op_row(v->op)->kind) {
    case OPK_PRODUCT:
    case OPK_CONV:
    case OPK_ATTENTION:
    case OPK_RECURRENT:
        return true;
    default:
        return v->op == OP_SUM || v->op == OP_PROD || v->op == OP_CUMSUM || v->op == OP_CUMPROD ||
               v->op == OP_INDEX_ADD || v->op == OP_EMBEDDING_BAG;
    }
}

/* Finds the values that need a copy: mixed outputs, and the affected values they are computed
 * from. */
static void mark(struct plan *p)
{
    const struct graph *g = p->e->g;
    uint32_t first;
    for (size_t i = 0; i < g->values.n; i++) {
        const struct value *v = g->values.items[i];
        bool found = false;
        for (uint32_t k = 0; k < v->nargs; k++) {
            found |= v->args[k] && p->affected[v->args[k]->id];
            p->mixed[i] |= v->args[k] && p->mixed[v->args[k]->id];
        }
        bool rounds = rounded_operands(p->e, v, &first) > 0;
        p->affected[i] = found || rounds;
        p->mixed[i] |= (found && adds_up(v)) || (rounds && op_row(v->op)->kind == OPK_RECURRENT);
    }
    vec_each (const struct graph_output, o, &g->outputs)
        p->copied[o->value->id] |= p->mixed[o->value->id] && dtype_is_float(o->value->dtype);
    for (size_t i = g->values.n; i-- > 0;) {
        const struct value *v = g->values.items[i];
        for (uint32_t k = 0; p->copied[i] && k < v->nargs; k++)
            if (v->args[k] && p->affected[v->args[k]->id])
                p->copied[v->args[k]->id] = true;
    }
}

/* ---- the new graph --------------------------------------------------------------------------- */

static void push(struct plan *p, struct value *v, uint8_t notes, uint8_t kind)
{
    *vec_push(&p->values) = v;
    *vec_push(&p->notes) = notes;
    *vec_push(&p->kinds) = kind;
}

static struct value *new_value(struct plan *p, const struct value *like)
{
    struct value *v = arena_alloc(&p->e->g->arena, sizeof *v);
    *v = *like;
    return v;
}

/* Returns the value that is `now` rounded at random. `old` is the old id of `now`, or of the value
 * of which `now` is a copy. */
static const struct value *rounded(struct plan *p, uint32_t old, const struct value *now,
                                   uint8_t kind)
{
    if (!p->rounded[old]) {
        struct value *v = new_value(p, now);
        v->op = OP_CAST;
        v->nargs = 1;
        memset(v->args, 0, sizeof v->args);
        v->args[0] = now;
        v->nattrs = 1;
        v->attrs[0] = attr_dtype(now->dtype);
        push(p, v, 0, kind | DRAWN_ROUNDED);
        p->rounded[old] = v;
    }
    return p->rounded[old];
}

static void add_copy(struct plan *p, const struct value *v)
{
    struct value *copy = new_value(p, v);
    uint32_t first, n = rounded_operands(p->e, v, &first);
    for (uint32_t k = 0; k < v->nargs; k++) {
        const struct value *a = v->args[k];
        if (a && p->copy[a->id])
            copy->args[k] = p->copy[a->id];
        if (a && k >= first && k < first + n)
            copy->args[k] = rounded(p, a->id, copy->args[k], DRAWN_COPY);
    }
    push(p, copy, p->e->notes[v->id], DRAWN_COPY);
    p->copy[v->id] = copy;
}

static void round_operands(struct plan *p, struct value *v)
{
    uint32_t first, n = rounded_operands(p->e, v, &first);
    for (uint32_t k = first; k < first + n; k++)
        v->args[k] = rounded(p, v->args[k]->id, v->args[k], 0);
}

static void rebuild(struct plan *p)
{
    struct graph *g = p->e->g;
    bool noisy = p->e->mode.kind == REFERENCE_NOISY;
    for (size_t i = 0; i < g->values.n; i++) {
        struct value *v = g->values.items[i];
        if (noisy)
            round_operands(p, v);
        push(p, v, p->e->notes[i], 0);
        if (!noisy && p->copied[i])
            add_copy(p, v);
    }
}

static void install(struct plan *p)
{
    struct graph *g = p->e->g;
    size_t n = p->values.n;
    const struct value **outputs = arena_alloc(&g->arena, (g->outputs.n + 1) * sizeof *outputs);
    const struct value **copies = arena_alloc(&g->arena, (n + 1) * sizeof *copies);
    uint8_t *notes = arena_alloc(&g->arena, n + 1), *kinds = arena_alloc(&g->arena, n + 1);
    for (size_t i = 0; i < g->outputs.n; i++)
        outputs[i] = p->copy[g->outputs.items[i].value->id];
    memcpy(notes, p->notes.items, n);
    memcpy(kinds, p->kinds.items, n);
    g->values.n = 0;
    for (size_t i = 0; i < n; i++) {
        struct value *v = p->values.items[i];
        copies[i] = kinds[i] ? NULL : p->copy[v->id];
        v->id = (uint32_t)i;
        *vec_push(&g->values) = v;
    }
    uint32_t *depth = arena_alloc(&g->arena, (n + 1) * sizeof *depth);
    for (size_t i = 0; i < n; i++) {
        const struct value *v = g->values.items[i];
        bool rounds = false;
        for (uint32_t k = 0; k < v->nargs; k++) {
            depth[i] = v->args[k] ? MAX(depth[i], depth[v->args[k]->id]) : depth[i];
            rounds |= v->args[k] && (kinds[v->args[k]->id] & DRAWN_ROUNDED);
        }
        depth[i] += rounds;
    }
    p->e->notes = notes;
    p->e->drawn_depth = depth;
    p->e->drawn = kinds;
    p->e->drawn_outputs = outputs;
    p->e->drawn_copies = copies;
}

bool drawn_plan(struct emit *e)
{
    size_t n = e->g->values.n;
    struct arena a = ARENA_INIT;
    struct plan p = {.e = e};
    if (e->mode.kind == REFERENCE_MAGNITUDE || !n)
        return false;
    p.affected = arena_alloc(&a, n * sizeof *p.affected);
    p.mixed = arena_alloc(&a, n * sizeof *p.mixed);
    p.copied = arena_alloc(&a, n * sizeof *p.copied);
    p.copy = arena_alloc(&a, n * sizeof *p.copy);
    p.rounded = arena_alloc(&a, n * sizeof *p.rounded);
    mark(&p);
    rebuild(&p);
    install(&p);
    bool copies = false;
    for (size_t i = 0; i < e->g->outputs.n; i++)
        copies |= e->drawn_outputs[i] != NULL;
    vec_release(&p.values);
    vec_release(&p.notes);
    vec_release(&p.kinds);
    arena_release(&a);
    return copies;
}

/* ---- elements -------------------------------------------------------------------------------- */

/* The rounding error of a copy is nearly normal, with the standard deviation 2^-11/sqrt(3) times
 * the number. If errors had only two values, +x and -x, two of them would cancel in half of the
 * samples. Then a sum of few products would often seem to have no error. */
struct term emit_drawn(struct emit *e, const struct value *v, struct place *p)
{
    struct index i = place_number(&e->u, p);
    struct term a = emit_value(e, v->args[0], p);
    const char *text;
    if (e->drawn[v->id] & DRAWN_COPY)
        text = arena_printf(e->u.arena,
                            "hone_drawn(%s, hone_draw(%u, (uint64_t)(%s), (uint64_t)sample))", a.v,
                            v->id, i.text);
    else
        text = arena_printf(e->u.arena, "hone_noisy(%s, 0, 11, %s)", a.v, noise_key(e, v, i));
    return term_of(e, unit_let(&e->u, "%s", text), a.depth);
}
