/* emit_attention.c - writes attention. A unit (emit.h) makes a row of the result, in two passes
 * over the keys. In a SIGMA reference, a third pass adds the errors of the weights. */
#include <math.h>
#include <string.h>

#include "base/util.h"
#include "graph/reference/collect.h"
#include "graph/reference/line.h"

struct attention {
    const struct value *v;
    struct place row; /* the row of the result that is written; its last index is not set */
    const char *scale;
    struct index keys; /* how many keys the query reads */
};

static struct place key_place(struct emit *e, struct attention *a, struct index j,
                              const struct dim *const *shape, uint32_t rank)
{
    struct place p = place_empty(rank, shape);
    for (uint32_t i = 0; i + 2 < rank; i++)
        place_set(&p, i, place_at(&e->u, &a->row, i));
    place_set(&p, rank - 2, j);
    return p;
}

static struct index pair_number(struct emit *e, struct attention *a, struct index j)
{
    return index_add(&e->u, index_mul(&e->u, unit_index(), a->keys), j);
}

static struct term dot(struct emit *e, struct attention *a, struct index j)
{
    const struct value *q = a->v->args[0], *k = a->v->args[1];
    uint32_t n = q->rank;
    struct place at = place_empty(n, q->shape), from = key_place(e, a, j, k->shape, n);
    struct index d;
    struct collector c =
        collect_start(e, a->v, COLLECT_SUM, pair_number(e, a, j), COLLECT_PRODUCTS);
    struct scope *was =
        unit_loop(&e->u, index_number(&e->u, 0), index_dim(&e->u, q->shape[n - 1]), &d);
    for (uint32_t i = 0; i + 1 < n; i++)
        place_set(&at, i, place_at(&e->u, &a->row, i));
    place_set(&at, n - 1, d);
    place_set(&from, n - 1, d);
    struct term x = emit_value(e, q, &at), y = emit_value(e, k, &from);
    struct term t = {unit_let(&e->u, "%s * %s", x.v, y.v), TERM_NO_ERROR, scope_depth(e->u.at),
                     NULL};
    if (e->mode.kind == REFERENCE_SIGMA)
        t.m = unit_let(&e->u, "%s", product_variance(e, x, y, tf32_rounding(e, a->v)));
    collect_add(e, &c, t, "");
    unit_close(&e->u, was);
    return collect_now(e, &c);
}

/* Returns `text` after a rounding. `m` is the variance of `text` before the rounding. A NOISY
 * reference first adds an error that is uniform in +-spread. Each rounding of a pair of query and
 * key has its own `salt`. */
static struct term rounded(struct emit *e, struct attention *a, const char *text, const char *m,
                           const char *spread, struct index pair, int salt)
{
    struct term t = {unit_let(&e->u, "%s", text), m, scope_depth(e->u.at), NULL};
    double c = chain_rounding(a->v);
    if (e->mode.kind == REFERENCE_SIGMA)
        t.m = unit_let(&e->u, "%s + hone_own(%.9g, 0, %s)", m, c, t.v);
    if (e->mode.kind == REFERENCE_NOISY)
        t.v = unit_let(&e->u, "%s",
                       noisy_text(e, t.v, spread, DT_F32,
                                  arena_printf(e->u.arena, "hone_key(%d, %s)", salt,
                                               noise_key(e, a->v, pair))));
    return t;
}

/* Returns the score of key j: q . k * scale, with the mask applied. */
static struct term score(struct emit *e, struct attention *a, struct index j)
{
    const struct value *q = a->v->args[0], *k = a->v->args[1], *mask = a->v->args[3];
    struct arena *mem = e->u.arena;
    uint32_t n = q->rank;
    struct term s = dot(e, a, j);
    struct index pair = pair_number(e, a, j);
    s = rounded(e, a, arena_printf(mem, "%s * %s", s.v, a->scale),
                arena_printf(mem, "%s * %s * %s", a->scale, a->scale, s.m), "0", pair, 1);
    if (!mask)
        return s;
    const struct dim *shape[GRAPH_MAX_RANK];
    memcpy(shape, q->shape, sizeof shape);
    shape[n - 1] = k->shape[n - 2];
    struct place at = place_empty(n, shape);
    for (uint32_t i = 0; i + 1 < n; i++)
        place_set(&at, i, place_at(&e->u, &a->row, i));
    place_set(&at, n - 1, j);
    struct place m = place_broadcast(e, &at, mask);
    struct term by = emit_value(e, mask, &m);
    if (mask->dtype == DT_BOOL) {
        s.v = unit_let(&e->u, "%s != 0 ? %s : -INFINITY", by.v, s.v);
        return s;
    }
    return rounded(e, a, arena_printf(mem, "%s + %s", s.v, by.v),
                   arena_printf(mem, "%s + %s", s.m, by.m), "0", pair, 2);
}

