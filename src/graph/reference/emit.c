/* emit.c - writes one element of a value (emit.h): leaves, broadcasting, views and reads by index.
 * The other emit_*.c have the other operations. */
#include "graph/reference/emit.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"

/* ---- helpers --------------------------------------------------------------------------------- */

struct place place_broadcast(struct emit *e, struct place *p, const struct value *operand)
{
    bool same = p->rank == operand->rank;
    for (uint32_t i = 0; same && i < p->rank; i++)
        same = p->shape[i] == operand->shape[i];
    if (same)
        return *p;
    struct place q = place_empty(operand->rank, operand->shape);
    uint32_t skip = p->rank - operand->rank;
    for (uint32_t i = 0; i < operand->rank; i++)
        place_set(&q, i,
                  dim_is(operand->shape[i], 1) ? index_number(&e->u, 0)
                                               : place_at(&e->u, p, skip + i));
    return q;
}

struct index emit_at(struct emit *e, struct term t, const struct dim *n)
{
    return index_text(&e->u, t.depth, "hone_at(%s, %s)", t.v, dim_in_c(&e->u, n));
}

/* ---- leaves ---------------------------------------------------------------------------------- */

/* Reads element p of v as a part of a vector, and sets *out to it. `array` is the beginning of the
 * macro that names an element in memory, such as "VAL3(". An element has `bytes` bytes.
 * e->u.vector is not NULL. Returns false if the element must be read alone. */
static bool read_in_vector(struct emit *e, const struct value *v, struct place *p,
                           const char *array, int64_t bytes, struct term *out)
{
    struct unit_text *u = &e->u;
    struct index i = place_number(u, p), first;
    int64_t width = MIN(u->vector->n, VECTOR_BYTES / bytes), k;
    struct term all;
    if (!vector_read(u, i, p->shape, p->rank, width, &first, &k) ||
        (v->op == OP_INPUT && !vector_align(u->vector, v->name, width * bytes)))
        return false;
    const char *from = arena_printf(u->arena, "%s%s)", array, first.text);
    if (!unit_recall(u, from, &all)) {
        all = (struct term){.depth = scope_depth(u->at)};
        all.v = unit_object(u, "const auto", "hone_read<%d>(&%s)", (int)width, from);
        unit_remember(u, u->at, from, all);
    }
    *out = term_of(e, unit_let(u, "hone_load(%s.at[%d])", all.v, (int)k), scope_depth(u->at));
    return true;
}

static struct term emit_input(struct emit *e, const struct value *v, struct place *p)
{
    struct index i = place_number(&e->u, p);
    struct term t;
    if (e->u.vector && read_in_vector(e, v, p, arena_printf(e->u.arena, "IN_AT(%s, ", v->name),
                                      (int64_t)dtype_bytes(v->dtype), &t))
        return t;
    return term_of(e, unit_let(&e->u, "IN(%s, %s)", v->name, i.text), scope_depth(e->u.at));
}

static struct term emit_leaf(struct emit *e, const struct value *v, struct place *p)
{
    struct arena *a = e->u.arena;
    switch (v->op) {
    case OP_INPUT:
        return emit_input(e, v, p);
    case OP_SCALAR:
        return term_of(e, arena_printf(a, "SC(%s)", v->name), 0);
    case OP_SIZE:
        return term_of(e, arena_printf(a, "(double)%s", dim_in_c(&e->u, v->size)), 0);
    default:
        return term_of(e, number_in_c(a, v->number), 0);
    }
}

int64_t kernel_bytes(const struct emit *e, const struct value *v)
{
    enum dtype t = v->dtype;
    if (e->store[v->id].is_narrow)
        return (int64_t)dtype_bytes(t);
    return t == DT_BOOL ? 1 : dtype_is_float(t) && t != DT_F64 ? 4 : (int64_t)dtype_bytes(t);
}

void emit_kept(struct emit *e, const struct value *v, const char *text)
{
    if (e->store[v->id].is_narrow)
        unit_do(&e->u, "%shone_put(&VAL%u(unit), %s)", e->guard, v->id, text);
    else
        unit_do(&e->u, "%sVAL%u(unit) = %s", e->guard, v->id, text);
}

