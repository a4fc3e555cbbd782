/*
 * emit_error.c - writes the rounding error of an element: its variance in a SIGMA reference
 * (reference_mode.h), a random error in a NOISY reference. docs/tolerance.md has the rules and
 * their reasons.
 *
 * f is the exact result of an operation, u the unit roundoff of a type, and sigma the root of a
 * variance.
 */
#include <math.h>
#include <string.h>

#include "base/util.h"
#include "graph/reference/emit.h"
#include "graph/reference/lower.h"

/* ---- precisions ------------------------------------------------------------------------------ */

static double unit_roundoff(enum dtype t)
{
    return ldexp(1, -1 - dtype_mantissa_bits(t));
}

/* Returns the type in which an operation on t computes: float32 for narrow types. */
static enum dtype inner_type(enum dtype t)
{
    return t == DT_F64 ? DT_F64 : DT_F32;
}

static bool is_narrow(enum dtype t)
{
    return dtype_is_float(t) && t != inner_type(t);
}

/* Returns the variance of an error that is uniform in +-u|f|, divided by f^2. */
static double rounding_of(enum dtype t)
{
    double u = unit_roundoff(t);
    return u * u / 3;
}

double chain_rounding(const struct value *v)
{
    return dtype_is_float(v->dtype) ? rounding_of(inner_type(v->dtype)) : 0;
}

double tf32_rounding(const struct emit *e, const struct value *v)
{
    bool on = op_row(v->op)->kind == OPK_CONV ? e->mode.tf32_convs : e->mode.tf32_products;
    return on && v->dtype == DT_F32 ? ldexp(1, -22) / 3 : 0;
}

double least_error(enum dtype t)
{
    double d = t == DT_F16      ? ldexp(1, -25)
               : t == DT_F8E4M3 ? ldexp(1, -10)
               : t == DT_F8E5M2 ? ldexp(1, -17)
               : t == DT_F64    ? 0
                                : ldexp(1, -126);
    return d * d / 3;
}

/* ---- the error that an elementwise operation makes ------------------------------------------- */

/* The error of the operation itself: none, one rounding, or that of a library function (up to 2 ulp
 * and one rounding). */
enum own { OWN_NONE, OWN_ROUND, OWN_FUNCTION };

static const double FUNCTION_SPREAD = 4; /* 2 ulp, in units of u|f| */

static enum own own_of(const struct value *v)
{
    if (!dtype_is_float(v->dtype))
        return OWN_NONE;
    switch (v->op) {
    case OP_NEG:
    case OP_ABS:
    case OP_SIGN:
    case OP_RELU:
    case OP_MAXIMUM:
    case OP_MINIMUM:
    case OP_CLAMP:
    case OP_CLAMP_MIN:
    case OP_CLAMP_MAX:
    case OP_WHERE:
    case OP_CEIL:
    case OP_FLOOR:
    case OP_ROUND:
    case OP_TRUNC:
    case OP_COPYSIGN:
    case OP_HARDSHRINK:
    case OP_THRESHOLD:
    case OP_FRAC:
    case OP_FMOD:
    case OP_FLOOR_DIV:
        return OWN_NONE;
    case OP_CAST:
        if (!v->args[0] || !dtype_is_float(v->args[0]->dtype))
            return is_narrow(v->dtype) ? OWN_ROUND : OWN_NONE;
        return dtype_mantissa_bits(v->dtype) < dtype_mantissa_bits(v->args[0]->dtype) ? OWN_ROUND
                                                                                      : OWN_NONE;
    case OP_ADD:
    case OP_SUB:
    case OP_MUL:
    case OP_DIV:
    case OP_SQUARE:
    case OP_SQRT:
    case OP_RECIPROCAL:
    case OP_LEAKY_RELU:
    case OP_LERP:
    case OP_REMAINDER:
    case OP_SOFTSHRINK:
    case OP_HARDSIGMOID:
        return OWN_ROUND;
    default:
        return OWN_FUNCTION;
    }
}

/* True for exponentials: implementations multiply the argument by log2(e), and round the
 * product. */
static bool rounds_argument(enum graph_op op)
{
    switch (op) {
    case OP_EXP:
    case OP_EXPM1:
    case OP_SIGMOID:
    case OP_SILU:
    case OP_TANH:
    case OP_SINH:
    case OP_COSH:
    case OP_ELU:
    case OP_CELU:
    case OP_SELU:
    case OP_SOFTPLUS:
    case OP_MISH:
    case OP_LOGSIGMOID:
    case OP_ERF:
    case OP_ERFC:
    case OP_GELU:
    case OP_GELU_TANH:
        return true;
    default:
        return false;
    }
}