static struct attention attention_of(struct emit *e, const struct value *v)
{
    struct attention a = {.v = v, .row = line_place(e, v)};
    const struct value *q = v->args[0], *k = v->args[1];
    struct place none = place_empty(0, NULL);
    a.scale = v->args[4]
                  ? emit_value(e, v->args[4], &none).v
                  : unit_let(&e->u, "1 / sqrt((double)%s)", dim_in_c(&e->u, q->shape[q->rank - 1]));
    a.keys = index_dim(&e->u, k->shape[k->rank - 2]);
    if (value_flag(v, "causal")) {
        struct index query = place_at(&e->u, &a.row, v->rank - 2);
        a.keys = index_text(&e->u, 0, "hone_size_min(%s, %s + 1)", a.keys.text, query.text);
    }
    return a;
}

/* Writes a row of a MAGNITUDE reference. If the mask hides all keys, the row is 0; PyTorch does
 * the same. */
static void values_line(struct emit *e, const struct value *v, bool with_mag)
{
    const struct value *w = v->args[2];
    struct attention a = attention_of(e, v);
    struct index zero = index_number(&e->u, 0), size = index_dim(&e->u, v->shape[v->rank - 1]), j,
                 d;
    const char *most = unit_var(&e->u, "-INFINITY"), *sum = unit_var(&e->u, "0");
    struct scope *was = unit_loop(&e->u, zero, a.keys, &j), *inner;
    unit_set(&e->u, most, "= fmax(%s, %s)", most, score(e, &a, j).v);
    unit_close(&e->u, was);
    inner = unit_loop(&e->u, zero, size, &d);
    place_set(&a.row, v->rank - 1, d);
    line_put(e, v, a.row, "=", (struct term){"0", "0", 0, NULL}, with_mag);
    unit_close(&e->u, inner);
    was = unit_loop(&e->u, zero, a.keys, &j);
    const char *s = score(e, &a, j).v;
    const char *weight = unit_let(&e->u, "%s == -INFINITY ? 0.0 : exp(%s - %s)", s, s, most);
    unit_set(&e->u, sum, "+= %s", weight);
    inner = unit_loop(&e->u, zero, size, &d);
    struct place from = key_place(e, &a, j, w->shape, w->rank), to = a.row;
    place_set(&from, w->rank - 1, d);
    place_set(&to, v->rank - 1, d);
    struct term t = emit_value(e, w, &from);
    line_put(e, v, to, "+=",
             (struct term){arena_printf(e->u.arena, "%s * %s", weight, t.v),
                           arena_printf(e->u.arena, "%s * fabs(%s)", weight, t.v), 0, NULL},
             with_mag);
    unit_close(&e->u, inner);
    unit_close(&e->u, was);
    was = unit_if(&e->u, "%s != 0", sum);
    inner = unit_loop(&e->u, zero, size, &d);
    place_set(&to, v->rank - 1, d);
    line_put(e, v, to, "/=", (struct term){sum, sum, 0, NULL}, with_mag);
    unit_close(&e->u, inner);
    unit_close(&e->u, was);
}

/* ---- with errors ----------------------------------------------------------------------------- */

/* The weight of a key is exp(score - largest score). Flash attention rounds the weights to the
 * dtype of the values, for tensor cores. `narrow` is the rounded weight. */
struct weight {
    struct term w;
    const char *narrow;
    double c; /* the variance of the roundings to the narrow type or TF32, divided by w^2 */
};