static struct term emit_stored(struct emit *e, const struct value *v, struct place *p)
{
    struct index i = place_number(&e->u, p);
    struct term t = {.depth = scope_depth(e->u.at)};
    if (e->u.vector &&
        read_in_vector(e, v, p, arena_printf(e->u.arena, "VAL%u(", v->id), kernel_bytes(e, v), &t))
        return t;
    t.v = unit_let(&e->u, e->store[v->id].is_narrow ? "hone_load(VAL%u(%s))" : "VAL%u(%s)", v->id,
                   i.text);
    if (e->store[v->id].is_exact)
        return term_of(e, t.v, t.depth);
    t.m = unit_let(&e->u, "MAG%u(%s)", v->id, i.text);
    return t;
}

/* ---- views ----------------------------------------------------------------------------------- */

/* Returns the place in the operand of v that element p of v reads. v is a reshape, expand, permute,
 * slice or flip. */
static struct place place_below(struct emit *e, const struct value *v, struct place *p)
{
    const struct value *a = v->args[0];
    struct unit_text *u = &e->u;
    struct place q = place_empty(a->rank, a->shape);
    if (v->op == OP_RESHAPE)
        return place_linear(a->rank, a->shape, place_number(u, p));
    if (v->op == OP_EXPAND)
        return place_broadcast(e, p, a);
    if (v->op == OP_PERMUTE) {
        for (uint32_t i = 0; i < v->rank; i++)
            place_set(&q, (uint32_t)value_attr(v, "dims")->ints[i], place_at(u, p, i));
        return q;
    }
    for (uint32_t i = 0; i < v->rank; i++)
        place_set(&q, i, place_at(u, p, i));
    if (v->op == OP_SLICE) {
        uint32_t axis = (uint32_t)value_attr(v, "dim")->ints[0];
        struct index at =
            index_mul(u, place_at(u, p, axis), index_number(u, value_attr(v, "step")->i));
        place_set(&q, axis, index_add(u, at, index_dim(u, value_attr(v, "start")->dims[0])));
    }
    const struct attr *dims = v->op == OP_FLIP ? value_attr(v, "dims") : NULL;
    for (size_t k = 0; dims && k < dims->n; k++) {
        uint32_t i = (uint32_t)dims->ints[k];
        struct index last = index_sub(u, index_dim(u, v->shape[i]), index_number(u, 1));
        if (!dim_is(v->shape[i], 1))
            place_set(&q, i, index_sub(u, last, place_at(u, p, i)));
    }
    return q;
}

static struct term emit_view(struct emit *e, const struct value *v, struct place *p)
{
    struct place q = place_below(e, v, p);
    return emit_value(e, v->args[0], &q);
}

/* Opens a condition that is not the same for all elements of a vector. */
static struct scope *open_single(struct emit *e, const char *condition)
{
    if (e->u.vector)
        e->u.vector->single++;
    return unit_if(&e->u, "%s", condition);
}

static void close_single(struct emit *e, struct scope *was)
{
    if (e->u.vector)
        e->u.vector->single--;
    unit_close(&e->u, was);
}

/* The text must not read the operand in the padding, where the element is the fill number. */
static struct term emit_pad(struct emit *e, const struct value *v, struct place *p)
{
    const struct value *a = v->args[0];
    const struct attr *before = value_attr(v, "before"), *after = value_attr(v, "after");
    struct place q = place_empty(a->rank, a->shape), none = place_empty(0, NULL);
    struct strbuf inside = STRBUF_INIT(1 << 16);
    struct term fill = emit_value(e, v->args[1], &none);
    for (uint32_t i = 0; i < v->rank; i++) {
        struct index at = place_at(&e->u, p, i);
        if (before->ints[i] || after->ints[i]) {
            at = index_sub(&e->u, at, index_number(&e->u, before->ints[i]));
            strbuf_addf(&inside, "%s%s >= 0 && %s < %s", inside.len ? " && " : "", at.text, at.text,
                        dim_in_c(&e->u, a->shape[i]));
        }
        place_set(&q, i, at);
    }
    struct term t;
    if (!inside.len) {
        t = emit_value(e, a, &q);
    } else {
        t = (struct term){unit_var(&e->u, "%s", fill.v), unit_var(&e->u, "%s", fill.m),
                          scope_depth(e->u.at), NULL};
        struct scope *was = open_single(e, inside.buf);
        struct term in = emit_value(e, a, &q);
        unit_set(&e->u, t.v, "= %s", in.v);
        unit_set(&e->u, t.m, "= %s", in.m);
        close_single(e, was);
    }
    strbuf_release(&inside);
    return t;
}

