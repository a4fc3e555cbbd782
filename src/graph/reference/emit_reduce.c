/*
 * emit_reduce.c - elements that a loop adds up: reductions, matrix products, convolutions, losses,
 * bags. A large reduction to few elements takes two phases: the first makes partial results, the
 * second combines them.
 */
#include <string.h>

#include "base/util.h"
#include "graph/reference/emit.h"

/* ---- what a loop collects -------------------------------------------------------------------- */

enum collect {
    COLLECT_SUM,
    COLLECT_PROD,
    COLLECT_MAX,
    COLLECT_MIN,
    COLLECT_ARGMAX,
    COLLECT_ARGMIN
};

struct collector {
    enum collect kind;
    const char *v, *m; /* m: the magnitude, or the index of the element chosen */
};

static enum collect kind_of(enum graph_op op)
{
    switch (op) {
    case OP_PROD:
        return COLLECT_PROD;
    case OP_AMAX:
        return COLLECT_MAX;
    case OP_AMIN:
        return COLLECT_MIN;
    case OP_ARGMAX:
        return COLLECT_ARGMAX;
    case OP_ARGMIN:
        return COLLECT_ARGMIN;
    default:
        return COLLECT_SUM;
    }
}

static bool is_arg(enum collect k)
{
    return k == COLLECT_ARGMAX || k == COLLECT_ARGMIN;
}

static struct collector collect_start(struct emit *e, enum collect kind)
{
    static const char *const start[] = {"0", "1", "-INFINITY", "INFINITY", "-INFINITY", "INFINITY"};
    struct collector c = {.kind = kind};
    c.v = unit_var(&e->u, "%s", start[kind]);
    c.m = unit_var(&e->u, "%s", is_arg(kind) ? "-1" : kind == COLLECT_PROD ? "1" : "0");
    return c;
}

/* Chooses the first of the largest (or smallest) elements. As in PyTorch, a NaN wins over any
 * number. */
static void collect_choice(struct emit *e, const struct collector *c, struct term t,
                           const char *index)
{
    bool most = c->kind == COLLECT_MAX || c->kind == COLLECT_ARGMAX;
    const char *better = arena_printf(e->u.arena, "%s == %s && !(%s %s %s)", c->v, c->v, t.v,
                                      most ? "<=" : ">=", c->v);
    if (is_arg(c->kind)) /* so that the first element is chosen even if it is -inf */
        better = arena_printf(e->u.arena, "%s < 0 || (%s)", c->m, better);
    struct index take = index_text(&e->u, scope_depth(e->u.at), "%s", better);
    unit_set(&e->u, c->m, "= %s ? %s : %s", take.text, is_arg(c->kind) ? index : t.m, c->m);
    if (is_arg(c->kind)) /* only the loop itself reads the value */
        unit_do(&e->u, "%s = %s ? %s : %s", c->v, take.text, t.v, c->v);
    else
        unit_set(&e->u, c->v, "= %s ? %s : %s", take.text, t.v, c->v);
}

static void collect_add(struct emit *e, const struct collector *c, struct term t, const char *index)
{
    if (c->kind > COLLECT_PROD) {
        collect_choice(e, c, t, index);
        return;
    }
    const char *op = c->kind == COLLECT_PROD ? "*=" : "+=";
    unit_set(&e->u, c->v, "%s %s", op, t.v);
    unit_set(&e->u, c->m, "%s %s", op, t.m);
}

static struct term collect_end(struct emit *e, const struct collector *c, enum dtype t)
{
    struct term r = {c->v, c->m, scope_depth(e->u.at)};
    if (is_arg(c->kind))
        return term_of(e, c->m, r.depth);
    if (dtype_is_float(t))
        return r;
    if (t == DT_BOOL)
        return term_of(e, c->v, r.depth);
    const char *whole = arena_printf(e->u.arena, "(uint64_t)(int64_t)%s", c->v);
    return term_of(e, unit_let(&e->u, "%s", wrapped(e, t, whole)), r.depth);
}

/* ---- the elements of a reduction ------------------------------------------------------------- */

/* The sizes of the axes that disappear: those that a reduction removes from its operand, or the one
 * that a product sums over. */
static uint32_t reduced_axes(const struct value *v, const struct dim **out)
{
    const struct value *a = v->args[0];
    if (v->op == OP_MATMUL) {
        out[0] = a->shape[a->rank - 1];
        return 1;
    }
    const struct attr *dim = value_attr(v, "dim");
    for (size_t i = 0; i < dim->n; i++)
        out[i] = a->shape[dim->ints[i]];
    return (uint32_t)dim->n;
}

