/* emit_reduce.c - writes elements that a loop adds up: reductions, matrix products, convolutions
 * and embedding bags. A large reduction to few elements has two phases: the first makes partial
 * results (parts), the second combines them. */
#include <string.h>

#include "base/util.h"
#include "graph/reference/nest.h"
#include "graph/reference/pair.h"
#include "graph/reference/reduced.h"

/* ---- the elements of a reduction ------------------------------------------------------------- */

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

static struct term reduced_item(struct emit *e, const struct value *v, struct place *kept,
                                struct place *gone)
{
    struct place q = reduced_place(e, v, kept, gone);
    return emit_value(e, v->args[0], &q);
}

/* Returns the place that term k reads in operand `which`, for the element of v at `kept`. */
static struct place factor(struct emit *e, const struct value *v, uint32_t which,
                           struct place *kept, struct index k)
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
    return q;
}

static struct term product_of(struct emit *e, const struct value *v, struct term a, struct term b)
{
    struct term t = term_of(e, unit_let(&e->u, "%s * %s", a.v, b.v), scope_depth(e->u.at));
    if (e->mode.kind == REFERENCE_SIGMA) {
        const char *m = product_variance(e, a, b, tf32_rounding(e, v));
        t.m = str_eq(m, TERM_NO_ERROR) ? m : unit_let(&e->u, "%s", m);
    }
    return t;
}

/* Returns a term of the element of v at `kept`: the one at place `gone` along the reduced axes. */
static struct term item(struct emit *e, const struct value *v, struct place *kept,
                        struct place *gone)
{
    if (v->op != OP_MATMUL)
        return reduced_item(e, v, kept, gone);
    struct index k = place_at(&e->u, gone, 0);
    struct place p = factor(e, v, 0, kept, k), q = factor(e, v, 1, kept, k);
    struct term a = emit_value(e, v->args[0], &p), b = emit_value(e, v->args[1], &q);
    return product_of(e, v, a, b);
}

/* Returns the index of the term for an argmax or argmin, else "". */
static const char *position(struct emit *e, const struct value *v, struct place *gone)
{
    if (!collect_is_index(kind_of(v->op)))
        return "";
    return arena_printf(e->u.arena, "(double)%s", place_number(&e->u, gone).text);
}

/* ---- in one step ----------------------------------------------------------------------------- */

/* Adds a term to the collector. Also adds how much the term changes if a source of shared errors is
 * off. */
static void add_item(struct emit *e, const struct value *v, const struct collector *c,
                     struct place *kept, struct place *gone)
{
    struct term t = item(e, v, kept, gone);
    for (int k = 0; e->shared && k < (int)e->shared->n; k++) {
        e->shared->off = k;
        struct term off = item(e, v, kept, gone);
        e->shared->off = -1;
        collect_shared(e, c, (uint32_t)k, t, off);
    }
    collect_add(e, c, t, position(e, v, gone));
}

/* Adds the elements of the vector that begins at `first`. */
static void add_vector(struct emit *e, const struct value *v, struct nest *x, struct place *kept,
                       struct index first)
{
    const struct dim *axes[GRAPH_MAX_RANK];
    uint32_t n = reduced_axes(v, axes);
    struct place gone[VECTOR_MAX], q[VECTOR_MAX];
    for (int64_t k = 0; k < x->vector; k++) {
        gone[k] = place_linear(n, axes, vector_element(&e->u, first, k));
        if (v->op != OP_MATMUL)
            q[k] = reduced_place(e, v, kept, &gone[k]);
    }
    if (v->op != OP_MATMUL)
        emit_vector(e, v->args[0], q, false);
    for (int64_t k = 0; k < x->vector; k++)
        add_item(e, v, nest_sum_of(x, k), kept, &gone[k]);
}

static unsigned flags_of(const struct value *v)
{
    return v->op == OP_MATMUL ? COLLECT_PRODUCTS : 0;
}

