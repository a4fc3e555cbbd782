/*
 * emit_line.c - writes scans and index_add. One unit (line.h) makes all elements along the scanned
 * axis, or along the axes after `dim` of index_add.
 */
#include <math.h>
#include <string.h>

#include "base/util.h"
#include "graph/reference/collect.h"
#include "graph/reference/line.h"

/* ---- scans ----------------------------------------------------------------------------------- */

/* Writes a line of cummax or cummin. Of equal elements, the last one is chosen. */
static void choice_line(struct emit *e, const struct value *v, bool with_mag)
{
    uint32_t axis = line_axis(v);
    bool most = v->op == OP_CUMMAX;
    struct place p = line_place(e, v), q;
    struct index j;
    struct term best = {unit_var(&e->u, most ? "-INFINITY" : "INFINITY"), unit_var(&e->u, "0"), 0,
                        NULL};
    struct scope *was =
        unit_loop(&e->u, index_number(&e->u, 0), index_dim(&e->u, v->shape[axis]), &j);
    place_set(&p, axis, j);
    q = p;
    struct term t = emit_value(e, v->args[0], &q);
    struct index take = index_text(&e->u, j.depth, "%s == %s && !(%s %s %s)", best.v, best.v, t.v,
                                   most ? "<" : ">", best.v);
    if (e->mode.kind == REFERENCE_SIGMA)
        unit_set(&e->u, best.m, "= hone_pick(%s, %s, %s, %s, %s)", take.text, best.v, t.v, best.m,
                 t.m);
    else
        unit_set(&e->u, best.m, "= %s ? %s : %s", take.text, t.m, best.m);
    unit_set(&e->u, best.v, "= %s ? %s : %s", take.text, t.v, best.v);
    line_put(e, v, p, "=", best, with_mag);
    unit_close(&e->u, was);
}

/* Writes a line of cumsum in a kernel. An element is the sum of all earlier chains of COLLECT_CHAIN
 * terms, plus the current chain so far. */
static void cumsum_line(struct emit *e, const struct value *v)
{
    struct unit_text *u = &e->u;
    uint32_t axis = line_axis(v);
    struct place p = line_place(e, v), q;
    struct index first, j, end = index_dim(u, v->shape[axis]);
    struct collector all = collect_start(e, v, COLLECT_SUM, unit_index(), 0), chain;
    const char *step = arena_printf(u->arena, "%d", COLLECT_CHAIN);
    struct scope *outer = unit_loop_by(u, index_number(u, 0), end, step, &first), *inner;
    chain = collect_start(e, v, COLLECT_SUM, unit_index(), 0);
    end = index_text(u, first.depth, "hone_size_min(%s + %s, %s)", first.text, step, end.text);
    inner = unit_loop(u, first, end, &j);
    place_set(&p, axis, j);
    q = p;
    collect_add(e, &chain, emit_value(e, v->args[0], &q), "");
    const char *sum = unit_let(u, "%s + %s", all.v, chain.v);
    line_put(e, v, p, "=", term_of(e, sum, j.depth), false);
    unit_close(u, inner);
    /* Not unit_set(): only the next round of the loop reads the variable, and unit_text.c leaves
     * out a statement if no later statement reads its variable. */
    unit_do(u, "%s += %s", all.v, chain.v);
    unit_close(u, outer);
}

static void scan_line(struct emit *e, const struct value *v, bool with_mag)
{
    uint32_t axis = line_axis(v);
    struct place p = line_place(e, v), q;
    struct index j;
    struct collector c =
        collect_start(e, v, v->op == OP_CUMSUM ? COLLECT_SUM : COLLECT_PROD, unit_index(), 0);
    struct scope *was =
        unit_loop(&e->u, index_number(&e->u, 0), index_dim(&e->u, v->shape[axis]), &j);
    place_set(&p, axis, j);
    q = p;
    collect_add(e, &c, emit_value(e, v->args[0], &q), "");
    q = p;
    struct term t = collect_now(e, &c);
    if (dtype_is_float(v->dtype))
        t = emit_rounded(e, v, t, place_number(&e->u, &q));
    line_put(e, v, p, "=", t, with_mag);
    unit_close(&e->u, was);
}

/* ---- index_add ------------------------------------------------------------------------------- */

/* Opens loops over the axes after `dim`, and sets the indices of *a and *b along them. Writes the
 * scopes that the caller must close to `opened`, and returns how many there are. */
