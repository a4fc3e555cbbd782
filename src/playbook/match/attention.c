/*
 * attention.c - matches attention: softmax(score(Q K^T)) V. match.h explains ops and binding.
 *
 *     F.scaled_dot_product_attention(q, k, v, is_causal=True)
 *     torch.softmax(q @ k.mT / 8 + mask, -1) @ v
 *
 * The op's tensors are Q[Z, M, D], K[Z, N, D], V[Z, N, E] and O[Z, M, E], where Z is the batch.
 * Each operand is an input, or a view (view.h) with the elements in the same order. The score is a
 * CUDA expression of the product v, the query's index m, the key's index n, and inputs that
 * broadcast to the scores. If it is only the product times a number, `plain` is "true" and `scale`
 * is this number.
 *
 * A mask such as the causal one keeps a band of keys for each query: keep_from <= n - m <= keep_to.
 */
#include <math.h>

#include "base/util.h"
#include "playbook/match/band.h"
#include "playbook/match/epilogue.h"
#include "playbook/match/functions.h"
#include "playbook/match/operand.h"

enum { MAX_FACTORS = 4 };

/* Multiplications and divisions of Q and K by single numbers. */
struct factors {
    const struct value *by[MAX_FACTORS];
    uint32_t n;
};

struct attention {
    struct operand q, k, v;
    /* Only for attention that is written as two products and a softmax. */
    struct factors factors;
    const struct value *product; /* Q K^T */
    const struct value *scores;  /* the operand of the softmax, without masks that are bands */
    struct band band;
    /* Only for attention that is one operation (OP_ATTENTION); may be NULL. */
    const struct value *mask, *scale;
    uint32_t rank;
    const struct dim *shape[GRAPH_MAX_RANK]; /* of the scores: the batch, then M and N */
    const struct dim *z, *d, *e;
};

static bool is_single(const struct value *v)
{
    for (uint32_t i = 0; i < v->rank; i++)
        if (!dim_is(v->shape[i], 1))
            return false;
    return true;
}

static bool has_op(void *op, const struct value *v)
{
    return v->op == *(const enum graph_op *)op;
}

/* Goes from v back through views that keep all elements in order. If this leads to a value of
 * operation `op`, returns it, else NULL. */
static const struct value *base_of(struct match *x, const struct value *v, enum graph_op op)
{
    const struct view_end end = {has_op, &op, true};
    struct view view;
    return read_view(&x->m->g.dims, v, &end, &view) && view.base->op == op && view_is_array(&view)
               ? view.base
               : NULL;
}

static bool are_same_matrices(struct match *x, const struct value *a, const struct value *b)
{
    struct dim_pool *dims = &x->m->g.dims;
    return a->rank > 1 && b->rank > 1 && dim_same(a->shape[a->rank - 1], b->shape[b->rank - 1]) &&
           dim_same(a->shape[a->rank - 2], b->shape[b->rank - 2]) &&
           dim_same(dim_product(dims, a->shape, a->rank - 2),
                    dim_product(dims, b->shape, b->rank - 2));
}

/* ---- the operands ---------------------------------------------------------------------------- */

static const struct value *without_factors(struct match *x, const struct value *v,
                                           struct factors *out)
{
    struct err err = ERR_INIT;
    bool product = v->op == OP_MUL || v->op == OP_DIV;
    if (product && is_single(v->args[1]) && out->n < MAX_FACTORS) {
        out->by[out->n++] = v;
        return without_factors(x, v->args[0], out);
    }
    if (v->op != OP_RESHAPE && v->op != OP_PERMUTE && v->op != OP_CAST)
        return v;
    const struct value *of = without_factors(x, v->args[0], out);
    const struct value *made = of == v->args[0] ? v : graph_rebuild(&x->m->g, v, &of, &err);
    return made ? made : v;
}

/* Is v a view of an input, with one matrix for each matrix of the scores? If `turned`, the input
 * must store the matrices of v transposed: for example, v is K^T and the input is K. */
