#include "graph/reference/collect.h"

#include "base/util.h"

bool collect_is_index(enum collect k)
{
    return k == COLLECT_ARGMAX || k == COLLECT_ARGMIN;
}

/* Does the collector model rounding errors? */
static bool rounds(const struct emit *e, const struct collector *c)
{
    return e->mode.kind != REFERENCE_MAGNITUDE && c->kind <= COLLECT_PROD &&
           dtype_is_float(c->of->dtype);
}

static bool is_noisy(const struct emit *e)
{
    return e->mode.kind == REFERENCE_NOISY;
}

struct collector collect_start(struct emit *e, const struct value *v, enum collect kind,
                               struct index i, unsigned flags)
{
    static const char *const start[] = {"0", "1", "-INFINITY", "INFINITY", "-INFINITY", "INFINITY"};
    struct collector c = {.kind = kind, .flags = flags, .of = v, .i = i};
    bool one = kind == COLLECT_PROD && e->mode.kind == REFERENCE_MAGNITUDE;
    const char *type = e->u.real;
    if (e->mode.kernel && collect_is_index(kind)) /* c.v is the element, c.m its index */
        e->u.real = kernel_type(v->args[0]);
    c.v = unit_var(&e->u, "%s", start[kind]);
    e->u.real = type;
    c.m = unit_var(&e->u, "%s", collect_is_index(kind) ? "-1" : one ? "1" : "0");
    if (!rounds(e, &c))
        return c;
    const char **more[] = {&c.s,        &c.squares, &c.q,     &c.n,
                           &c.rounding, &c.chains,  &c.terms, &c.chain_squares};
    for (size_t k = 0; k < ARRAY_LEN(more); k++)
        *more[k] = unit_var(&e->u, "0");
    for (uint32_t k = 0; e->shared && k < e->shared->n; k++) {
        c.off[k] = unit_var(&e->u, "0");
        c.at[k] = unit_var(&e->u, "-1");
        c.biased[k] = e->shared->biased[k];
        c.own[k] = c.biased[k] ? unit_var(&e->u, "0") : NULL;
    }
    if (is_noisy(e))
        c.key = index_text(&e->u, scope_depth(e->u.at), "(int64_t)%s", noise_key(e, v, i)).text;
    return c;
}

/* ---- adding a term --------------------------------------------------------------------------- */

/* Takes the term as the result if it is better than the result so far. A NaN is better than any
 * number. If both are equal, the result so far stays. */
static void add_choice(struct emit *e, const struct collector *c, struct term t, const char *index)
{
    bool most = c->kind == COLLECT_MAX || c->kind == COLLECT_ARGMAX,
         arg = collect_is_index(c->kind);
    const char *better = arena_printf(e->u.arena, "%s == %s && !(%s %s %s)", c->v, c->v, t.v,
                                      most ? "<=" : ">=", c->v);
    if (arg) /* the first element may be -inf; take it in any case */
        better = arena_printf(e->u.arena, "%s < 0 || (%s)", c->m, better);
    struct index take = index_text(&e->u, scope_depth(e->u.at), "%s", better);
    if (e->mode.kind == REFERENCE_SIGMA && !arg)
        unit_set(&e->u, c->m, "= hone_pick(%s, %s, %s, %s, %s)", take.text, c->v, t.v, c->m, t.m);
    else
        unit_set(&e->u, c->m, "= %s ? %s : %s", take.text, arg ? index : t.m, c->m);
    /* Not unit_set(): if only the next round of the loop reads the variable, unit_write() would
     * drop such an assignment. */
    if (arg)
        unit_do(&e->u, "%s = %s ? %s : %s", c->v, take.text, t.v, c->v);
    else
        unit_set(&e->u, c->v, "= %s ? %s : %s", take.text, t.v, c->v);
}

static const char *term_key(struct emit *e, const struct collector *c)
{
    return arena_printf(e->u.arena, "hone_key((uint64_t)%s, (uint64_t)(%d * %s + %s))", c->key,
                        COLLECT_CHAIN, c->chains, c->n);
}

/* Returns the partial result `text`. In a NOISY reference, rounds it at random. */
static const char *step(struct emit *e, const struct collector *c, const char *text)
{
    enum dtype inner = c->of->dtype == DT_F64 ? DT_F64 : DT_F32;
    return is_noisy(e) ? noisy_text(e, text, "0", inner, term_key(e, c)) : text;
}

