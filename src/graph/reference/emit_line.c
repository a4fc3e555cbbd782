/*
 * emit_line.c - values of which one unit computes many elements, a line: for scans a line along the
 * axis, for attention a row of the result, for index_add all elements with one index along `dim`.
 *
 * Units are numbered in the order of the elements that they compute, with the line's axis left out.
 */
#include <string.h>

#include "base/util.h"
#include "graph/reference/emit.h"

bool op_makes_lines(enum graph_op op)
{
    enum op_kind k = op_row(op)->kind;
    return k == OPK_SCAN || k == OPK_ATTENTION || op == OP_INDEX_ADD;
}

static uint32_t axis_of(const struct value *v)
{
    return v->op == OP_ATTENTION ? v->rank - 1 : (uint32_t)value_attr(v, "dim")->ints[0];
}

/* The axes that number the units: for index_add the axes up to and including `dim`, for others all
 * axes but the line's. */
static uint32_t unit_axes(const struct value *v, uint32_t *axes)
{
    uint32_t n = 0, axis = axis_of(v);
    for (uint32_t i = 0; i < v->rank; i++)
        if (v->op == OP_INDEX_ADD ? i <= axis : i != axis)
            axes[n++] = i;
    return n;
}

const struct dim *emit_lines(struct emit *e, const struct value *v)
{
    uint32_t axes[GRAPH_MAX_RANK], n = unit_axes(v, axes);
    const struct dim *d = dim_number(&e->g->dims, 1);
    for (uint32_t i = 0; i < n; i++)
        d = dim_mul(&e->g->dims, d, v->shape[axes[i]]);
    return d;
}

/* The place of the unit's elements, set along the axes that number the units. The other axes are
 * not set. */
static struct place unit_place(struct emit *e, const struct value *v)
{
    uint32_t axes[GRAPH_MAX_RANK], n = unit_axes(v, axes);
    const struct dim *shape[GRAPH_MAX_RANK];
    struct place p = place_empty(v->rank, v->shape);
    for (uint32_t i = 0; i < n; i++)
        shape[i] = v->shape[axes[i]];
    struct place lines = place_linear(n, shape, unit_index());
    for (uint32_t i = 0; i < n; i++)
        place_set(&p, axes[i], place_at(&e->u, &lines, i));
    return p;
}

static void put(struct emit *e, const struct value *v, struct place p, const char *op,
                struct term t, bool with_mag)
{
    struct index i = place_number(&e->u, &p);
    unit_do(&e->u, "VAL%u(%s) %s %s", v->id, i.text, op, t.v);
    if (with_mag)
        unit_do(&e->u, "MAG%u(%s) %s %s", v->id, i.text, op, t.m);
}

/* ---- scans ----------------------------------------------------------------------------------- */

static void scan_line(struct emit *e, const struct value *v, bool with_mag)
{
    uint32_t axis = axis_of(v);
    struct place p = unit_place(e, v), q;
    struct index j;
    bool adds = v->op == OP_CUMSUM, chooses = v->op == OP_CUMMAX || v->op == OP_CUMMIN;
    const char *start = adds      ? "0"
                        : chooses ? (v->op == OP_CUMMAX ? "-INFINITY" : "INFINITY")
                                  : "1";
    struct term sum = {unit_var(&e->u, "%s", start), unit_var(&e->u, "%s", chooses ? "0" : start),
                       0};
    struct scope *was =
        unit_loop(&e->u, index_number(&e->u, 0), index_dim(&e->u, v->shape[axis]), &j);
    place_set(&p, axis, j);
    q = p;
    struct term t = emit_value(e, v->args[0], &q);
    if (chooses) {
        struct index take = index_text(&e->u, j.depth, "%s == %s && !(%s %s %s)", sum.v, sum.v, t.v,
                                       v->op == OP_CUMMAX ? "<" : ">", sum.v);
        unit_set(&e->u, sum.m, "= %s ? %s : %s", take.text, t.m, sum.m);
        unit_set(&e->u, sum.v, "= %s ? %s : %s", take.text, t.v, sum.v);
    } else {
        unit_set(&e->u, sum.v, "%s %s", adds ? "+=" : "*=", t.v);
        unit_set(&e->u, sum.m, "%s %s", adds ? "+=" : "*=", t.m);
    }
    put(e, v, p, "=", sum, with_mag);
    unit_close(&e->u, was);
}

/* ---- attention ------------------------------------------------------------------------------- */

struct attention {
    const struct value *v;
    struct place row; /* a row of the result; the index along its last axis is not set */
    const char *scale;
    struct index keys; /* how many keys there are */
};

/* The score of key j: q . k * scale, with the mask applied. */
static const char *score(struct emit *e, struct attention *a, struct index j)
{
    const struct value *q = a->v->args[0], *k = a->v->args[1], *mask = a->v->args[3];
    uint32_t n = q->rank;
    struct place at = place_empty(n, q->shape), from = place_empty(n, k->shape);
    struct index d;
    const char *s = unit_var(&e->u, "0");
    struct scope *was =
        unit_loop(&e->u, index_number(&e->u, 0), index_dim(&e->u, q->shape[n - 1]), &d);
    for (uint32_t i = 0; i + 1 < n; i++) {
        place_set(&at, i, place_at(&e->u, &a->row, i));
        place_set(&from, i, i + 2 == n ? j : place_at(&e->u, &a->row, i));
    }
    place_set(&at, n - 1, d);
    place_set(&from, n - 1, d);
    struct term x = emit_value(e, q, &at), y = emit_value(e, k, &from);
    unit_set(&e->u, s, "+= %s * %s", x.v, y.v);
    unit_close(&e->u, was);
    if (!mask)
        return unit_let(&e->u, "%s * %s", s, a->scale);
    const struct dim *shape[GRAPH_MAX_RANK];
    memcpy(shape, q->shape, sizeof shape);
    shape[n - 1] = k->shape[n - 2];
    struct place pair = place_empty(n, shape);
    for (uint32_t i = 0; i + 1 < n; i++)
        place_set(&pair, i, place_at(&e->u, &a->row, i));
    place_set(&pair, n - 1, j);
    struct place m = place_broadcast(e, &pair, mask);
    const char *by = emit_value(e, mask, &m).v;
    return mask->dtype == DT_BOOL
               ? unit_let(&e->u, "%s != 0 ? %s * %s : -INFINITY", by, s, a->scale)
               : unit_let(&e->u, "%s * %s + %s", s, a->scale, by);
}