static bool is_operand(struct match *x, const struct attention *a, const struct value *v,
                       bool turned, struct operand *out)
{
    bool is_turned;
    if (v->rank < 2 || !find_operand(x->m, v, out))
        return false;
    uint32_t batch = v->rank - 2;
    if (!operand_is_stored(&out->view, batch, batch + 1, &is_turned) ||
        !dim_same(dim_product(&x->m->g.dims, v->shape, batch), a->z))
        return false;
    /* A matrix with one row or column is stored like its transpose. */
    bool vector = dim_is(v->shape[batch], 1) || dim_is(v->shape[batch + 1], 1);
    return is_turned == turned || (vector && !is_turned);
}

static void set_shape(struct match *x, struct attention *a, uint32_t rank,
                      const struct dim *const *shape)
{
    a->rank = rank;
    for (uint32_t i = 0; i < rank; i++)
        a->shape[i] = shape[i];
    a->z = dim_product(&x->m->g.dims, a->shape, rank - 2);
}

static bool find_fused(struct match *x, const struct value *v, struct attention *a)
{
    const struct value *q = v->args[0], *k = v->args[1], *w = v->args[2];
    set_shape(x, a, q->rank, q->shape);
    a->shape[a->rank - 1] = k->shape[k->rank - 2];
    a->d = q->shape[q->rank - 1];
    a->e = w->shape[w->rank - 1];
    a->mask = v->args[3];
    a->scale = v->args[4];
    if (value_flag(v, "causal"))
        a->band.to = 0;
    return is_operand(x, a, q, false, &a->q) && is_operand(x, a, k, false, &a->k) &&
           is_operand(x, a, w, false, &a->v);
}

static bool find_written(struct match *x, const struct value *v, struct attention *a)
{
    const struct value *weights = base_of(x, v->args[0], OP_SOFTMAX), *w = v->args[1];
    if (!weights || weights->rank < 2 || w->rank < 2 || v->args[0]->rank < 2 ||
        value_attr(weights, "dim")->ints[0] + 1 != weights->rank ||
        !are_same_matrices(x, weights, v->args[0]))
        return false;
    const struct match under = {.m = x->m, .v = weights->args[0]};
    a->scores = weights->args[0];
    a->product = only_one(&under, OP_MATMUL);
    if (!a->product || !are_same_matrices(x, a->product, a->scores))
        return false;
    const struct value *q = without_factors(x, a->product->args[0], &a->factors);
    const struct value *k = without_factors(x, a->product->args[1], &a->factors);
    set_shape(x, a, weights->rank, weights->shape);
    a->d = q->shape[q->rank - 1];
    a->e = w->shape[w->rank - 1];
    return is_operand(x, a, q, false, &a->q) && is_operand(x, a, k, true, &a->k) &&
           is_operand(x, a, w, false, &a->v);
}

static bool find_attention(struct match *x, struct attention *a)
{
    const struct value *fused = base_of(x, x->v, OP_ATTENTION),
                       *written = base_of(x, x->v, OP_MATMUL);
    *a = (struct attention){.band = BAND_EVERYWHERE};
    if (json_array_size(json_object_get(x->m->facts, "tensors")) == x->m->inputs + 1 &&
        ((fused && find_fused(x, fused, a)) || (written && find_written(x, written, a))))
        return true;
    strbuf_adds(x->why, "the task's PyTorch expression is not softmax(Q K^T) V of inputs that are "
                        "stored as matrices of one batch");
    return false;
}

/* ---- bands ----------------------------------------------------------------------------------- */

/* An index is a value such as torch.arange(N). If v is an index along an axis of the scores,
 * returns its name: "n" along the keys, "m" along the queries, "0" if v has a single element.
 * Otherwise returns NULL. */
static const char *index_name(const struct attention *a, const struct value *v)
{
    const struct value *from = v;
    while (from->op == OP_RESHAPE)
        from = from->args[0];
    if (from->op != OP_IOTA || from->rank != 1 || v->rank > a->rank)
        return NULL;
    for (uint32_t i = 0; i < v->rank; i++) {
        uint32_t axis = a->rank - v->rank + i;
        if (dim_is(v->shape[i], 1))
            continue;
        if (!dim_same(v->shape[i], a->shape[axis]) || axis + 2 < a->rank)
            return NULL;
        return axis + 1 == a->rank ? "n" : "m";
    }
    return "0";
}