/* Returns the number to which the operation's own error is relative. This is f, unless the usual
 * formula subtracts larger numbers: elu is exp(x) - 1. */
static const char *scale_text(struct emit *e, const struct value *v, const char *f,
                              const struct term *t)
{
    struct arena *a = e->u.arena;
    switch (v->op) {
    case OP_GELU:
    case OP_GELU_TANH:
    case OP_TANHSHRINK:
    case OP_HARDSWISH:
        return t[0].v;
    case OP_REMAINDER:
        return arena_printf(a, "(fabs(%s) + fabs(%s))", t[0].v, f);
    case OP_HARDSIGMOID:
        return "1.0";
    case OP_ELU:
    case OP_CELU:
        return arena_printf(a, "(%s > 0 ? %s : %s)", t[0].v, f, t[1].v);
    case OP_SELU:
        return arena_printf(a, "(%s > 0 ? %s : 1.7580993408473768)", t[0].v, f);
    case OP_LOGADDEXP:
        return arena_printf(a, "fmax(fabs(%s), fabs(%s))", t[0].v, t[1].v);
    case OP_LERP:
        return arena_printf(a, "(fabs(%s) + fabs(%s) * (fabs(%s) + fabs(%s)))", t[0].v, t[2].v,
                            t[0].v, t[1].v);
    default:
        return f;
    }
}

static bool only_chooses(const struct value *v)
{
    switch (op_row(v->op)->kind) {
    case OPK_ELEMENTWISE:
        return own_of(v) == OWN_NONE;
    case OPK_VIEW:
        return true;
    default:
        return v->op == OP_AMAX || v->op == OP_AMIN || v->op == OP_CUMMAX || v->op == OP_CUMMIN ||
               v->op == OP_INDEX_SELECT || v->op == OP_GATHER ||
               (v->op == OP_EMBEDDING_BAG && str_eq(value_attr(v, "mode")->text, "max"));
    }
}

/* Is v rounded to its narrow type here? A choice among rounded elements needs no rounding. */
static bool rounds_here(const struct emit *e, const struct value *v)
{
    bool inner = false;
    if (!is_narrow(v->dtype) || !(e->notes[v->id] & LOWERED_END))
        return false;
    for (uint32_t k = 0; k < v->nargs; k++) {
        const struct value *a = v->args[k];
        inner |= a && dtype_is_float(a->dtype) && !(e->notes[a->id] & LOWERED_END);
    }
    return inner || !only_chooses(v);
}

/* ---- variance -------------------------------------------------------------------------------- */

static bool is_zero(const char *m)
{
    return str_eq(m, TERM_NO_ERROR);
}

/* Can a small error of an operand change f a lot? */
static bool jumps(const struct value *v)
{
    switch (v->op) {
    case OP_SIGN:
    case OP_CEIL:
    case OP_FLOOR:
    case OP_ROUND:
    case OP_TRUNC:
    case OP_FLOOR_DIV:
    case OP_FRAC:
    case OP_FMOD:
    case OP_REMAINDER:
    case OP_HARDSHRINK:
    case OP_THRESHOLD:
        return true;
    default:
        return !dtype_is_float(v->dtype) && v->nargs && dtype_is_float(v->args[0]->dtype);
    }
}

/* Returns f with operand k moved: appends `by` to the operand wherever it occurs in f. */
static const char *moved_text(struct emit *e, const struct value *v, const struct term *args,
                              uint32_t k, const char *by)
{
    struct term moved[GRAPH_MAX_ARGS];
    memcpy(moved, args, sizeof moved);
    for (uint32_t j = 0; j < v->nargs; j++)
        if (v->args[j] == v->args[k])
            moved[j].v = arena_printf(e->u.arena, "(%s %s)", args[k].v, by);
    return unit_let(&e->u, "%s", element_text(e, v, moved));
}

/* Appends to `out` the variance that f gets from the errors of its operands. To find it, the text
 * computes f again with an operand off by 4 sigma, up and down. */