static struct weight weight_of(struct emit *e, struct attention *a, struct index j,
                               const char *most)
{
    struct arena *mem = e->u.arena;
    struct index pair = pair_number(e, a, j);
    struct term s = score(e, a, j),
                d = rounded(e, a, arena_printf(mem, "%s - %s", s.v, most), s.m, "0", pair, 3);
    bool narrow = a->v->dtype != DT_F32 && a->v->dtype != DT_F64;
    const char *f = unit_let(&e->u, "%s == -INFINITY ? 0.0 : exp(%s)", s.v, d.v);
    struct weight w = {.c = narrow ? ldexp(1, -2 - 2 * dtype_mantissa_bits(a->v->dtype)) / 3
                                   : tf32_rounding(e, a->v)};
    w.w = rounded(e, a, f, TERM_NO_ERROR, arena_printf(mem, "%.9g * %s", 4 * ldexp(1, -24), f),
                  pair, 4);
    w.narrow = w.w.v;
    if (e->mode.kind == REFERENCE_NOISY) {
        if (narrow)
            w.narrow = unit_let(
                &e->u, "%s",
                noisy_text(e, w.w.v, "0", a->v->dtype,
                           arena_printf(mem, "hone_key(5, %s)", noise_key(e, a->v, pair))));
        return w;
    }
    const char *far = unit_let(&e->u, "4 * sqrt(%s)", d.m);
    w.w.m = unit_let(&e->u, "hone_secant(%s, exp(%s + %s), exp(%s - %s)) + hone_own(%.9g, 0, %s)",
                     w.w.v, d.v, far, d.v, far, 17 * chain_rounding(a->v), w.w.v);
    return w;
}

struct errors {
    struct attention a;
    /* The largest score; the sum of the weights; the sum of the squares of that sum's partial
     * sums. */
    const char *most, *sum, *sum_squares;
    const char *chain; /* the variance of rounding a partial sum, divided by its square */
    struct index zero, size;
};

static struct place value_place(struct emit *e, struct errors *x, struct index j, struct index d,
                                struct place *to)
{
    const struct value *w = x->a.v->args[2];
    struct place from = key_place(e, &x->a, j, w->shape, w->rank);
    place_set(&from, w->rank - 1, d);
    *to = x->a.row;
    place_set(to, x->a.v->rank - 1, d);
    return from;
}

/* VAL gets the sum of weight * value over the keys, MAG the variance of its roundings and of the
 * values. */
static void add_values(struct emit *e, struct errors *x)
{
    const struct value *v = x->a.v;
    struct index j, d;
    struct place to;
    struct scope *was = unit_loop(&e->u, x->zero, x->a.keys, &j);
    struct weight w = weight_of(e, &x->a, j, x->most);
    struct term sum = rounded(e, &x->a, arena_printf(e->u.arena, "%s + %s", x->sum, w.w.v),
                              TERM_NO_ERROR, "0", pair_number(e, &x->a, j), 6);
    unit_do(&e->u, "%s = %s", x->sum, sum.v);
    unit_do(&e->u, "%s += %s * %s", x->sum_squares, x->sum, x->sum);
    struct scope *inner = unit_loop(&e->u, x->zero, x->size, &d);
    struct place from = value_place(e, x, j, d, &to);
    struct term t = emit_value(e, v->args[2], &from);
    struct index i = place_number(&e->u, &to);
    const char *next = unit_let(&e->u, "VAL%u(%s) + %s * %s", v->id, i.text, w.narrow, t.v);
    if (e->mode.kind == REFERENCE_NOISY)
        next = noisy_text(
            e, next, "0", DT_F32,
            arena_printf(e->u.arena, "hone_key((uint64_t)(%s), %s)", j.text, noise_key(e, v, i)));
    unit_do(&e->u, "VAL%u(%s) = %s", v->id, i.text, next);
    if (e->mode.kind == REFERENCE_SIGMA) {
        double c = w.c + tf32_rounding(e, v);
        unit_do(&e->u, "MAG%u(%s) += %s * %s * %s + %s * %s * (%s + %.9g * %s * %s)", v->id, i.text,
                x->chain, next, next, w.w.v, w.w.v, t.m, c, t.v, t.v);
    }
    unit_close(&e->u, inner);
    unit_close(&e->u, was);
}

