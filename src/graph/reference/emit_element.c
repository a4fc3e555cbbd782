/* emit_element.c - writes one element of an elementwise operation: its value and its magnitude
 * (emit.h). */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "graph/reference/emit.h"

const char *number_in_c(struct arena *a, double v)
{
    if (isnan(v))
        return "NAN";
    if (isinf(v))
        return v > 0 ? "INFINITY" : "(-INFINITY)";
    char text[40];
    for (int digits = 1; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, v);
        if (strtod(text, NULL) == v)
            break;
    }
    const char *tail = strpbrk(text, ".e") ? "" : ".0";
    return signbit(v) ? arena_printf(a, "(%s%s)", text, tail) : arena_printf(a, "%s%s", text, tail);
}

bool term_is_exact(const struct term *t)
{
    size_t n = strlen(t->v);
    return str_starts(t->m, "fabs(") && strncmp(t->m + 5, t->v, n) == 0 &&
           str_eq(t->m + 5 + n, ")");
}

struct term term_of(struct emit *e, const char *v, unsigned depth)
{
    if (e->mode.kind != REFERENCE_MAGNITUDE)
        return (struct term){v, TERM_NO_ERROR, depth, NULL};
    return (struct term){v, arena_printf(e->u.arena, "fabs(%s)", v), depth, NULL};
}

/* ---- values ---------------------------------------------------------------------------------- */

const char *wrapped(struct emit *e, enum dtype t, const char *text)
{
    return arena_printf(e->u.arena, "hone_%s(%s)", dtype_name(t), text);
}

/* Returns a C expression for one element: the text `real` with each $k replaced by operand k. */
static const char *row_text(struct emit *e, const char *real, const struct term *args)
{
    struct strbuf sb = STRBUF_INIT(1 << 16);
    for (const char *s = real; *s; s++)
        if (*s == '$')
            strbuf_adds(&sb, args[*++s - '0'].v);
        else
            strbuf_addc(&sb, *s);
    const char *text = arena_strdup(e->u.arena, sb.buf);
    strbuf_release(&sb);
    return text;
}

static const char *bool_text(enum graph_op op)
{
    switch (op) {
    case OP_ADD:
        return "(double)($0 != 0 || $1 != 0)";
    case OP_MUL:
        return "(double)($0 != 0 && $1 != 0)";
    case OP_NOT:
        return "(double)($0 == 0)";
    default:
        return NULL;
    }
}

/* Returns the text of an operation on integers, or NULL if the text in ops.def serves them too.
 * Integers must wrap around, so the type is uint64_t. */
static const char *whole_text(enum graph_op op)
{
    switch (op) {
    case OP_ADD:
        return "(uint64_t)(int64_t)$0 + (uint64_t)(int64_t)$1";
    case OP_SUB:
        return "(uint64_t)(int64_t)$0 - (uint64_t)(int64_t)$1";
    case OP_MUL:
        return "(uint64_t)(int64_t)$0 * (uint64_t)(int64_t)$1";
    case OP_SQUARE:
        return "(uint64_t)(int64_t)$0 * (uint64_t)(int64_t)$0";
    case OP_NEG:
        return "0 - (uint64_t)(int64_t)$0";
    case OP_ABS:
        return "(uint64_t)(int64_t)fabs($0)";
    case OP_POW:
        return "(uint64_t)(int64_t)pow($0, $1)";
    case OP_NOT:
        return "~(uint64_t)(int64_t)$0";
    case OP_SHL:
        return "$1 < 0 || $1 > 63 ? 0 : (uint64_t)(int64_t)$0 << (int64_t)$1";
    default:
        return NULL;
    }
}

/* Returns a faster text for an operation whose result is rounded to 16 bits later, or NULL if there
 * is none. */
static const char *rough_text(enum graph_op op)
{
    switch (op) {
    case OP_EXP:
        return "hone_exp($0)";
    case OP_SIGMOID:
        return "hone_ratio(1, 1 + hone_exp(-$0))";
    case OP_SILU:
        return "hone_ratio($0, 1 + hone_exp(-$0))";
    default:
        return NULL;
    }
}

/* A cast to a float dtype changes nothing here. emit_error.c adds its rounding error if the
 * reference models rounding. */
static const char *cast_text(struct emit *e, const struct value *v, const struct term *args)
{
    if (dtype_is_float(v->dtype))
        return args[0].v;
    if (v->dtype == DT_BOOL)
        return arena_printf(e->u.arena, "(double)(%s != 0)", args[0].v);
    /* A kernel converts with a machine instruction, which has a result for every number. In C, NaN
     * and numbers beyond int64 have none. People choose another value where they occur. */
    bool any = dtype_is_float(v->args[0]->dtype) && !e->mode.kernel;
    return wrapped(e, v->dtype,
                   row_text(e, any ? "(uint64_t)hone_whole($0)" : "(uint64_t)(int64_t)$0", args));
}