static struct term in_one_step(struct emit *e, const struct value *v, struct place *kept)
{
    const struct dim *axes[GRAPH_MAX_RANK], *all = emit_reduced(e, v);
    uint32_t n = reduced_axes(v, axes);
    struct place gone = place_empty(n, axes);
    struct shared_error errors, *was = shared_begin(e, v, &errors);
    struct nest x =
        nest_start(e, collect_start(e, v, kind_of(v->op), place_number(&e->u, kept), flags_of(v)));
    if (reduced_in_vectors(e, all)) {
        add_vector(e, v, &x, kept,
                   nest_vectors(&x, index_number(&e->u, 0), index_dim(&e->u, all),
                                all->is_number ? all->value : 0));
        struct collector sum = nest_end(&x);
        e->shared = was;
        return collect_end(e, &sum);
    }
    if (nest_is_shared(e, all))
        gone = place_linear(n, axes,
                            nest_range(&x, index_number(&e->u, 0), index_dim(&e->u, all),
                                       all->is_number ? all->value : 0, true));
    else
        for (uint32_t i = 0; i < n; i++)
            place_set(&gone, i, nest_loop(&x, axes[i]));
    add_item(e, v, nest_sum(&x), kept, &gone);
    struct collector c = nest_end(&x);
    e->shared = was;
    return collect_end(e, &c);
}

/* ---- in two steps ---------------------------------------------------------------------------- */

const struct dim *emit_parts(struct emit *e, const struct value *v)
{
    struct dim_pool *p = &e->g->dims;
    return dim_div(p, dim_add(p, emit_reduced(e, v), dim_number(p, EMIT_CHUNK - 1)),
                   dim_number(p, EMIT_CHUNK));
}

/* A part combines the elements [first, end) along the reduced axes, for result number `row`. */
struct part_range {
    struct index row, first, end;
};

static struct part_range part_range(struct emit *e, const struct value *v)
{
    struct index parts = index_dim(&e->u, emit_parts(e, v));
    struct index chunk = index_number(&e->u, EMIT_CHUNK);
    struct part_range r = {.row = index_div(&e->u, unit_index(), parts)};
    r.first = index_mul(&e->u, index_mod(&e->u, unit_index(), parts), chunk);
    r.end = index_text(&e->u, 0, "hone_size_min(%s + %s, %s)", r.first.text, chunk.text,
                       dim_in_c(&e->u, emit_reduced(e, v)));
    return r;
}

static struct term part_of(struct emit *e, const struct value *v, const struct part_range *range)
{
    const struct dim *axes[GRAPH_MAX_RANK];
    uint32_t n = reduced_axes(v, axes);
    struct place kept = place_linear(v->rank, v->shape, range->row);
    struct shared_error errors, *outer = shared_begin(e, v, &errors);
    struct nest x = nest_start(e, collect_start(e, v, kind_of(v->op), unit_index(), flags_of(v)));
    if (reduced_in_vectors(e, emit_reduced(e, v))) {
        add_vector(e, v, &x, &kept, nest_vectors(&x, range->first, range->end, EMIT_CHUNK));
    } else {
        struct index r = nest_range(&x, range->first, range->end, EMIT_CHUNK, e->in_lanes);
        struct place gone = place_linear(n, axes, r);
        add_item(e, v, nest_sum(&x), &kept, &gone);
    }
    struct collector c = nest_end(&x);
    e->shared = outer;
    return collect_now(e, &c);
}

/* Writes the parts of a sum and of the squares around its mean. Returns the squares. */
static struct term part_with_sum(struct emit *e, const struct value *v,
                                 const struct part_range *range)
{
    const struct value *centre = e->store[v->id].centre, *sum = centre->args[0];
    struct place kept = place_linear(sum->rank, sum->shape, range->row);
    struct pair pair = {.kind = PAIR_SQUARES, .first = sum, .second = v};
    if (e->in_lanes) {
        pair_write(e, &pair, &kept, range->first, range->end);
    } else {
        pair.result[0] = part_of(e, sum, range).v;
        e->known[0].v = centre;
        e->known[0].text = unit_let(&e->u, "%s / (%s)(%s - %s)", pair.result[0], e->u.real,
                                    range->end.text, range->first.text);
        pair.result[1] = part_of(e, v, range).v;
        e->known[0].v = NULL;
    }
    unit_do(&e->u, "%sPART%u(unit) = %s", e->guard ? e->guard : "", sum->id, pair.result[0]);
    return term_of(e, pair.result[1], 0);
}

void emit_part(struct emit *e, const struct value *v, bool with_mag, bool with_bias)
{
    const char *guard = e->guard ? e->guard : "";
    struct part_range range = part_range(e, v);
    struct term t = e->store[v->id].centre ? part_with_sum(e, v, &range) : part_of(e, v, &range);
    unit_do(&e->u, "%sPART%u(unit) = %s", guard, v->id, t.v);
    if (with_mag)
        unit_do(&e->u, "%sPMAG%u(unit) = %s", guard, v->id, t.m);
    if (with_bias)
        unit_do(&e->u, "PBIAS%u(unit) = %s", v->id, t.bias);
}