static void add_factor(struct emit *e, const struct collector *c, struct term t)
{
    struct arena *a = e->u.arena;
    unit_set(&e->u, c->m, "= hone_product(%s, %s, %s, %s)", c->v, t.v, c->m, t.m);
    unit_set(&e->u, c->v, "= %s", step(e, c, arena_printf(a, "%s * %s", c->v, t.v)));
    unit_set(&e->u, c->m, "+= hone_own(%.9g, %.9g, %s)", chain_rounding(c->of),
             least_error(c->of->dtype == DT_F64 ? DT_F64 : DT_F32), c->v);
    unit_do(&e->u, "%s += 1", c->n); /* see add_choice() */
}

static void end_chain(struct emit *e, const struct collector *c)
{
    const char *const clear[] = {c->s, c->squares, c->q, c->n};
    unit_set(&e->u, c->rounding, "+= hone_chain(%s, %s, %s, %s, %d)", c->squares, c->s, c->q, c->n,
             c->flags & COLLECT_PRODUCTS);
    unit_set(&e->u, c->v, "+= %s", c->s);
    unit_set(&e->u, c->chain_squares, "+= %s * %s", c->s, c->s);
    unit_set(&e->u, c->chains, "+= 1");
    unit_set(&e->u, c->terms, "+= %s", c->q);
    for (size_t k = 0; k < ARRAY_LEN(clear); k++)
        unit_set(&e->u, clear[k], "= 0");
}

static void add_to_chain(struct emit *e, const struct collector *c, struct term t)
{
    struct arena *a = e->u.arena;
    unit_set(&e->u, c->s, "= %s", step(e, c, arena_printf(a, "%s + %s", c->s, t.v)));
    if (c->flags & COLLECT_PRODUCTS)
        unit_set(&e->u, c->squares, "+= %s * %s", c->s, c->s);
    else /* the first partial sum, 0 + t, is exact */
        unit_set(&e->u, c->squares, "+= %s > 0 ? %s * %s : 0.0", c->n, c->s, c->s);
    unit_set(&e->u, c->q, "+= %s * %s", t.v, t.v);
    unit_set(&e->u, c->n, "+= 1");
    struct scope *was = unit_if(&e->u, "%s == %d", c->n, COLLECT_CHAIN);
    end_chain(e, c);
    unit_close(&e->u, was);
}

static void add_rounded(struct emit *e, const struct collector *c, struct term t)
{
    if (c->kind == COLLECT_PROD) {
        add_factor(e, c, t);
        return;
    }
    if (c->flags & COLLECT_PARTS) {
        unit_set(&e->u, c->v, "+= %s", t.v);
        unit_set(&e->u, c->chain_squares, "+= %s * %s", t.v, t.v);
        unit_set(&e->u, c->chains, "+= 1");
    } else {
        add_to_chain(e, c, t);
    }
    if (!str_eq(t.m, TERM_NO_ERROR))
        unit_set(&e->u, c->m, "+= %s", t.m);
}

void collect_add(struct emit *e, const struct collector *c, struct term t, const char *index)
{
    if (c->kind > COLLECT_PROD) {
        add_choice(e, c, t, index);
        return;
    }
    if (rounds(e, c)) {
        add_rounded(e, c, t);
        return;
    }
    if (e->mode.kind == REFERENCE_SIGMA && c->kind == COLLECT_PROD)
        unit_set(&e->u, c->m, "= hone_product(%s, %s, %s, %s)", c->v, t.v, c->m, t.m);
    const char *op = c->kind == COLLECT_PROD ? "*=" : "+=";
    unit_set(&e->u, c->v, "%s %s", op, t.v);
    if (e->mode.kind == REFERENCE_MAGNITUDE || c->kind == COLLECT_SUM)
        unit_set(&e->u, c->m, "%s %s", op, t.m);
}

/* Returns text for 16 times the variance of the shared errors of source k: the square of c->off[k],
 * because c->off[k] is the change at an error of 4 sigma. */
static const char *off_squared(struct emit *e, const struct collector *c, uint32_t k)
{
    struct arena *a = e->u.arena;
    return c->biased[k]
               ? arena_printf(a, "fmax(%s * %s - %s, 0.0)", c->off[k], c->off[k], c->own[k])
               : arena_printf(a, "%s * %s", c->off[k], c->off[k]);
}

/* Each element of the source has its own error, so off[k] starts anew at another element. */
void collect_shared(struct emit *e, const struct collector *c, uint32_t k, struct term t,
                    struct term off)
{
    const char *at = e->shared->at[k].text;
    struct scope *was = unit_if(&e->u, "%s != (double)(%s)", c->at[k], at);
    unit_set(&e->u, c->m, "+= %s / 16", off_squared(e, c, k));
    unit_set(&e->u, c->off[k], "= 0");
    if (c->biased[k])
        unit_set(&e->u, c->own[k], "= 0");
    unit_do(&e->u, "%s = (double)(%s)", c->at[k], at); /* see add_choice() */
    unit_close(&e->u, was);
    const char *by = unit_let(&e->u, "%s - %s", off.v, t.v);
    unit_set(&e->u, c->off[k], "+= %s", by);
    if (c->biased[k])
        unit_set(&e->u, c->own[k], "+= %s * %s", by, by);
}