static const struct value *bare_number(const struct value *v)
{
    while (v->op == OP_EXPAND || v->op == OP_CAST || v->op == OP_RESHAPE)
        v = v->args[0];
    return v;
}

static int sign_of_index(void *a, const struct value *v)
{
    const char *name = index_name(a, v);
    return !name ? 0 : *name == 'n' ? 1 : *name == 'm' ? -1 : 0;
}

static bool take_mask(struct attention *a, const struct value *mask, bool taken)
{
    const struct band_index index = {sign_of_index, a};
    double one = 0;
    if (mask->op == OP_NOT || mask->op == OP_LOGICAL_NOT)
        return take_mask(a, mask->args[0], !taken);
    if (mask->op == OP_AND || mask->op == OP_LOGICAL_AND)
        for (int i = 0; i < 2; i++)
            if (value_is_number(bare_number(mask->args[i]), &one) && one == 1)
                return take_mask(a, mask->args[1 - i], taken);
    return band_narrow(mask, taken, &index, &a->band);
}

/* As long as a torch.where() sets the scores outside of a band to -inf, narrows a->band to this
 * band, and sets a->scores to the scores that torch.where() takes inside of the band. */
static void take_bands(struct attention *a)
{
    while (a->scores->op == OP_WHERE) {
        const struct value *const *args = a->scores->args;
        double left = 0, right = 0;
        bool first = value_is_number(bare_number(args[1]), &left) && left == -INFINITY,
             second = value_is_number(bare_number(args[2]), &right) && right == -INFINITY;
        if (first == second || !take_mask(a, args[0], second))
            return;
        a->scores = args[second ? 1 : 2];
    }
}

/* ---- what the scores read -------------------------------------------------------------------- */

struct writing {
    struct match *x;
    const struct attention *a;
    bool used[2 * PB_MAX_TENSORS]; /* the score reads v<i> */
    /* Where matrix z begins in input i, as a CUDA expression; NULL if it has no batch. */
    const char *first[PB_MAX_TENSORS];
    /* Input i has the batch index z / after[i] % along[i]. If both are NULL, it has the batch index
     * z, or no batch. */
    const struct dim *after[PB_MAX_TENSORS], *along[PB_MAX_TENSORS];
};

static bool varies(const struct attention *a, const struct value *t, uint32_t axis)
{
    uint32_t lead = a->rank - t->rank;
    return axis >= lead && !dim_is(t->shape[axis - lead], 1);
}

/* Finds the axes [*from, *to) of the batch along which t varies. Returns false if t is constant
 * along an axis between them. */
static bool find_batch(const struct attention *a, const struct value *t, uint32_t *from,
                       uint32_t *to)
{
    bool found = false;
    for (uint32_t i = 0; i + 2 < a->rank; i++) {
        if (!varies(a, t, i))
            continue;
        for (uint32_t k = found ? *to : i; k < i; k++)
            if (!dim_is(a->shape[k], 1))
                return false;
        *from = found ? *from : i;
        *to = i + 1;
        found = true;
    }
    if (!found)
        *from = *to = 0;
    return true;
}

static bool write_input(struct writing *w, int i, const struct value *t, struct strbuf *out)
{
    const struct attention *a = w->a;
    struct dim_pool *dims = &w->x->m->g.dims;
    struct arena *mem = &w->x->m->mem;
    uint32_t from = 0, to = 0, batch = a->rank - 2;
    for (uint32_t k = 0; k < t->rank; k++)
        if (t->rank > a->rank ||
            (!dim_is(t->shape[k], 1) && !dim_same(t->shape[k], a->shape[a->rank - t->rank + k])))
            return false;
    if (!find_batch(a, t, &from, &to) || !element_type(w->x->m->types[i]))
        return false;
    bool of_m = varies(a, t, batch), of_n = varies(a, t, batch + 1);
    if (to > from) {
        const struct dim *along = dim_product(dims, a->shape + from, to - from);
        const char *z = "z";
        if (!dim_same(along, a->z)) {
            w->after[i] = dim_product(dims, a->shape + to, batch - to);
            w->along[i] = along;
            z = arena_printf(mem, "z / v%d_after %% v%d_along", i, i);
        }
        w->first[i] = arena_printf(mem, "%s%s%s", z, of_m ? " * M" : "", of_n ? " * N" : "");
    }
    const char *at = of_m && of_n ? "m * N + n" : of_m ? "m" : of_n ? "n" : "0";
    strbuf_addf(out, "%s(e.v%d[%s])", value_type(w->x->m->types[i]), i, at);
    w->used[i] = true;
    return true;
}