static bool terms_are_biased(struct emit *e, const struct value *v)
{
    struct shared_error errors;
    bool biased = false;
    e->shared = shared_begin(e, v, &errors);
    for (uint32_t k = 0; k < errors.n; k++)
        biased |= errors.biased[k];
    return biased;
}

/* Part i added up squares of distances from its own mean. Returns the correction for `centre`: (sum
 * of the part - n * centre)^2 / n, for the n elements of the part. */
static const char *moved_centre(struct emit *e, const struct value *v, const char *centre,
                                struct index first, struct index i)
{
    const struct value *sum = e->store[v->id].centre->args[0];
    const char *n =
        unit_let(&e->u, "(%s)hone_size_min((I)%d, %s - (%s - %s) * %d)", e->u.real, EMIT_CHUNK,
                 dim_in_c(&e->u, emit_reduced(e, v)), i.text, first.text, EMIT_CHUNK);
    const char *off = unit_let(&e->u, "PART%u(%s) - %s * %s", sum->id, i.text, n, centre);
    return unit_let(&e->u, "%s * %s / %s", off, off, n);
}

static struct term in_two_steps(struct emit *e, const struct value *v, struct place *kept)
{
    const struct dim *number = emit_parts(e, v);
    const struct value *centre = e->store[v->id].centre;
    struct index parts = index_dim(&e->u, number);
    struct index first = index_mul(&e->u, place_number(&e->u, kept), parts);
    const char *mean = NULL;
    if (centre) {
        struct place at = place_linear(centre->rank, centre->shape, place_number(&e->u, kept));
        mean = emit_value(e, centre, &at).v;
    }
    const char *bias = terms_are_biased(e, v) ? unit_var(&e->u, "0") : NULL;
    struct nest x = nest_start(
        e, collect_start(e, v, kind_of(v->op), place_number(&e->u, kept), COLLECT_PARTS));
    struct index i = nest_range(&x, first, index_add(&e->u, first, parts),
                                number->is_number ? number->value : 0, nest_is_shared(e, number));
    struct term t = {.depth = scope_depth(e->u.at)};
    const char *type = e->u.real;
    if (e->mode.kernel && collect_is_index(kind_of(v->op)))
        e->u.real = kernel_type(v->args[0]);
    t.v = unit_let(&e->u, "PART%u(%s)", v->id, i.text);
    if (centre)
        t.v = unit_let(&e->u, "%s + %s", t.v, moved_centre(e, v, mean, first, i));
    e->u.real = type;
    t.m = unit_let(&e->u, "PMAG%u(%s)", v->id, i.text);
    collect_add(e, nest_sum(&x), t, t.m);
    if (bias)
        unit_set(&e->u, bias, "+= PBIAS%u(%s)", v->id, i.text);
    struct collector c = nest_end(&x);
    t = collect_end(e, &c);
    if (bias)
        t.m = unit_let(&e->u, "%s + %s * %s", t.m, bias, bias);
    return t;
}

struct term emit_reduction(struct emit *e, const struct value *v, struct place *p)
{
    return e->store[v->id].in_parts ? in_two_steps(e, v, p) : in_one_step(e, v, p);
}

/* ---- indices --------------------------------------------------------------------------------- */

const char *emit_chosen_index(struct emit *e, const struct value *v, const char *name)
{
    const struct dim *axes[GRAPH_MAX_RANK];
    uint32_t n = reduced_axes(v, axes);
    struct place kept = place_linear(v->rank, v->shape, unit_index()), at = kept;
    struct term best = emit_value(e, v, &at), t[2];
    const char *got = unit_let(&e->u, "GOT(%s, unit, %s)", name, best.v);
    struct index index[2] = {index_text(&e->u, 0, "(int64_t)%s", best.v),
                             index_text(&e->u, 0, "hone_index(%s, %s, %s)", got, best.v,
                                        dim_in_c(&e->u, emit_reduced(e, v)))};
    for (int k = 0; k < 2; k++) {
        struct place gone = place_linear(n, axes, index[k]);
        at = kept;
        t[k] = reduced_item(e, v, &at, &gone);
    }
    return unit_let(&e->u, "hone_tie(%s, %s, %s + %s) ? (double)%s : %s", t[0].v, t[1].v, t[0].m,
                    t[1].m, index[1].text, best.v);
}

/* ---- convolutions ---------------------------------------------------------------------------- */