static struct term reduced_item(struct emit *e, const struct value *v, struct place *kept,
                                struct place *gone)
{
    const struct value *a = v->args[0];
    const struct attr *dim = value_attr(v, "dim");
    bool keep = value_flag(v, "keepdim");
    struct place q = place_empty(a->rank, a->shape);
    uint32_t k = 0, to = 0;
    for (uint32_t i = 0; i < a->rank; i++)
        if (k < dim->n && dim->ints[k] == (int64_t)i) {
            place_set(&q, i, place_at(&e->u, gone, k++));
            to += keep;
        } else {
            place_set(&q, i, place_at(&e->u, kept, to++));
        }
    return emit_value(e, a, &q);
}

/* The element of operand `which` that a matrix product uses at place `kept` of the result, for
 * index k of the sum. */
static struct term factor(struct emit *e, const struct value *v, uint32_t which, struct place *kept,
                          struct index k)
{
    const struct value *a = v->args[which];
    uint32_t rows = v->args[0]->rank > 1, columns = v->args[1]->rank > 1;
    uint32_t batch = v->rank - rows - columns, own = a->rank > 2 ? a->rank - 2 : 0;
    struct place q = place_empty(a->rank, a->shape);
    for (uint32_t i = 0; i < own; i++)
        place_set(&q, i,
                  dim_is(a->shape[i], 1) ? index_number(&e->u, 0)
                                         : place_at(&e->u, kept, batch - own + i));
    if (a->rank == 1) {
        place_set(&q, 0, k);
    } else if (which == 0) {
        place_set(&q, own, place_at(&e->u, kept, batch));
        place_set(&q, own + 1, k);
    } else {
        place_set(&q, own, k);
        place_set(&q, own + 1, place_at(&e->u, kept, v->rank - 1));
    }
    return emit_value(e, a, &q);
}

static struct term product_of(struct emit *e, struct term a, struct term b)
{
    return term_of(e, unit_let(&e->u, "%s * %s", a.v, b.v), scope_depth(e->u.at));
}

static struct term item(struct emit *e, const struct value *v, struct place *kept,
                        struct place *gone)
{
    if (v->op != OP_MATMUL)
        return reduced_item(e, v, kept, gone);
    struct index k = place_at(&e->u, gone, 0);
    struct term a = factor(e, v, 0, kept, k), b = factor(e, v, 1, kept, k);
    return product_of(e, a, b);
}

static const char *position(struct emit *e, const struct value *v, struct place *gone)
{
    if (!is_arg(kind_of(v->op)))
        return "";
    return arena_printf(e->u.arena, "(double)%s", place_number(&e->u, gone).text);
}

/* ---- in one step ----------------------------------------------------------------------------- */

static struct term in_one_step(struct emit *e, const struct value *v, struct place *kept)
{
    const struct dim *axes[GRAPH_MAX_RANK];
    struct scope *opened[GRAPH_MAX_RANK];
    uint32_t n = reduced_axes(v, axes), loops = 0;
    struct place gone = place_empty(n, axes);
    struct collector c = collect_start(e, kind_of(v->op));
    for (uint32_t i = 0; i < n; i++) {
        struct index at = index_number(&e->u, 0);
        if (!dim_is(axes[i], 1))
            opened[loops++] = unit_loop(&e->u, at, index_dim(&e->u, axes[i]), &at);
        place_set(&gone, i, at);
    }
    struct term t = item(e, v, kept, &gone);
    collect_add(e, &c, t, position(e, v, &gone));
    while (loops > 0)
        unit_close(&e->u, opened[--loops]);
    return collect_end(e, &c, v->dtype);
}

/* ---- in two steps ---------------------------------------------------------------------------- */

const struct dim *emit_reduced(struct emit *e, const struct value *v)
{
    const struct dim *axes[GRAPH_MAX_RANK];
    uint32_t n = reduced_axes(v, axes);
    return dim_product(&e->g->dims, axes, n);
}

const struct dim *emit_parts(struct emit *e, const struct value *v)
{
    struct dim_pool *p = &e->g->dims;
    return dim_div(p, dim_add(p, emit_reduced(e, v), dim_number(p, EMIT_CHUNK - 1)),
                   dim_number(p, EMIT_CHUNK));
}