/* ---- the result ------------------------------------------------------------------------------ */

/* Returns the variance of the shared errors that are not yet in c->m, as text to append. `biased`
 * selects the sources with one-sided errors, or the others. */
static const char *shared_sum(struct emit *e, const struct collector *c, bool biased)
{
    const char *text = "";
    for (uint32_t k = 0; k < EMIT_SOURCES && c->off[k]; k++)
        if (c->biased[k] == biased)
            text = arena_printf(e->u.arena, "%s + %s / 16", text, off_squared(e, c, k));
    return text;
}

/* Returns the one-sided error of the sum v, or NULL if it has none. `chain` is the variance of the
 * roundings of the partial sums. */
static const char *bias_of(struct emit *e, const struct collector *c, const char *v,
                           const char *chain)
{
    const char *terms = shared_sum(e, c, true);
    if (c->flags & COLLECT_PRODUCTS)
        return unit_let(&e->u, "hone_bias(%s, %.9g, %s, %s + %s, %d * %s + %s)", chain,
                        3 * chain_rounding(c->of), v, c->terms, c->q, COLLECT_CHAIN, c->chains,
                        c->n);
    return *terms ? unit_let(&e->u, "sqrt(0%s)", terms) : NULL;
}

struct term collect_now(struct emit *e, const struct collector *c)
{
    struct term t = {c->v, c->m, scope_depth(e->u.at), NULL};
    if (!rounds(e, c) || c->kind == COLLECT_PROD)
        return t;
    t.v = unit_let(&e->u, "%s + %s", c->v, c->s);
    const char *tree = unit_let(&e->u, "hone_tree(%s, %s + %s * %s, %s + (%s > 0))", t.v,
                                c->chain_squares, c->s, c->s, c->chains, c->n);
    double rounding = chain_rounding(c->of);
    const char *chain =
        unit_let(&e->u, "%.9g * (%s + hone_chain(%s, %s, %s, %s, %d) + %s)", rounding, c->rounding,
                 c->squares, c->s, c->q, c->n, c->flags & COLLECT_PRODUCTS, tree);
    t.bias = bias_of(e, c, t.v, chain);
    if (is_noisy(e))
        t.v = unit_let(&e->u, "hone_noisy(%s, sqrt(%.9g * %s), 52, %s)", t.v, 3 * rounding, tree,
                       term_key(e, c));
    else
        t.m = unit_let(&e->u, "%s%s + %s", c->m, shared_sum(e, c, false), chain);
    return t;
}

/* Adds the one-sided error of the element (bias_axis in emit.h). A NOISY reference moves all
 * elements of one column in the same direction. In a SIGMA reference, the variance of a sum of
 * products already contains the error; such a sum keeps t->bias for a later sum. */
static void add_bias(struct emit *e, const struct collector *c, struct term *t)
{
    int axis = e->store[c->of->id].bias_axis;
    if (!t->bias)
        return;
    if (is_noisy(e) && axis >= 0) {
        struct place p = place_linear(c->of->rank, c->of->shape, c->i);
        const char *key = noise_key(e, c->of, place_at(&e->u, &p, (uint32_t)axis));
        t->v = unit_let(&e->u, "%s + hone_side(%s) * %s", t->v, key, t->bias);
    }
    if (!is_noisy(e) && !(c->flags & COLLECT_PRODUCTS)) {
        t->m = unit_let(&e->u, "%s + %s * %s", t->m, t->bias, t->bias);
        t->bias = NULL;
    }
}

struct term collect_end(struct emit *e, const struct collector *c)
{
    struct term r = collect_now(e, c);
    enum dtype t = c->of->dtype;
    if (collect_is_index(c->kind))
        return term_of(e, c->m, r.depth);
    if (dtype_is_float(t)) {
        add_bias(e, c, &r);
        return emit_rounded(e, c->of, r, c->i);
    }
    const char *m = e->mode.kind == REFERENCE_SIGMA && !e->store[c->of->id].is_exact ? c->m : NULL;
    if (t != DT_BOOL) {
        const char *whole = arena_printf(e->u.arena, "(uint64_t)(int64_t)%s", c->v);
        r.v = unit_let(&e->u, "%s", wrapped(e, t, whole));
    }
    struct term exact = term_of(e, r.v, r.depth);
    return m ? (struct term){r.v, m, r.depth, NULL} : exact;
}