/* Returns the index in the image under a tap (a place of the window). Adds to `inside` the
 * condition that the image has this index. */
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

static struct collector start_with_bias(struct emit *e, const struct value *v, struct place *p)
{
    const struct value *bias = v->args[2];
    struct index i = place_number(&e->u, p), out = place_at(&e->u, p, 1);
    struct collector sum = collect_start(e, v, COLLECT_SUM, i, COLLECT_PRODUCTS);
    if (bias) {
        struct place b = place_empty(1, bias->shape);
        place_set(&b, 0, out);
        struct term t = emit_value(e, bias, &b);
        if (e->mode.kind == REFERENCE_MAGNITUDE)
            t = term_of(e, t.v, t.depth);
        collect_add(e, &sum, t, "");
    }
    return sum;
}

/* Does the same as below_tap() for a transposed convolution, where the index is
 *     (at + padding - tap*dilation) / stride */
static struct index above_tap(struct emit *e, const struct value *v, uint32_t i, struct index at,
                              struct index tap, struct strbuf *inside)
{
    struct unit_text *u = &e->u;
    int64_t stride = value_attr(v, "stride")->ints[i];
    at = index_add(u, at, index_number(u, value_attr(v, "padding")->ints[i]));
    at = index_sub(u, at, index_mul(u, tap, index_number(u, value_attr(v, "dilation")->ints[i])));
    strbuf_addf(inside, "%s%s >= 0", inside->len ? " && " : "", at.text);
    if (stride > 1)
        strbuf_addf(inside, " && %s %% %lld == 0", at.text, (long long)stride);
    at = index_div(u, at, index_number(u, stride));
    strbuf_addf(inside, " && %s < %s", at.text, dim_in_c(u, v->args[0]->shape[2 + i]));
    return at;
}

static void condition(struct nest *x, struct strbuf *inside)
{
    if (inside->len)
        nest_if(x, inside->buf);
    strbuf_clear(inside);
}

static void add_product(struct emit *e, const struct value *v, const struct collector *c,
                        struct place *q, struct place *window)
{
    const struct value *x = v->args[0], *w = v->args[1];
    struct term a = emit_value(e, x, q), b = emit_value(e, w, window);
    struct term t = product_of(e, v, a, b);
    for (int k = 0; e->shared && k < (int)e->shared->n; k++) {
        e->shared->off = k;
        a = emit_value(e, x, q), b = emit_value(e, w, window);
        struct term off = product_of(e, v, a, b);
        e->shared->off = -1;
        collect_shared(e, c, (uint32_t)k, t, off);
    }
    collect_add(e, c, t, "");
}

struct term emit_conv_transpose(struct emit *e, const struct value *v, struct place *p)
{
    const struct value *x = v->args[0], *w = v->args[1];
    const struct dim *groups = value_attr(v, "groups")->dims[0];
    struct strbuf inside = STRBUF_INIT(1 << 16);
    struct place q = place_empty(x->rank, x->shape), window = place_empty(w->rank, w->shape);
    struct index out = place_at(&e->u, p, 1), each = index_dim(&e->u, w->shape[1]);
    struct shared_error errors, *outer = shared_begin(e, v, &errors);
    struct nest sums = nest_start(e, start_with_bias(e, v, p));
    place_set(&q, 0, place_at(&e->u, p, 0));
    place_set(&window, 1, dim_is(groups, 1) ? out : index_mod(&e->u, out, each));
    const struct dim *inputs = dim_div(&e->g->dims, w->shape[0], groups);
    struct index c = nest_loop(&sums, inputs);
    if (!dim_is(groups, 1)) /* start at the group's first channel */
        c = index_add(&e->u,
                      index_mul(&e->u, index_div(&e->u, out, each), index_dim(&e->u, inputs)), c);
    place_set(&window, 0, c);
    place_set(&q, 1, c);
    for (uint32_t i = 0; i + 2 < x->rank; i++) {
        struct index tap = nest_loop(&sums, w->shape[2 + i]);
        place_set(&window, 2 + i, tap);
        place_set(&q, 2 + i, above_tap(e, v, i, place_at(&e->u, p, 2 + i), tap, &inside));
        if (e->mode.kernel) /* a tap outside the image needs no inner loops */
            condition(&sums, &inside);
    }
    condition(&sums, &inside);
    add_product(e, v, nest_sum(&sums), &q, &window);
    struct collector sum = nest_end(&sums);
    e->shared = outer;
    strbuf_release(&inside);
    return collect_end(e, &sum);
}