void emit_part(struct emit *e, const struct value *v, bool with_mag)
{
    const struct dim *axes[GRAPH_MAX_RANK];
    uint32_t n = reduced_axes(v, axes);
    struct index parts = index_dim(&e->u, emit_parts(e, v)), r;
    struct index row = index_div(&e->u, unit_index(), parts);
    struct index chunk = index_number(&e->u, EMIT_CHUNK);
    struct index first = index_mul(&e->u, index_mod(&e->u, unit_index(), parts), chunk);
    struct index end = index_text(&e->u, 0, "hone_size_min(%s + %s, %s)", first.text, chunk.text,
                                  dim_in_c(&e->u, emit_reduced(e, v)));
    struct place kept = place_linear(v->rank, v->shape, row);
    struct collector c = collect_start(e, kind_of(v->op));
    struct scope *was = unit_loop(&e->u, first, end, &r);
    struct place gone = place_linear(n, axes, r);
    struct term t = item(e, v, &kept, &gone);
    collect_add(e, &c, t, position(e, v, &gone));
    unit_close(&e->u, was);
    unit_do(&e->u, "PART%u(unit) = %s", v->id, c.v);
    if (with_mag)
        unit_do(&e->u, "PMAG%u(unit) = %s", v->id, c.m);
}

static struct term in_two_steps(struct emit *e, const struct value *v, struct place *kept)
{
    struct index parts = index_dim(&e->u, emit_parts(e, v)), i;
    struct index first = index_mul(&e->u, place_number(&e->u, kept), parts);
    struct collector c = collect_start(e, kind_of(v->op));
    struct scope *was = unit_loop(&e->u, first, index_add(&e->u, first, parts), &i);
    struct term t = {.depth = scope_depth(e->u.at)};
    t.v = unit_let(&e->u, "PART%u(%s)", v->id, i.text);
    t.m = unit_let(&e->u, "PMAG%u(%s)", v->id, i.text);
    collect_add(e, &c, t, t.m);
    unit_close(&e->u, was);
    return collect_end(e, &c, v->dtype);
}

struct term emit_reduction(struct emit *e, const struct value *v, struct place *p)
{
    return e->store[v->id].in_parts ? in_two_steps(e, v, p) : in_one_step(e, v, p);
}

/* ---- convolutions ---------------------------------------------------------------------------- */

/* The index in the image that lies under tap `tap` of the window. Adds to `inside` the condition
 * that this index is inside the image. */
static struct index below_tap(struct emit *e, const struct value *v, uint32_t i, struct index at,
                              struct index tap, struct strbuf *inside)
{
    const struct dim *before = value_attr(v, "before")->dims[i],
                     *after = value_attr(v, "after")->dims[i];
    struct unit_text *u = &e->u;
    at = index_mul(u, at, index_number(u, value_attr(v, "stride")->ints[i]));
    at = index_add(u, at, index_mul(u, tap, index_number(u, value_attr(v, "dilation")->ints[i])));
    if (dim_is(before, 0) && dim_is(after, 0))
        return at;
    at = index_sub(u, at, index_dim(u, before));
    strbuf_addf(inside, "%s%s >= 0 && %s < %s", inside->len ? " && " : "", at.text, at.text,
                dim_in_c(u, v->args[0]->shape[2 + i]));
    return at;
}

static struct index loop_over(struct emit *e, const struct dim *n, struct scope **opened,
                              uint32_t *loops)
{
    struct index at = index_number(&e->u, 0);
    if (!dim_is(n, 1))
        opened[(*loops)++] = unit_loop(&e->u, at, index_dim(&e->u, n), &at);
    return at;
}

struct term emit_conv(struct emit *e, const struct value *v, struct place *p)
{
    const struct value *x = v->args[0], *w = v->args[1], *bias = v->args[2];
    const struct dim *groups = value_attr(v, "groups")->dims[0];
    struct scope *opened[GRAPH_MAX_RANK + 1];
    struct strbuf inside = STRBUF_INIT(1 << 16);
    uint32_t loops = 0;
    struct place q = place_empty(x->rank, x->shape), window = place_empty(w->rank, w->shape);
    struct index out = place_at(&e->u, p, 1), c;
    struct collector sum = collect_start(e, COLLECT_SUM);
    if (bias) {
        struct place b = place_empty(1, bias->shape);
        place_set(&b, 0, out);
        struct term t = emit_value(e, bias, &b);
        collect_add(e, &sum, term_of(e, t.v, t.depth), "");
    }
    place_set(&q, 0, place_at(&e->u, p, 0));
    place_set(&window, 0, out);
    c = loop_over(e, w->shape[1], opened, &loops);
    place_set(&window, 1, c);
    if (!dim_is(groups, 1)) { /* start at the group's first channel */
        struct index each = index_dim(&e->u, dim_div(&e->g->dims, w->shape[0], groups));
        struct index first =
            index_mul(&e->u, index_div(&e->u, out, each), index_dim(&e->u, w->shape[1]));
        c = index_add(&e->u, first, c);
    }
    place_set(&q, 1, c);
    for (uint32_t i = 0; i + 2 < x->rank; i++) {
        struct index tap = loop_over(e, w->shape[2 + i], opened, &loops);
        place_set(&window, 2 + i, tap);
        place_set(&q, 2 + i, below_tap(e, v, i, place_at(&e->u, p, 2 + i), tap, &inside));
    }
    if (inside.len)
        opened[loops++] = unit_if(&e->u, "%s", inside.buf);
    struct term a = emit_value(e, x, &q), b = emit_value(e, w, &window);
    collect_add(e, &sum, product_of(e, a, b), "");
    while (loops > 0)
        unit_close(&e->u, opened[--loops]);
    strbuf_release(&inside);
    return collect_end(e, &sum, v->dtype);
}