/* Adds the variances of the weights to MAG. A weight multiplies a value, and it is also a term of
 * the sum that divides the result. So an error d of the weight moves the result by
 * d * (value - result) / sum. */
static void add_weight_errors(struct emit *e, struct errors *x)
{
    const struct value *v = x->a.v;
    struct index j, d;
    struct place to;
    struct scope *was = unit_loop(&e->u, x->zero, x->a.keys, &j);
    struct weight w = weight_of(e, &x->a, j, x->most);
    struct scope *inner = unit_loop(&e->u, x->zero, x->size, &d);
    struct place from = value_place(e, x, j, d, &to);
    struct term t = emit_value(e, v->args[2], &from);
    struct index i = place_number(&e->u, &to);
    const char *off = unit_let(&e->u, "%s - VAL%u(%s) / %s", t.v, v->id, i.text, x->sum);
    unit_do(&e->u, "MAG%u(%s) += %s * %s * %s", v->id, i.text, off, off, w.w.m);
    unit_close(&e->u, inner);
    unit_close(&e->u, was);
}

static void divide(struct emit *e, struct errors *x)
{
    const struct value *v = x->a.v;
    struct index d;
    struct place to = x->a.row;
    struct scope *inner = unit_loop(&e->u, x->zero, x->size, &d);
    place_set(&to, v->rank - 1, d);
    struct index i = place_number(&e->u, &to);
    struct term t = {unit_let(&e->u, "VAL%u(%s) / %s", v->id, i.text, x->sum), TERM_NO_ERROR,
                     scope_depth(e->u.at), NULL};
    if (e->mode.kind == REFERENCE_NOISY)
        t.v = unit_let(&e->u, "%s",
                       noisy_text(e, t.v, "0", DT_F32,
                                  arena_printf(e->u.arena, "hone_key(7, %s)", noise_key(e, v, i))));
    else
        t.m = unit_let(&e->u, "(MAG%u(%s) + %s * %s * %s * %s) / (%s * %s) + hone_own(%.9g, 0, %s)",
                       v->id, i.text, x->chain, x->sum_squares, t.v, t.v, x->sum, x->sum,
                       chain_rounding(v), t.v);
    t = emit_rounded(e, v, t, i);
    line_put(e, v, to, "=", t, e->mode.kind == REFERENCE_SIGMA);
    unit_close(&e->u, inner);
}

static void errors_line(struct emit *e, const struct value *v)
{
    struct errors x = {.a = attention_of(e, v), .zero = index_number(&e->u, 0)};
    struct index j, d;
    struct place to = x.a.row;
    x.size = index_dim(&e->u, v->shape[v->rank - 1]);
    x.most = unit_var(&e->u, "-INFINITY");
    x.sum = unit_var(&e->u, "0");
    x.sum_squares = unit_var(&e->u, "0");
    x.chain = unit_let(&e->u, "%.9g * fmin(1.0, %d / (double)%s)", chain_rounding(v), COLLECT_CHAIN,
                       x.a.keys.text);
    struct scope *was = unit_loop(&e->u, x.zero, x.a.keys, &j);
    unit_do(&e->u, "%s = fmax(%s, %s)", x.most, x.most, score(e, &x.a, j).v);
    unit_close(&e->u, was);
    was = unit_loop(&e->u, x.zero, x.size, &d);
    place_set(&to, v->rank - 1, d);
    line_put(e, v, to, "=", (struct term){"0", "0", 0, NULL}, e->mode.kind == REFERENCE_SIGMA);
    unit_close(&e->u, was);
    add_values(e, &x);
    was = unit_if(&e->u, "%s != 0", x.sum);
    if (e->mode.kind == REFERENCE_SIGMA)
        add_weight_errors(e, &x);
    divide(e, &x);
    unit_close(&e->u, was);
}

void emit_attention(struct emit *e, const struct value *v, bool with_mag)
{
    if (e->mode.kind == REFERENCE_MAGNITUDE)
        values_line(e, v, with_mag);
    else
        errors_line(e, v);
}