static bool is_product(const struct writing *w, const struct value *v)
{
    return w->a->product && base_of(w->x, v, OP_MATMUL) == w->a->product &&
           are_same_matrices(w->x, v, w->a->scores);
}

static bool write_value(struct writing *w, const struct value *v, struct strbuf *out);

static bool write_factor(struct writing *w, const struct value *by, struct strbuf *out)
{
    strbuf_addf(out, " %c float(", by->op == OP_MUL ? '*' : '/');
    bool ok = write_value(w, by->args[1], out);
    strbuf_addc(out, ')');
    return ok;
}

static void write_product(struct writing *w, struct strbuf *out)
{
    strbuf_adds(out, "(v");
    for (uint32_t i = 0; i < w->a->factors.n; i++)
        write_factor(w, w->a->factors.by[i], out);
    strbuf_addc(out, ')');
}

static bool leaf(void *ctx, const struct value *v, struct strbuf *out, struct strbuf *why)
{
    struct writing *w = ctx;
    struct match *x = w->x;
    if (is_product(w, v)) {
        write_product(w, out);
        return true;
    }
    if (v->op == OP_EXPAND) { /* the score broadcasts everything that it reads */
        struct leaves leaves = {leaf, w, false};
        write_expression(v->args[0], &leaves, out, why);
        return true;
    }
    int i = meaning_input(x->m, v);
    if (i >= 0) {
        if (!write_input(w, i, v, out))
            strbuf_addf(why, "'%s' does not broadcast to the scores", x->m->names[i]);
        return true;
    }
    const char *index = index_name(w->a, v);
    if (index) {
        strbuf_addf(out, "%s(%s)", value_type(v->dtype), index);
        return true;
    }
    if (!write_value_number(x->m, v, "e.", out))
        return false;
    for (size_t k = x->m->inputs; k < x->m->n; k++)
        w->used[k] |= v->op == OP_SIZE ? size_uses(x->m, v->size, x->m->names[k])
                                       : str_eq(x->m->names[k], v->name);
    return true;
}

static bool write_value(struct writing *w, const struct value *v, struct strbuf *out)
{
    struct leaves leaves = {leaf, w, false};
    return write_expression(v, &leaves, out, w->x->why);
}

/* ---- the scores ------------------------------------------------------------------------------ */

/* If the score s is the product times numbers, writes the product of the numbers. */
static bool write_factors(struct writing *w, const struct value *s, struct strbuf *out)
{
    while (s->op == OP_CAST && dtype_is_float(s->dtype) && dtype_is_float(s->args[0]->dtype))
        s = s->args[0];
    if (is_product(w, s)) {
        strbuf_adds(out, "1.f");
        for (uint32_t i = 0; i < w->a->factors.n; i++)
            if (!write_factor(w, w->a->factors.by[i], out))
                return false;
        return true;
    }
    return (s->op == OP_MUL || s->op == OP_DIV) && is_single(s->args[1]) &&
           write_factors(w, s->args[0], out) && write_factor(w, s, out);
}

static bool write_scale(struct writing *w, struct strbuf *out)
{
    if (!w->a->scale) {
        strbuf_adds(out, "1.f / sqrtf(float(D))");
        return true;
    }
    strbuf_adds(out, "float(");
    bool ok = write_value(w, w->a->scale, out);
    strbuf_addc(out, ')');
    return ok;
}

static bool write_masked(struct writing *w, struct strbuf *out)
{
    const struct value *mask = w->a->mask;
    bool choice = mask->dtype == DT_BOOL;
    strbuf_adds(out, choice ? "(" : "(v * scale_of(e, D) + ");
    bool ok = write_value(w, mask, out);
    strbuf_adds(out, choice ? " ? v * scale_of(e, D) : -infinity())" : ")");
    return ok;
}