static struct attention attention_of(struct emit *e, const struct value *v)
{
    struct attention a = {.v = v, .row = unit_place(e, v)};
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

/* Writes two passes over the keys. The first finds the largest score, the second adds up the
 * weighted values. A row in which the mask leaves no key is 0, as in PyTorch. */
static void attention_line(struct emit *e, const struct value *v, bool with_mag)
{
    const struct value *w = v->args[2];
    struct attention a = attention_of(e, v);
    struct index zero = index_number(&e->u, 0), size = index_dim(&e->u, v->shape[v->rank - 1]), j,
                 d;
    const char *most = unit_var(&e->u, "-INFINITY"), *sum = unit_var(&e->u, "0");
    struct scope *was = unit_loop(&e->u, zero, a.keys, &j), *inner;
    unit_set(&e->u, most, "= fmax(%s, %s)", most, score(e, &a, j));
    unit_close(&e->u, was);
    inner = unit_loop(&e->u, zero, size, &d);
    place_set(&a.row, v->rank - 1, d);
    put(e, v, a.row, "=", (struct term){"0", "0", 0}, with_mag);
    unit_close(&e->u, inner);
    was = unit_loop(&e->u, zero, a.keys, &j);
    const char *s = score(e, &a, j);
    const char *weight = unit_let(&e->u, "%s == -INFINITY ? 0.0 : exp(%s - %s)", s, s, most);
    unit_set(&e->u, sum, "+= %s", weight);
    inner = unit_loop(&e->u, zero, size, &d);
    struct place from = place_empty(w->rank, w->shape), to = a.row;
    for (uint32_t i = 0; i + 2 < w->rank; i++)
        place_set(&from, i, place_at(&e->u, &a.row, i));
    place_set(&from, w->rank - 2, j);
    place_set(&from, w->rank - 1, d);
    place_set(&to, v->rank - 1, d);
    struct term t = emit_value(e, w, &from);
    put(e, v, to, "+=",
        (struct term){arena_printf(e->u.arena, "%s * %s", weight, t.v),
                      arena_printf(e->u.arena, "%s * fabs(%s)", weight, t.v), 0},
        with_mag);
    unit_close(&e->u, inner);
    unit_close(&e->u, was);
    was = unit_if(&e->u, "%s != 0", sum);
    inner = unit_loop(&e->u, zero, size, &d);
    place_set(&to, v->rank - 1, d);
    put(e, v, to, "/=", (struct term){sum, sum, 0}, with_mag);
    unit_close(&e->u, inner);
    unit_close(&e->u, was);
}

/* ---- index_add ------------------------------------------------------------------------------- */

/* Opens loops over the axes after `dim` and sets their indices in both places. */
static uint32_t inner_loops(struct emit *e, const struct value *v, struct place *a, struct place *b,
                            struct scope **opened)
{
    uint32_t n = 0;
    for (uint32_t i = axis_of(v) + 1; i < v->rank; i++) {
        struct index at = index_number(&e->u, 0);
        if (!dim_is(v->shape[i], 1))
            opened[n++] = unit_loop(&e->u, at, index_dim(&e->u, v->shape[i]), &at);
        place_set(a, i, at);
        place_set(b, i, at);
    }
    return n;
}

static void index_add_line(struct emit *e, const struct value *v, bool with_mag)
{
    const struct value *index = v->args[1], *source = v->args[2];
    uint32_t axis = axis_of(v);
    struct scope *opened[GRAPH_MAX_RANK], *rows, *match;
    struct place row = unit_place(e, v), from = place_empty(v->rank, source->shape), to = row;
    struct index own = place_at(&e->u, &row, axis), i;
    uint32_t n = inner_loops(e, v, &to, &from, opened);
    struct place in = to;
    put(e, v, to, "=", emit_value(e, v->args[0], &in), with_mag);
    while (n > 0)
        unit_close(&e->u, opened[--n]);
    rows = unit_loop(&e->u, index_number(&e->u, 0), index_dim(&e->u, index->shape[0]), &i);
    struct place at = place_empty(1, index->shape);
    place_set(&at, 0, i);
    struct index to_row = emit_at(e, emit_value(e, index, &at), v->shape[axis]);
    match = unit_if(&e->u, "%s == %s", to_row.text, own.text);
    to = row;
    from = place_empty(v->rank, source->shape);
    for (uint32_t k = 0; k < axis; k++)
        place_set(&from, k, place_at(&e->u, &row, k));
    place_set(&from, axis, i);
    n = inner_loops(e, v, &to, &from, opened);
    put(e, v, to, "+=", emit_value(e, source, &from), with_mag);
    while (n > 0)
        unit_close(&e->u, opened[--n]);
    unit_close(&e->u, match);
    unit_close(&e->u, rows);
}

void emit_line(struct emit *e, const struct value *v, bool with_mag)
{
    if (v->op == OP_ATTENTION)
        attention_line(e, v, with_mag);
    else if (v->op == OP_INDEX_ADD)
        index_add_line(e, v, with_mag);
    else
        scan_line(e, v, with_mag);
}