/* Returns the place in operand k of the cat v that element p of v reads. */
static struct place place_in_part(struct emit *e, const struct value *v, uint32_t k,
                                  struct place *p)
{
    const struct value *a = v->args[k];
    uint32_t axis = (uint32_t)value_attr(v, "dim")->ints[0];
    struct place q = place_empty(a->rank, a->shape);
    for (uint32_t i = 0; i < a->rank; i++)
        place_set(&q, i, place_at(&e->u, p, i));
    if (k)
        place_set(&q, axis,
                  index_sub(&e->u, q.at[axis], index_dim(&e->u, v->args[0]->shape[axis])));
    return q;
}

/* Reads each operand only at the places that it fills. */
static struct term emit_cat(struct emit *e, const struct value *v, struct place *p)
{
    uint32_t axis = (uint32_t)value_attr(v, "dim")->ints[0];
    struct index at = place_at(&e->u, p, axis), first = index_dim(&e->u, v->args[0]->shape[axis]);
    if (e->u.vector && v->args[0]->shape[axis]->is_number && isdigit((unsigned char)*at.text)) {
        uint32_t k = strtoll(at.text, NULL, 10) >= v->args[0]->shape[axis]->value;
        struct place q = place_in_part(e, v, k, p);
        return emit_value(e, v->args[k], &q);
    }
    struct term t = {unit_var(&e->u, "0"), unit_var(&e->u, "0"), scope_depth(e->u.at), NULL};
    for (uint32_t k = 0; k < 2; k++) {
        const char *condition =
            arena_printf(e->u.arena, "%s %s %s", at.text, k ? ">=" : "<", first.text);
        struct scope *was = open_single(e, condition);
        struct place q = place_in_part(e, v, k, p);
        struct term in = emit_value(e, v->args[k], &q);
        unit_set(&e->u, t.v, "= %s", in.v);
        unit_set(&e->u, t.m, "= %s", in.m);
        close_single(e, was);
    }
    return t;
}

static struct term emit_windows(struct emit *e, const struct value *v, struct place *p)
{
    const struct value *a = v->args[0];
    uint32_t axis = (uint32_t)value_attr(v, "dim")->ints[0];
    struct unit_text *u = &e->u;
    struct place q = place_empty(a->rank, a->shape);
    for (uint32_t i = 0; i < a->rank; i++)
        place_set(&q, i, place_at(u, p, i));
    struct index window =
        index_mul(u, place_at(u, p, axis), index_number(u, value_attr(v, "step")->i));
    struct index within =
        index_mul(u, place_at(u, p, a->rank), index_number(u, value_attr(v, "dilation")->i));
    place_set(&q, axis, index_add(u, window, within));
    return emit_value(e, a, &q);
}

static struct term emit_gather(struct emit *e, const struct value *v, struct place *p)
{
    const struct value *a = v->args[0];
    uint32_t axis = (uint32_t)value_attr(v, "dim")->ints[0];
    struct place q = place_empty(a->rank, a->shape);
    for (uint32_t i = 0; i < a->rank; i++)
        place_set(&q, i, place_at(&e->u, p, i));
    place_set(&q, axis, emit_at(e, emit_value(e, v->args[1], p), a->shape[axis]));
    return emit_value(e, a, &q);
}

static struct term emit_index_select(struct emit *e, const struct value *v, struct place *p)
{
    const struct value *a = v->args[0], *index = v->args[1];
    uint32_t axis = (uint32_t)value_attr(v, "dim")->ints[0];
    struct place at = place_empty(index->rank, index->shape), q = place_empty(a->rank, a->shape);
    for (uint32_t i = 0; i < index->rank; i++)
        place_set(&at, i, place_at(&e->u, p, axis + i));
    for (uint32_t i = 0; i < a->rank; i++)
        if (i != axis)
            place_set(&q, i, place_at(&e->u, p, i < axis ? i : i + index->rank - 1));
    place_set(&q, axis, emit_at(e, emit_value(e, index, &at), a->shape[axis]));
    return emit_value(e, a, &q);
}