static void add_secants(struct emit *e, const struct value *v, const char *f,
                        const struct term *args, struct strbuf *out)
{
    for (uint32_t k = 0; k < v->nargs; k++) {
        bool seen = false, rounded = k == 0 && rounds_argument(v->op);
        for (uint32_t j = 0; j < k; j++)
            seen |= v->args[j] == v->args[k];
        if (!v->args[k] || seen || (is_zero(args[k].m) && !rounded))
            continue;
        const char *var = args[k].m, *a = args[k].v;
        if (rounded)
            var = arena_printf(e->u.arena, "%s + hone_own(%.9g, 0, %s)", var,
                               rounding_of(inner_type(v->dtype)), a);
        const char *s = unit_let(&e->u, "4 * sqrt(%s)", var);
        const char *up = moved_text(e, v, args, k, arena_printf(e->u.arena, "+ %s", s));
        const char *down = moved_text(e, v, args, k, arena_printf(e->u.arena, "- %s", s));
        strbuf_addf(out, "%shone_secant(%s, %s, %s)", out->len ? " + " : "", f, up, down);
    }
}

static void add_where(struct emit *e, const char *f, const struct term *t, struct strbuf *out)
{
    strbuf_addf(out, "(%s != 0 ? %s : %s)", t[0].v, t[1].m, t[2].m);
    /* If the condition has an error, a good kernel may choose the other branch. */
    if (!is_zero(t[0].m))
        strbuf_addf(out, " + (%s > 0 ? hone_secant(%s, %s, %s) : 0.0)", t[0].m, f, t[1].v, t[2].v);
}

/* For v = x - mean(x), returns how many elements the mean combines; else NULL. */
static const struct dim *subtracts_mean(struct emit *e, const struct value *v)
{
    const struct value *mean = v->op == OP_SUB ? v->args[1] : NULL;
    if (!mean || mean->op != OP_DIV || mean->args[0]->op != OP_SUM ||
        mean->args[1]->op != OP_SIZE || mean->args[0]->args[0] != v->args[0])
        return NULL;
    const struct dim *n = emit_reduced(e, mean->args[0]);
    return mean->args[1]->size == n ? n : NULL;
}

/* For v = d / rms(d), returns how many elements the rms combines; else NULL. rms(d) is the root of
 * the mean of d^2. */
static const struct dim *divides_by_rms(struct emit *e, const struct value *v)
{
    const struct value *square = v->op == OP_MUL && v->args[1]->op == OP_RSQRT ? v->args[1] : NULL;
    square = square ? square->args[0] : NULL;
    if (square && square->op == OP_ADD)
        square = square->args[0]; /* leave out the epsilon */
    if (!square || square->op != OP_DIV || square->args[0]->op != OP_SUM ||
        square->args[1]->op != OP_SIZE || square->args[0]->args[0]->op != OP_SQUARE ||
        square->args[0]->args[0]->args[0] != v->args[0])
        return NULL;
    return emit_reduced(e, square->args[0]);
}

/* For x - mean(x), if n elements have independent errors of variance V: the mean has the variance
 * V/n, and its covariance with an element is V/n too. So the difference has V - 2 V/n + V/n.
 * Without the term -2 V/n, the variance would grow with each batch norm over few elements. */
static bool add_centred(struct emit *e, const struct value *v, const struct term *t,
                        struct strbuf *out)
{
    const struct dim *n = subtracts_mean(e, v);
    if (!n || is_zero(t[0].m))
        return false;
    strbuf_addf(out, "%s * fmax(0.0, 1 - 2.0 / (double)%s) + %s", t[0].m, dim_in_c(&e->u, n),
                t[1].m);
    return true;
}

/* For f = d / rms(d). d and rms(d) are correlated, so the variance of independent errors shrinks
 * by the factor 1 - 2 f^2/n. Errors that all elements share do not shrink, so we keep at least
 * half. */
static bool add_scaled(struct emit *e, const struct value *v, const char *f, const struct term *t,
                       struct strbuf *out)
{
    const struct dim *n = divides_by_rms(e, v);
    struct term d = t[0];
    if (!n || is_zero(d.m))
        return false;
    d.m = unit_let(&e->u, "%s * fmax(0.5, 1 - 2 * %s * %s / (double)%s)", d.m, f, f,
                   dim_in_c(&e->u, n));
    strbuf_adds(out, product_variance(e, d, t[1], 0));
    return true;
}