const char *element_text(struct emit *e, const struct value *v, const struct term *args)
{
    if (v->op == OP_CAST)
        return cast_text(e, v, args);
    if (v->dtype == DT_BOOL && bool_text(v->op))
        return row_text(e, bool_text(v->op), args);
    if (v->op == OP_POW && e->mode.kernel &&
        !dtype_is_float(v->dtype)) /* CUDA's pow is not exact */
        return wrapped(e, v->dtype, row_text(e, "(uint64_t)(int64_t)rint(pow($0, $1))", args));
    if (e->mode.rough && str_eq(e->u.real, "float") && rough_text(v->op))
        return row_text(e, rough_text(v->op), args);
    if (!dtype_is_float(v->dtype) && v->dtype != DT_BOOL && whole_text(v->op))
        return wrapped(e, v->dtype, row_text(e, whole_text(v->op), args));
    return row_text(e, op_row(v->op)->real, args);
}

/* ---- magnitudes ------------------------------------------------------------------------------ */

/* Returns the largest slope of a function whose slope is bounded, and 0 for any other function. */
static double slope_of(enum graph_op op)
{
    switch (op) {
    case OP_RELU:
    case OP_CLAMP:
    case OP_CLAMP_MIN:
    case OP_CLAMP_MAX:
    case OP_ATAN:
    case OP_ASINH:
    case OP_COS:
    case OP_SIN:
    case OP_CELU:
    case OP_ELU:
    case OP_HARDSHRINK:
    case OP_LEAKY_RELU:
    case OP_LOGSIGMOID:
    case OP_SOFTPLUS:
    case OP_SOFTSHRINK:
    case OP_SOFTSIGN:
    case OP_TANH:
    case OP_THRESHOLD:
        return 1;
    case OP_SIGMOID:
        return 0.25;
    case OP_SILU:
    case OP_MISH:
        return 1.1;
    case OP_ERF:
    case OP_ERFC:
        return 1.13;
    case OP_HARDSIGMOID:
        return 1.0 / 6;
    case OP_HARDSWISH:
        return 1.5;
    case OP_SELU:
        return 1.76;
    default:
        return 0;
    }
}

/* f is a function of `a` whose slope is at most `slope`. Returns its magnitude:
 * |f| + slope * (mag(a) - |a|). */
static const char *sloped(struct emit *e, const char *f, const struct term *a, const char *slope)
{
    if (term_is_exact(a))
        return arena_printf(e->u.arena, "fabs(%s)", f);
    if (str_eq(slope, "1.0"))
        return arena_printf(e->u.arena, "fabs(%s) + hone_excess(%s, %s)", f, a->m, a->v);
    return arena_printf(e->u.arena, "fabs(%s) + %s * hone_excess(%s, %s)", f, slope, a->m, a->v);
}

static const char *power_mag(struct emit *e, const struct value *v, const char *f,
                             const struct term *args)
{
    struct arena *a = e->u.arena;
    double p = 2;
    if (v->op == OP_POW && (!value_is_number(v->args[1], &p) || p < 1))
        return arena_printf(a, "fabs(%s)", f);
    const char *slope = arena_printf(a, "(%s == 0 ? 0.0 : %s * fabs(%s / %s))", args[0].v,
                                     number_in_c(a, p), f, args[0].v);
    return sloped(e, f, &args[0], slope);
}