/* ---- any value ------------------------------------------------------------------------------- */

static struct term emit_elements(struct emit *e, const struct value *v, struct place *p)
{
    struct term args[GRAPH_MAX_ARGS] = {{0}};
    for (uint32_t i = 0; i < v->nargs; i++) {
        struct place q = place_broadcast(e, p, v->args[i]);
        args[i] = emit_value(e, v->args[i], &q);
    }
    return emit_elementwise(e, v, args, place_number(&e->u, p), scope_depth(e->u.at));
}

static struct term emit_op(struct emit *e, const struct value *v, struct place *p)
{
    if (e->drawn && (e->drawn[v->id] & DRAWN_ROUNDED))
        return emit_drawn(e, v, p);
    switch (op_row(v->op)->kind) {
    case OPK_LEAF:
        return emit_leaf(e, v, p);
    case OPK_ELEMENTWISE:
        return emit_elements(e, v, p);
    case OPK_REDUCTION:
    case OPK_PRODUCT:
        return emit_reduction(e, v, p);
    case OPK_CONV:
        return v->op == OP_CONV ? emit_conv(e, v, p) : emit_conv_transpose(e, v, p);
    default:
        break;
    }
    switch (v->op) {
    case OP_RESHAPE:
    case OP_EXPAND:
    case OP_PERMUTE:
    case OP_SLICE:
    case OP_FLIP:
        return emit_view(e, v, p);
    case OP_PAD:
        return emit_pad(e, v, p);
    case OP_CAT:
        return emit_cat(e, v, p);
    case OP_WINDOWS:
        return emit_windows(e, v, p);
    case OP_IOTA:
        return term_of(e, arena_printf(e->u.arena, "(double)(%s)", place_at(&e->u, p, 0).text),
                       scope_depth(e->u.at));
    case OP_GATHER:
        return emit_gather(e, v, p);
    case OP_INDEX_SELECT:
        return emit_index_select(e, v, p);
    case OP_EMBEDDING_BAG:
        return emit_embedding_bag(e, v, p);
    default:
        BUG("the reference of %s is not an element", op_row(v->op)->name);
    }
}

const char *kernel_type(const struct value *v)
{
    if (v->dtype == DT_F64 || v->op == OP_FLOOR_DIV || v->op == OP_REMAINDER || v->op == OP_FMOD)
        return "double"; /* rounding a quotient to float may change its integral part */
    if (dtype_is_float(v->dtype))
        return "float";
    if (v->dtype != DT_BOOL)
        return "double";
    for (uint32_t k = 0; k < v->nargs; k++) {
        enum dtype t = v->args[k] ? v->args[k]->dtype : DT_BOOL;
        if (t == DT_F64 || (!dtype_is_float(t) && t != DT_BOOL))
            return "double";
    }
    return "float";
}

/* In a kernel, sets e->u.real to the type of v. Returns the old e->u.real, which the caller
 * restores. */
static const char *type_begin(struct emit *e, const struct value *v)
{
    const char *was = e->u.real;
    if (e->mode.kernel)
        e->u.real = kernel_type(v);
    return was;
}

struct term emit_computed(struct emit *e, const struct value *v, struct place *p)
{
    struct index i = place_number(&e->u, p);
    struct scope *was = unit_enter(&e->u, MAX(i.depth, e->least_depth));
    const char *type = type_begin(e, v);
    struct term t = emit_op(e, v, p);
    e->u.real = type;
    e->u.at = was;
    return t;
}

static int source_number(const struct shared_error *s, const struct value *v)
{
    for (uint32_t k = 0; k < s->n; k++)
        if (s->source[k] == v)
            return (int)k;
    return -1;
}

/* Writes source k with its variance. The source is the value v, which has one-sided errors. If
 * s->off is k, adds 4 times the one-sided error. Sets s->at[k] to the place along bias_axis:
 * elements there are wrong in the same direction. */