/* Like bind_reads() in epilogue.c, but without `reads`. */
static bool bind_reads(struct writing *w)
{
    struct match *x = w->x;
    const int operands[] = {w->a->q.input, w->a->k.input, w->a->v.input};
    struct strbuf fields = STRBUF_INIT(4096), params = STRBUF_INIT(4096), args = STRBUF_INIT(4096),
                  data = STRBUF_INIT(1024);
    bool ok = true;
    for (int i = 0; ok && i < (int)x->m->n; i++) {
        bool in = i < (int)x->m->inputs;
        if (!w->used[i]) {
            ok = !in || i == operands[0] || i == operands[1] || i == operands[2];
            if (!ok)
                strbuf_addf(x->why, "the task's PyTorch expression does not use '%s'",
                            x->m->names[i]);
            continue;
        }
        const char *type = in ? element_type(x->m->types[i]) : value_type(x->m->types[i]);
        strbuf_addf(&fields, "%s%s%s %sv%d;", fields.len ? "\n    " : "", in ? "const " : "", type,
                    in ? "*" : "", i);
        strbuf_addf(&params, "%s%s %sv%d, ", in ? "const " : "", type, in ? "*" : "", i);
        strbuf_addf(&args, "\"%s\", ", x->m->names[i]);
        strbuf_addf(&data, "%sv%d", data.len ? ", " : "", i);
        if (in && w->first[i])
            strbuf_addf(&data, " + %s", w->first[i]);
        if (in && w->after[i]) {
            strbuf_addf(&params, "int64_t v%d_after, int64_t v%d_along, ", i, i);
            strbuf_addf(&args, "\"%s\", \"%s\", ", w->after[i]->text, w->along[i]->text);
        }
    }
    const char *const texts[][2] = {
        {"fields", fields.buf}, {"params", params.buf}, {"extra", args.buf}, {"data", data.buf}};
    for (size_t i = 0; ok && i < ARRAY_LEN(texts); i++)
        bind_text(x->b, texts[i][0], texts[i][1]);
    strbuf_release(&fields);
    strbuf_release(&params);
    strbuf_release(&args);
    strbuf_release(&data);
    return ok;
}

static bool bind_score(struct writing *w)
{
    const struct attention *a = w->a;
    struct strbuf scale = STRBUF_INIT(MAX_EXPRESSION), score = STRBUF_INIT(MAX_EXPRESSION);
    bool plain = a->scores ? write_factors(w, a->scores, &scale) : !a->mask, ok = true;
    if (a->scores && !plain) {
        strbuf_clear(w->x->why);
        strbuf_clear(&scale);
        strbuf_adds(&scale, "1.f");
        ok = write_value(w, a->scores, &score);
    } else if (!a->scores) {
        ok = write_scale(w, &scale) && (plain || write_masked(w, &score));
    }
    if (ok) {
        bind_text(w->x->b, "plain", plain ? "true" : "false");
        bind_text(w->x->b, "scale", scale.buf);
        bind_text(w->x->b, "score", plain ? "v" : score.buf);
    }
    strbuf_release(&scale);
    strbuf_release(&score);
    return ok;
}

const struct pb_op *match_attention(struct match *x)
{
    struct attention a;
    struct writing w = {.x = x, .a = &a};
    if (!find_attention(x, &a))
        return NULL;
    if (a.scores)
        take_bands(&a);
    if (!bind_score(&w) || !bind_reads(&w))
        return NULL;
    bind_band(x, a.band);
    /* A query without any key gives 0 if attention is one operation, and NaN after a softmax. */
    bind_text(x->b, "empty", a.scores ? C_NAN : "0.f");
    const struct dim *m = a.shape[a.rank - 2], *n = a.shape[a.rank - 1];
    x->seen = json_pack("{s:[o, o, o, o], s:{}}", "tensors",
                        tensor_with_shape(x->m, (size_t)a.q.input, a.z, m, a.d),
                        tensor_with_shape(x->m, (size_t)a.k.input, a.z, n, a.d),
                        tensor_with_shape(x->m, (size_t)a.v.input, a.z, n, a.e),
                        tensor_with_shape(x->m, x->m->inputs, a.z, m, a.e), "scalars");
    return op_called(x->pb, "attention");
}