static void add_propagated(struct emit *e, const struct value *v, const char *f,
                           const struct term *t, struct strbuf *out)
{
    bool both = v->nargs > 1 && v->args[0] != v->args[1];
    if (e->mode.without_branches && jumps(v)) {
        if (dtype_is_float(v->dtype) && own_of(v) == OWN_NONE)
            strbuf_adds(out, t[0].m);
    } else if (e->notes[v->id] & LOWERED_SHIFT) {
        strbuf_adds(out, t[0].m);
    } else if ((e->notes[v->id] & LOWERED_SHARE) && !is_zero(t[1].m)) {
        /* In a sum of shares, the divisor is a source of shared errors (shared_error.c) and has no
         * variance here. Then this branch is not taken, and the numerator's variance va counts in
         * full. With (1 - 2 f) va, as in hone_share(), the errors of shares near 1/2 would be
         * missing from the sum. */
        strbuf_addf(out, "hone_share(%s, %s, %s, %s)", f, t[1].v, t[0].m, t[1].m);
    } else if (add_centred(e, v, t, out) || add_scaled(e, v, f, t, out)) {
        return;
    } else if ((v->op == OP_ADD || v->op == OP_SUB) && both) {
        strbuf_addf(out, "%s + %s", t[0].m, t[1].m);
    } else if (v->op == OP_MUL && both) {
        strbuf_adds(out, product_variance(e, t[0], t[1], 0));
    } else if (v->op == OP_DIV && is_zero(t[1].m)) {
        strbuf_addf(out, "hone_finite(%s / (%s * %s))", t[0].m, t[1].v, t[1].v);
    } else if (v->op == OP_NEG || v->op == OP_ABS ||
               (v->op == OP_CAST && dtype_is_float(v->dtype))) {
        strbuf_adds(out, t[0].m);
    } else if (v->op == OP_WHERE) {
        add_where(e, f, t, out);
    } else {
        add_secants(e, v, f, t, out);
    }
}

const char *product_variance(struct emit *e, struct term a, struct term b, double tf32)
{
    struct arena *mem = e->u.arena;
    const char *am = a.m, *bm = b.m;
    if (tf32 > 0) {
        am = arena_printf(mem, "(%s + %.9g * %s * %s)", am, tf32, a.v, a.v);
        bm = arena_printf(mem, "(%s + %.9g * %s * %s)", bm, tf32, b.v, b.v);
    }
    if (is_zero(am) && is_zero(bm))
        return TERM_NO_ERROR;
    if (is_zero(bm))
        return arena_printf(mem, "hone_finite(%s * %s * %s)", b.v, b.v, am);
    if (is_zero(am))
        return arena_printf(mem, "hone_finite(%s * %s * %s)", a.v, a.v, bm);
    return arena_printf(mem, "hone_product(%s, %s, %s, %s)", a.v, b.v, am, bm);
}

/* A kernel adds 0.35 as the nearest float32, so if the sum is near 0, the sum is off by more than
 * its own rounding. Returns a variance that allows twice the difference (8 sigma). */
static double number_error(const struct value *v)
{
    double sum = 0;
    for (unsigned k = 0; k < v->nargs && (v->op == OP_ADD || v->op == OP_SUB); k++) {
        const struct value *a = v->args[k];
        if (a && a->op == OP_NUMBER && isfinite(a->number) && v->dtype != DT_F64) {
            double d = (a->number - (double)(float)a->number) / 4;
            sum += d * d;
        }
    }
    return sum;
}

/* Returns the variance of v's own error, divided by the square of scale_text(). *least is the part
 * that does not depend on this scale. */
static double own_variance(const struct emit *e, const struct value *v, double *least)
{
    enum own own = op_row(v->op)->kind == OPK_ELEMENTWISE ? own_of(v) : OWN_NONE;
    enum dtype inner = inner_type(v->dtype);
    double c = 0, spread = FUNCTION_SPREAD;
    *least = 0;
    if (own != OWN_NONE) {
        c = rounding_of(inner) * (own == OWN_FUNCTION ? 1 + spread * spread : 1);
        *least = least_error(inner) + number_error(v);
    }
    if (rounds_here(e, v)) {
        c += rounding_of(v->dtype);
        *least += least_error(v->dtype);
    }
    return c;
}

static struct term with_variance(struct emit *e, const struct value *v, const char *f,
                                 const struct term *args, unsigned depth)
{
    struct strbuf m = STRBUF_INIT(1 << 16);
    struct term t = {.v = f, .depth = depth};
    double least, c = own_variance(e, v, &least);
    add_propagated(e, v, f, args, &m);
    if (c > 0)
        strbuf_addf(&m, "%shone_own(%.9g, %.9g, %s)", m.len ? " + " : "", c, least,
                    scale_text(e, v, f, args));
    t.m = !m.len || is_zero(m.buf) ? TERM_NO_ERROR : unit_let(&e->u, "%s", m.buf);
    strbuf_release(&m);
    return t;
}

/* ---- a random error -------------------------------------------------------------------------- */