static struct term emit_biased(struct emit *e, const struct value *v, int k, struct place *p)
{
    struct shared_error *s = e->shared;
    s->at[k] = place_at(&e->u, p, (uint32_t)e->store[v->id].bias_axis);
    e->shared = NULL;
    struct term t = emit_value(e, v, p);
    e->shared = s;
    if (e->store[v->id].is_stored)
        t.bias = unit_let(&e->u, "BIAS%u(%s)", v->id, place_number(&e->u, p).text);
    if (s->off == k && t.bias)
        t.v = unit_let(&e->u, "%s + 4 * %s", t.v, t.bias);
    return t;
}

/* Writes source k, the value v, without a variance. If s->off is k, adds 4 sigma. */
static struct term emit_source(struct emit *e, const struct value *v, int k, struct place *p)
{
    struct shared_error *s = e->shared;
    if (s->biased[k])
        return emit_biased(e, v, k, p);
    s->at[k] = place_number(&e->u, p);
    e->shared = NULL;
    struct term t = emit_value(e, v, p);
    e->shared = s;
    if (s->off == k)
        t.v = unit_let(&e->u, "%s + 4 * sqrt(%s)", t.v, t.m);
    t.m = TERM_NO_ERROR;
    return t;
}

/* Does the scratch memory hold OFF of v, and are all sources of v sources of the current sum? */
static bool has_offs(const struct emit *e, const struct value *v)
{
    const struct shared_error *own = e->store[v->id].offs;
    for (uint32_t k = 0; own && k < own->n; k++)
        if (source_number(e->shared, own->source[k]) < 0)
            return false;
    return own != NULL;
}

static struct term emit_offs(struct emit *e, const struct value *v, struct place *p)
{
    struct index i = place_number(&e->u, p);
    int off = e->shared->off;
    int own = off < 0 ? -1 : source_number(e->store[v->id].offs, e->shared->source[off]);
    struct term t = {.depth = scope_depth(e->u.at)};
    if (off < 0)
        emit_op(e, v, p); /* only to set the places of the sources (e->shared->at) */
    if (own >= 0)
        t.v = unit_let(&e->u, "OFF%d_%u(%s)", own, v->id, i.text);
    else
        t.v = unit_let(&e->u, "VAL%u(%s)", v->id, i.text);
    t.m = unit_let(&e->u, "OWN%u(%s)", v->id, i.text);
    return t;
}

/* v is a source of shared errors, or lies between a source and the sum. VAL does not show how v
 * changes if a source is wrong. So we read OFF, or else compute v again. */
static struct term emit_on_path(struct emit *e, const struct value *v, struct place *p)
{
    struct index i = place_number(&e->u, p);
    int k = source_number(e->shared, v);
    struct term t;
    const char *key =
        arena_printf(e->u.arena, "%u@%s#%u#%d", v->id, i.text, e->shared->number, e->shared->off);
    if (unit_recall(&e->u, key, &t))
        return t;
    struct scope *was = unit_enter(&e->u, MAX(i.depth, e->least_depth));
    t = k >= 0 ? emit_source(e, v, k, p) : has_offs(e, v) ? emit_offs(e, v, p) : emit_op(e, v, p);
    unit_remember(&e->u, e->u.at, key, t);
    e->u.at = was;
    return t;
}

/* Writes the element of v while e->only_own is set. Values that this unit does not compute element
 * by element then count as exact. */
static struct term emit_only_own(struct emit *e, const struct value *v, struct place *p)
{
    enum op_kind kind = op_row(v->op)->kind;
    struct index i = place_number(&e->u, p);
    const char *key = arena_printf(e->u.arena, "%u@%s#own", v->id, i.text);
    struct term t;
    if ((kind != OPK_ELEMENTWISE && kind != OPK_VIEW) || e->store[v->id].is_stored) {
        e->only_own = false;
        t = emit_value(e, v, p);
        e->only_own = true;
        t.m = TERM_NO_ERROR;
        return t;
    }
    if (unit_recall(&e->u, key, &t))
        return t;
    struct scope *was = unit_enter(&e->u, MAX(i.depth, e->least_depth));
    t = emit_op(e, v, p);
    unit_remember(&e->u, e->u.at, key, t);
    e->u.at = was;
    return t;
}