static const char *mag_text(struct emit *e, const struct value *v, const char *f,
                            const struct term *t)
{
    struct arena *a = e->u.arena;
    switch (v->op) {
    case OP_ADD:
    case OP_SUB:
        return arena_printf(a, "%s + %s", t[0].m, t[1].m);
    case OP_MUL:
        if (v->args[0] == v->args[1])
            return power_mag(e, v, f, t);
        return arena_printf(a, "%s * %s", t[0].m, t[1].m);
    case OP_DIV:
        return arena_printf(a, "%s / fabs(%s)", t[0].m, t[1].v);
    case OP_SQUARE:
    case OP_POW:
        return power_mag(e, v, f, t);
    case OP_LERP:
        return arena_printf(a, "%s + %s * (%s + %s)", t[0].m, t[2].m, t[0].m, t[1].m);
    case OP_NEG:
    case OP_ABS:
    case OP_COPYSIGN:
    case OP_GELU:
    case OP_GELU_TANH:
    case OP_FRAC:
    case OP_REMAINDER:
    case OP_FMOD:
        return t[0].m;
    case OP_CAST: /* a cast to an integer cuts the fraction off */
        return dtype_is_float(v->dtype) ? t[0].m : NULL;
    case OP_TANHSHRINK:
        return arena_printf(a, "%s + fabs(tanh(%s))", t[0].m, t[0].v);
    case OP_MAXIMUM:
    case OP_MINIMUM:
        return arena_printf(a, "(%s == %s ? %s : %s)", f, t[0].v, t[0].m, t[1].m);
    case OP_WHERE:
        return arena_printf(a, "(%s != 0 ? %s : %s)", t[0].v, t[1].m, t[2].m);
    case OP_LOGADDEXP:
        return arena_printf(a, "(%s > %s ? %s : %s) + log1p(exp(-fabs(%s - %s)))", t[0].v, t[1].v,
                            t[0].m, t[1].m, t[0].v, t[1].v);
    default:
        return slope_of(v->op) > 0 ? sloped(e, f, &t[0], number_in_c(a, slope_of(v->op))) : NULL;
    }
}

/* If each operand's magnitude is its absolute value, does this hold for the result too? */
static bool keeps_exact(enum graph_op op)
{
    switch (op) {
    case OP_ADD:
    case OP_SUB:
    case OP_LERP:
    case OP_GELU:
    case OP_GELU_TANH:
    case OP_FRAC:
    case OP_REMAINDER:
    case OP_FMOD:
    case OP_TANHSHRINK:
    case OP_LOGADDEXP:
        return false;
    default:
        return true;
    }
}

/* Does the magnitude of the result depend on the magnitude of operand k? */
static bool reads_mag(enum graph_op op, uint32_t k)
{
    switch (op) {
    case OP_MUL:
    case OP_MAXIMUM:
    case OP_MINIMUM:
        return true;
    case OP_WHERE:
        return k > 0;
    case OP_DIV:
    case OP_SQUARE:
    case OP_POW:
    case OP_NEG:
    case OP_ABS:
    case OP_COPYSIGN:
    case OP_CAST:
        return k == 0;
    default:
        return k == 0 && slope_of(op) > 0;
    }
}

bool value_is_exact(const struct value *v, const struct store *store)
{
    enum op_kind kind = op_row(v->op)->kind;
    bool first = v->nargs && v->args[0] && store[v->args[0]->id].is_exact;
    if (kind == OPK_LEAF || !dtype_is_float(v->dtype))
        return true;
    if (kind == OPK_VIEW)
        return first && (v->nargs < 2 || store[v->args[1]->id].is_exact);
    if (v->op == OP_AMAX || v->op == OP_AMIN || v->op == OP_PROD || v->op == OP_INDEX_SELECT ||
        v->op == OP_GATHER)
        return first;
    bool exact = kind == OPK_ELEMENTWISE && keeps_exact(v->op);
    for (uint32_t k = 0; exact && k < v->nargs; k++)
        exact = !v->args[k] || !reads_mag(v->op, k) || store[v->args[k]->id].is_exact;
    return exact;
}

/* Writes an element in a kernel, where operands may have other types than the result. */
static struct term kernel_element(struct emit *e, const struct value *v, const struct term *args,
                                  unsigned depth)
{
    struct term in[GRAPH_MAX_ARGS] = {{0}};
    bool same = true;
    for (uint32_t k = 0; k < v->nargs; k++) {
        bool converts = !str_eq(kernel_type(v->args[k]), e->u.real);
        same &= !converts;
        in[k] = args[k];
        if (converts) /* for a float result, unit_let() changes this cast to (float) */
            in[k].v = arena_printf(e->u.arena, "((double)%s)", args[k].v);
    }
    if (v->op == OP_CAST && dtype_is_float(v->dtype) && same)
        return args[0];
    return term_of(e, unit_let(&e->u, "%s", element_text(e, v, in)), depth);
}

struct term emit_elementwise(struct emit *e, const struct value *v, const struct term *args,
                             struct index i, unsigned depth)
{
    if (e->mode.kind != REFERENCE_MAGNITUDE)
        return emit_with_error(e, v, args, i, depth);
    if (e->mode.kernel)
        return kernel_element(e, v, args, depth);
    if (v->op == OP_CAST && dtype_is_float(v->dtype))
        return args[0];
    const char *f = unit_let(&e->u, "%s", element_text(e, v, args)), *m = NULL;
    if (!e->store[v->id].is_exact)
        m = mag_text(e, v, f, args);
    struct term t = term_of(e, f, depth);
    if (m && !str_eq(m, t.m))
        t.m = unit_let(&e->u, "%s", m);
    return t;
}