const char *noisy_text(struct emit *e, const char *text, const char *spread, enum dtype t,
                       const char *key)
{
    return arena_printf(e->u.arena, "hone_noisy(%s, %s, %d, %s)", text, spread,
                        dtype_mantissa_bits(t), key);
}

const char *noise_key(struct emit *e, const struct value *v, struct index i)
{
    return arena_printf(e->u.arena, "hone_key(%u, (uint64_t)(%s))", v->id, i.text);
}

static struct term with_noise(struct emit *e, const struct value *v, const struct term *args,
                              struct index i, unsigned depth)
{
    struct arena *a = e->u.arena;
    struct term moved[GRAPH_MAX_ARGS];
    enum own own = own_of(v);
    const char *key = noise_key(e, v, i);
    memcpy(moved, args, sizeof moved);
    if (own != OWN_NONE && rounds_argument(v->op))
        moved[0].v = unit_let(&e->u, "%s",
                              noisy_text(e, args[0].v, "0", inner_type(v->dtype),
                                         arena_printf(a, "hone_key(%u, %s)", v->id, key)));
    const char *f = unit_let(&e->u, "%s", element_text(e, v, moved)), *spread = "0";
    if (own == OWN_FUNCTION)
        spread = arena_printf(a, "%.9g * %s", FUNCTION_SPREAD * unit_roundoff(inner_type(v->dtype)),
                              scale_text(e, v, f, moved));
    else if (own == OWN_ROUND && !str_eq(scale_text(e, v, f, moved), f))
        spread = arena_printf(a, "%.9g * %s", unit_roundoff(inner_type(v->dtype)),
                              scale_text(e, v, f, moved));
    if (own == OWN_NONE && !rounds_here(e, v))
        return term_of(e, f, depth);
    enum dtype to = rounds_here(e, v) ? v->dtype : inner_type(v->dtype);
    return term_of(e, unit_let(&e->u, "%s", noisy_text(e, f, spread, to, key)), depth);
}

/* ---- both ------------------------------------------------------------------------------------ */

struct term emit_with_error(struct emit *e, const struct value *v, const struct term *args,
                            struct index i, unsigned depth)
{
    if (e->mode.kind == REFERENCE_NOISY)
        return with_noise(e, v, args, i, depth);
    return with_variance(e, v, unit_let(&e->u, "%s", element_text(e, v, args)), args, depth);
}

struct term emit_rounded(struct emit *e, const struct value *v, struct term t, struct index i)
{
    double least, c = own_variance(e, v, &least);
    if (c <= 0 || e->mode.kind == REFERENCE_MAGNITUDE)
        return t;
    if (e->mode.kind == REFERENCE_NOISY)
        t.v = unit_let(&e->u, "%s", noisy_text(e, t.v, "0", v->dtype, noise_key(e, v, i)));
    else
        t.m = unit_let(&e->u, "%s + hone_own(%.9g, %.9g, %s)", t.m, c, least, t.v);
    return t;
}

struct term emit_output(struct emit *e, const struct value *v, enum dtype to, struct term t)
{
    bool narrower = dtype_is_float(to) && dtype_is_float(v->dtype) &&
                    dtype_mantissa_bits(to) < dtype_mantissa_bits(v->dtype);
    if (!narrower || e->mode.kind == REFERENCE_MAGNITUDE)
        return t;
    if (e->mode.kind == REFERENCE_NOISY) {
        const char *key = arena_printf(e->u.arena, "hone_key(%u, ~(uint64_t)unit)", v->id);
        t.v = unit_let(&e->u, "%s", noisy_text(e, t.v, "0", to, key));
    } else {
        t.m = unit_let(&e->u, "%s + hone_own(%.9g, %.9g, %s)", t.m, rounding_of(to),
                       least_error(to), t.v);
    }
    return t;
}

bool value_has_no_error(const struct emit *e, const struct value *v, const struct store *store)
{
    double least;
    enum op_kind kind = op_row(v->op)->kind;
    if (kind == OPK_LEAF || e->mode.kind == REFERENCE_NOISY)
        return true;
    if (own_variance(e, v, &least) > 0 || (kind == OPK_ELEMENTWISE && own_of(v) != OWN_NONE))
        return false;
    bool adds =
        kind != OPK_ELEMENTWISE && !only_chooses(v) && v->op != OP_ARGMAX && v->op != OP_ARGMIN;
    if (adds && dtype_is_float(v->dtype))
        return false;
    for (uint32_t k = 0; k < v->nargs; k++)
        if (v->args[k] && !store[v->args[k]->id].is_exact)
            return false;
    return true;
}