static uint32_t inner_loops(struct emit *e, const struct value *v, struct place *a, struct place *b,
                            struct scope **opened)
{
    uint32_t n = 0;
    for (uint32_t i = line_axis(v) + 1; i < v->rank; i++) {
        struct index at = index_number(&e->u, 0);
        if (!dim_is(v->shape[i], 1))
            opened[n++] = unit_loop(&e->u, at, index_dim(&e->u, v->shape[i]), &at);
        place_set(a, i, at);
        place_set(b, i, at);
    }
    return n;
}

/* Writes the addition of t, a term from row `step` of the source, to the element at p. Each
 * addition rounds to the type of the tensor. */
static void add_to(struct emit *e, const struct value *v, struct place p, struct term t,
                   struct index step, bool with_mag)
{
    bool rounds = dtype_is_float(v->dtype) && e->mode.kind != REFERENCE_MAGNITUDE;
    struct index i = place_number(&e->u, &p);
    if (!rounds) {
        line_put(e, v, p, "+=", t, with_mag);
        return;
    }
    const char *sum = unit_let(&e->u, "VAL%u(%s) + %s", v->id, i.text, t.v);
    if (e->mode.kind == REFERENCE_NOISY)
        sum = noisy_text(e, sum, "0", v->dtype,
                         arena_printf(e->u.arena, "hone_key((uint64_t)(%s), %s)", step.text,
                                      noise_key(e, v, i)));
    unit_do(&e->u, "VAL%u(%s) = %s", v->id, i.text, sum);
    if (with_mag)
        unit_do(&e->u, "MAG%u(%s) += %s + hone_own(%.9g, 0, %s)", v->id, i.text, t.m,
                ldexp(1, -2 - 2 * dtype_mantissa_bits(v->dtype)) / 3, sum);
}

/* Writes one element of index_add in a kernel: the input's element, plus the elements of those
 * source rows whose entry in the index tensor names the element's own row. */
static void index_add_element(struct emit *e, const struct value *v)
{
    struct unit_text *u = &e->u;
    const struct value *index = v->args[1], *source = v->args[2];
    uint32_t axis = line_axis(v);
    struct index i;
    struct place p = place_linear(v->rank, v->shape, unit_index()), in = p;
    struct collector sum = collect_start(e, v, COLLECT_SUM, unit_index(), 0);
    collect_add(e, &sum, emit_value(e, v->args[0], &in), "");
    struct scope *rows = unit_loop(u, index_number(u, 0), index_dim(u, index->shape[0]), &i);
    struct place at = place_empty(1, index->shape), from = place_empty(v->rank, source->shape);
    place_set(&at, 0, i);
    struct index row = emit_at(e, emit_value(e, index, &at), v->shape[axis]);
    struct scope *match = unit_if(u, "%s == %s", row.text, place_at(u, &p, axis).text);
    for (uint32_t k = 0; k < v->rank; k++)
        place_set(&from, k, k == axis ? i : place_at(u, &p, k));
    collect_add(e, &sum, emit_value(e, source, &from), "");
    unit_close(u, match);
    unit_close(u, rows);
    struct term t = collect_end(e, &sum);
    unit_do(u, "VAL%u(unit) = %s", v->id, t.v);
}

static void index_add_line(struct emit *e, const struct value *v, bool with_mag)
{
    const struct value *index = v->args[1], *source = v->args[2];
    uint32_t axis = line_axis(v);
    struct scope *opened[GRAPH_MAX_RANK], *rows, *match;
    struct place row = line_place(e, v), from = place_empty(v->rank, source->shape), to = row;
    struct index own = place_at(&e->u, &row, axis), i;
    uint32_t n = inner_loops(e, v, &to, &from, opened);
    struct place in = to;
    line_put(e, v, to, "=", emit_value(e, v->args[0], &in), with_mag);
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
    add_to(e, v, to, emit_value(e, source, &from), i, with_mag);
    while (n > 0)
        unit_close(&e->u, opened[--n]);
    unit_close(&e->u, match);
    unit_close(&e->u, rows);
}

void emit_line(struct emit *e, const struct value *v, bool with_mag)
{
    if (v->op == OP_ATTENTION)
        emit_attention(e, v, with_mag);
    else if (op_row(v->op)->kind == OPK_RECURRENT)
        emit_recurrent(e, v, with_mag);
    else if (v->op == OP_CUMMAX || v->op == OP_CUMMIN)
        choice_line(e, v, with_mag);
    else if (v->op == OP_INDEX_ADD && e->mode.kernel)
        index_add_element(e, v);
    else if (v->op == OP_INDEX_ADD)
        index_add_line(e, v, with_mag);
    else if (v->op == OP_CUMSUM && e->mode.kernel && dtype_is_float(v->dtype))
        cumsum_line(e, v);
    else
        scan_line(e, v, with_mag);
}