/* ---- losses and bags ------------------------------------------------------------------------- */

static struct term class_at(struct emit *e, const struct value *x, struct place *row,
                            struct index c)
{
    struct place q = place_empty(x->rank, x->shape);
    place_set(&q, 0, place_at(&e->u, row, 0));
    place_set(&q, 1, c);
    return emit_value(e, x, &q);
}

/* log(sum(exp(x))) - x[target], and 0 where the target is PyTorch's ignore_index. */
struct term emit_cross_entropy(struct emit *e, const struct value *v, struct place *p)
{
    const struct value *x = v->args[0], *target = v->args[1];
    struct index zero = index_number(&e->u, 0), n = index_dim(&e->u, x->shape[1]), c;
    struct place at = place_broadcast(e, p, target);
    struct collector most = collect_start(e, COLLECT_MAX), sum = collect_start(e, COLLECT_SUM);
    struct scope *was = unit_loop(&e->u, zero, n, &c);
    collect_add(e, &most, class_at(e, x, p, c), "");
    unit_close(&e->u, was);
    was = unit_loop(&e->u, zero, n, &c);
    const char *d = unit_let(&e->u, "exp(%s - %s)", class_at(e, x, p, c).v, most.v);
    collect_add(e, &sum, term_of(e, d, scope_depth(e->u.at)), "");
    unit_close(&e->u, was);
    struct term t = emit_value(e, target, &at);
    struct term right = class_at(e, x, p, emit_at(e, t, x->shape[1]));
    const char *all = unit_let(&e->u, "%s + log(%s)", most.v, sum.v);
    struct term loss = {.depth = scope_depth(e->u.at)};
    loss.v = unit_let(&e->u, "%s == -100 ? 0.0 : %s - %s", t.v, all, right.v);
    loss.m = unit_let(&e->u, "%s == -100 ? 0.0 : fabs(%s) + %s", t.v, all, right.m);
    return loss;
}

struct term emit_embedding_bag(struct emit *e, const struct value *v, struct place *p)
{
    const struct value *index = v->args[0], *w = v->args[1], *offsets = v->args[2];
    const char *mode = value_attr(v, "mode")->text;
    bool max = str_eq(mode, "max");
    struct index bag = place_at(&e->u, p, 0), ends[2], i;
    for (int k = 0; k < 2; k++) {
        struct place q = place_empty(1, offsets->shape);
        place_set(&q, 0, index_add(&e->u, bag, index_number(&e->u, k)));
        struct term t = emit_value(e, offsets, &q);
        ends[k] =
            index_text(&e->u, t.depth, "hone_end(%s, %s)", t.v, dim_in_c(&e->u, index->shape[0]));
    }
    struct collector c = collect_start(e, max ? COLLECT_MAX : COLLECT_SUM);
    struct scope *was = unit_loop(&e->u, ends[0], ends[1], &i);
    struct place at = place_empty(1, index->shape), q = place_empty(2, w->shape);
    place_set(&at, 0, i);
    place_set(&q, 0, emit_at(e, emit_value(e, index, &at), w->shape[0]));
    place_set(&q, 1, place_at(&e->u, p, 1));
    collect_add(e, &c, emit_value(e, w, &q), "");
    unit_close(&e->u, was);
    struct term t = collect_end(e, &c, v->dtype);
    if (str_eq(mode, "sum"))
        return t;
    const char *n = unit_let(&e->u, "(double)(%s - %s)", ends[1].text, ends[0].text);
    struct term r = {.depth = t.depth};
    const char *how = max ? "%s > 0 ? %s : 0.0" : "%s > 1 ? %s / %s : %s";
    r.v = unit_let(&e->u, how, n, t.v, n, t.v);
    r.m = unit_let(&e->u, how, n, t.m, n, t.m);
    return r;
}