struct term emit_value(struct emit *e, const struct value *v, struct place *p)
{
    if (e->only_own)
        return emit_only_own(e, v, p);
    if (e->shared && e->shared->path[v->id])
        return emit_on_path(e, v, p);
    for (uint32_t k = 0; k < ARRAY_LEN(e->known); k++)
        if (e->known[k].v == v)
            return term_of(e, e->known[k].text, 0);
    struct index i = place_number(&e->u, p);
    struct term t;
    const char *key = arena_printf(e->u.arena, "%u@%s", v->id, i.text);
    if (op_row(v->op)->kind == OPK_LEAF && v->op != OP_INPUT)
        return emit_leaf(e, v, p);
    if (unit_recall(&e->u, key, &t))
        return t;
    struct scope *was = unit_enter(&e->u, MAX(i.depth, e->least_depth));
    const char *type = type_begin(e, v);
    t = e->store[v->id].is_stored ? emit_stored(e, v, p) : emit_op(e, v, p);
    e->u.real = type;
    unit_remember(&e->u, e->u.at, key, t);
    e->u.at = was;
    return t;
}

/* ---- vectors --------------------------------------------------------------------------------- */

/* Writes one condition for all elements of a vector, if the vector lies in one part of the cat. So
 * the elements can be read with one load. */
static void emit_cat_of_vector(struct emit *e, const struct value *v, struct place *p)
{
    uint32_t axis = (uint32_t)value_attr(v, "dim")->ints[0];
    struct unit_text *u = &e->u;
    struct index first = index_dim(u, v->args[0]->shape[axis]), at = {0};
    const char *names[VECTOR_MAX];
    struct place q[VECTOR_MAX];
    int64_t n = u->vector->n;
    for (int64_t j = 0; j < n; j++) {
        struct index group = vector_group(u, place_at(u, &p[j], axis), first);
        if ((j && !str_eq(group.text, at.text)) || isdigit((unsigned char)*group.text))
            return;
        at = group;
    }
    struct scope *was = unit_enter(u, MAX(place_number(u, &p[0]).depth, e->least_depth));
    const char *type = type_begin(e, v);
    for (int64_t j = 0; j < n; j++)
        names[j] = unit_var(u, "0");
    for (uint32_t k = 0; k < 2; k++) {
        struct scope *outer = unit_if(u, "%s %s %s", at.text, k ? ">=" : "<", first.text);
        for (int64_t j = 0; j < n; j++)
            q[j] = place_in_part(e, v, k, &p[j]);
        emit_vector(e, v->args[k], q, false);
        for (int64_t j = 0; j < n; j++)
            unit_set(u, names[j], "= %s", emit_value(e, v->args[k], &q[j]).v);
        unit_close(u, outer);
    }
    for (int64_t j = 0; j < n; j++) {
        const char *key = arena_printf(u->arena, "%u@%s", v->id, place_number(u, &p[j]).text);
        unit_remember(u, u->at, key, term_of(e, names[j], scope_depth(u->at)));
    }
    u->real = type;
    u->at = was;
}

void emit_vector(struct emit *e, const struct value *v, struct place *p, bool own)
{
    enum op_kind kind = op_row(v->op)->kind;
    int64_t n = e->u.vector->n;
    struct place q[VECTOR_MAX];
    struct term t;
    const char *key = arena_printf(e->u.arena, "%u@%s", v->id, place_number(&e->u, &p[0]).text);
    if ((!own && (e->store[v->id].is_stored || e->known[0].v == v || e->known[1].v == v)) ||
        unit_recall(&e->u, key, &t))
        return;
    bool below = v->op == OP_RESHAPE || v->op == OP_EXPAND || v->op == OP_PERMUTE ||
                 v->op == OP_SLICE || v->op == OP_FLIP;
    if (v->op == OP_CAT)
        emit_cat_of_vector(e, v, p);
    for (uint32_t k = 0; (kind == OPK_ELEMENTWISE || (below && k == 0)) && k < v->nargs; k++) {
        for (int64_t j = 0; j < n; j++)
            q[j] = below ? place_below(e, v, &p[j]) : place_broadcast(e, &p[j], v->args[k]);
        emit_vector(e, v->args[k], q, false);
    }
    if (!own && (below || kind == OPK_ELEMENTWISE))
        for (int64_t j = 0; j < n; j++)
            emit_value(e, v, &p[j]);
}