struct term emit_conv(struct emit *e, const struct value *v, struct place *p)
{
    const struct value *x = v->args[0], *w = v->args[1];
    const struct dim *groups = value_attr(v, "groups")->dims[0];
    struct strbuf inside = STRBUF_INIT(1 << 16);
    struct place q = place_empty(x->rank, x->shape), window = place_empty(w->rank, w->shape);
    struct index out = place_at(&e->u, p, 1), c;
    struct shared_error errors, *outer = shared_begin(e, v, &errors);
    struct nest sums = nest_start(e, start_with_bias(e, v, p));
    place_set(&q, 0, place_at(&e->u, p, 0));
    place_set(&window, 0, out);
    c = nest_loop(&sums, w->shape[1]);
    place_set(&window, 1, c);
    if (!dim_is(groups, 1)) { /* start at the group's first channel */
        struct index each = index_dim(&e->u, dim_div(&e->g->dims, w->shape[0], groups));
        struct index first =
            index_mul(&e->u, index_div(&e->u, out, each), index_dim(&e->u, w->shape[1]));
        c = index_add(&e->u, first, c);
    }
    place_set(&q, 1, c);
    for (uint32_t i = 0; i + 2 < x->rank; i++) {
        struct index tap = nest_loop(&sums, w->shape[2 + i]);
        place_set(&window, 2 + i, tap);
        place_set(&q, 2 + i, below_tap(e, v, i, place_at(&e->u, p, 2 + i), tap, &inside));
        if (e->mode.kernel) /* as in emit_conv_transpose() */
            condition(&sums, &inside);
    }
    condition(&sums, &inside);
    add_product(e, v, nest_sum(&sums), &q, &window);
    struct collector sum = nest_end(&sums);
    e->shared = outer;
    strbuf_release(&inside);
    return collect_end(e, &sum);
}

/* ---- bags ------------------------------------------------------------------------------------ */

struct term emit_embedding_bag(struct emit *e, const struct value *v, struct place *p)
{
    const struct value *index = v->args[0], *w = v->args[1], *offsets = v->args[2];
    const char *mode = value_attr(v, "mode")->text;
    bool max = str_eq(mode, "max");
    struct index bag = place_at(&e->u, p, 0), ends[2];
    for (int k = 0; k < 2; k++) {
        struct place q = place_empty(1, offsets->shape);
        place_set(&q, 0, index_add(&e->u, bag, index_number(&e->u, k)));
        struct term t = emit_value(e, offsets, &q);
        ends[k] =
            index_text(&e->u, t.depth, "hone_end(%s, %s)", t.v, dim_in_c(&e->u, index->shape[0]));
    }
    struct nest x = nest_start(
        e, collect_start(e, v, max ? COLLECT_MAX : COLLECT_SUM, place_number(&e->u, p), 0));
    struct index i = nest_range(&x, ends[0], ends[1], 0, false);
    struct place at = place_empty(1, index->shape), q = place_empty(2, w->shape);
    place_set(&at, 0, i);
    place_set(&q, 0, emit_at(e, emit_value(e, index, &at), w->shape[0]));
    place_set(&q, 1, place_at(&e->u, p, 1));
    collect_add(e, nest_sum(&x), emit_value(e, w, &q), "");
    struct collector c = nest_end(&x);
    struct term t = collect_now(e, &c);
    if (str_eq(mode, "sum"))
        return emit_rounded(e, v, t, c.i);
    const char *n = unit_let(&e->u, "(double)(%s - %s)", ends[1].text, ends[0].text);
    struct term r = {.depth = t.depth};
    const char *how = max ? "%s > 0 ? %s : 0.0" : "%s > 1 ? %s / %s : %s";
    r.v = unit_let(&e->u, how, n, t.v, n, t.v);
    if (e->mode.kind == REFERENCE_SIGMA && !max) /* the variance of the mean */
        r.m = unit_let(&e->u, "%s > 1 ? %s / (%s * %s) + hone_own(%.9g, 0, %s) : %s", n, t.m, n, n,
                       chain_rounding(v), r.v, t.m);
    else
        r.m = unit_let(&e->u, how, n, t.m, n, t.m);
    if (e->mode.kind == REFERENCE_NOISY && !max)
        r.v = unit_let(
            &e->u, "%s",
            noisy_text(e, r.v, "0", v->dtype == DT_F64 ? DT_F64 : DT_F32, noise_key(e, v, c.i)));
    return emit_rounded(e, v, r, c.i);
}
