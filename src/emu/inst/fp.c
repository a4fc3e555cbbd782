/*
 * fp.c - executes single and double precision arithmetic.
 *
 * The rounding mode .rn is the host's default. For the others we call fesetround() around a loop
 * over volatile variables, so that the compiler cannot move arithmetic out of the loop. Most
 * approximate functions use the host's libm and are right to within an ulp, well inside the bounds
 * of the PTX manual. tanh.approx, and rcp.approx and rsqrt.approx in double precision, have fewer
 * bits.
 */
#include <fenv.h>
#include <float.h>

#include "base/util.h"
#include "emu/core/lanes.h"
#include "emu/core/machine.h"
#include "emu/core/numeric.h"

enum { FLAG_FTZ = 1, FLAG_SAT = 2, FLAG_NAN = 8, FLAG_XORSIGN = 16, FLAG_ABS = 32 };

static const int rounds[] = {FE_TONEAREST, FE_TOWARDZERO, FE_DOWNWARD, FE_UPWARD};

/* ---- fast forms: .rn, no flags -------------------------------------------------------------- */

BINARY(add_f32, float, float, float, canon32(a + b))
BINARY(sub_f32, float, float, float, canon32(a - b))
BINARY(mul_f32, float, float, float, canon32(a *b))
TERNARY(fma_f32, float, float, float, float, canon32(fmaf(a, b, c)))
BINARY(add_f32_ftz, float, float, float, ftz32(canon32(ftz32(a) + ftz32(b))))
BINARY(sub_f32_ftz, float, float, float, ftz32(canon32(ftz32(a) - ftz32(b))))
static inline float mul_ftz(float a, float b)
{
    return ftz32(canon32(ftz_tiny32(a * b, (double)a * (double)b)));
}
static inline float fma_ftz(float a, float b, float c)
{
    float r = fmaf(a, b, c);
    if (fabsf(r) == 0x1p-126f)
        r = ftz_tiny32(r, fma((double)a, (double)b, (double)c));
    return ftz32(canon32(r));
}
BINARY(mul_f32_ftz, float, float, float, mul_ftz(ftz32(a), ftz32(b)))
TERNARY(fma_f32_ftz, float, float, float, float, fma_ftz(ftz32(a), ftz32(b), ftz32(c)))
BINARY(div_f32, float, float, float, canon32(a / b))
UNARY(rcp_f32, float, float, canon32(1.0f / a))
UNARY(sqrt_f32, float, float, canon32(sqrtf(a)))
BINARY(add_f64, double, double, double, nan64(a + b, b, a, 0))
BINARY(sub_f64, double, double, double, nan64(a - b, b, a, 0))
BINARY(mul_f64, double, double, double, nan64(a *b, b, a, 0))
TERNARY(fma_f64, double, double, double, double, nan64(fma(a, b, c), b, c, a))
BINARY(div_f64, double, double, double, nan64(a / b, a, b, 0))
UNARY(rcp_f64, double, double, nan64(1.0 / a, a, 0, 0))
UNARY(sqrt_f64, double, double, nan64(sqrt(a), a, 0, 0))
UNARY(abs_f32, float, float, canon32(fabsf(a)))
UNARY(abs_f64, double, double, a != a ? quiet64(a) : fabs(a))
UNARY(neg_f32, float, float, canon32(-a))
UNARY(neg_f64, double, double, a != a ? quiet64(a) : -a)
UNARY(abs_f32_ftz, float, float, canon32(fabsf(ftz32(a))))
UNARY(neg_f32_ftz, float, float, canon32(-ftz32(a)))
BINARY(min_f32, float, float, float, min32(a, b))
BINARY(max_f32, float, float, float, max32(a, b))
BINARY(min_f64, double, double, double, min64(a, b))
BINARY(max_f64, double, double, double, max64(a, b))
BINARY(copysign_f32, uint32_t, uint32_t, uint32_t, (a & 0x80000000u) | (b & 0x7fffffffu))
BINARY(copysign_f64, uint64_t, uint64_t, uint64_t,
       (a & 0x8000000000000000ull) | (b & 0x7fffffffffffffffull))

/* ---- general forms: any rounding, .ftz, .sat ------------------------------------------------ */

enum op { OP_ADD, OP_SUB, OP_MUL, OP_FMA, OP_DIV, OP_RCP, OP_SQRT };

static inline float op32(enum op op, float a, float b, float c)
{
    switch (op) {
    case OP_ADD:
        return a + b;
    case OP_SUB:
        return a - b;
    case OP_MUL:
        return a * b;
    case OP_FMA:
        return fmaf(a, b, c);
    case OP_DIV:
        return a / b;
    case OP_RCP:
        return 1.0f / a;
    default:
        return sqrtf(a);
    }
}

static inline double op64(enum op op, double a, double b, double c)
{
    switch (op) {
    case OP_ADD:
        return a + b;
    case OP_SUB:
        return a - b;
    case OP_MUL:
        return a * b;
    case OP_FMA:
        return fma(a, b, c);
    case OP_DIV:
        return a / b;
    case OP_RCP:
        return 1.0 / a;
    default:
        return sqrt(a);
    }
}

static __attribute__((noinline)) int general_f32(struct warp *w, const struct insn *in)
{
    float *d = opnd(w, in->o[0]);
    const float *a = opnd(w, in->o[1]);
    const float *b = in->sub[3] > 1 ? opnd(w, in->o[2]) : a;
    const float *c = in->sub[3] > 2 ? opnd(w, in->o[3]) : a;
    bool ftz = in->sub[1] & FLAG_FTZ, sat = in->sub[1] & FLAG_SAT;
    float r[WARP];
    fesetround(rounds[in->sub[2]]);
    FOR_LANES(i, w)
    {
        volatile float x = ftz ? ftz32(a[i]) : a[i], y = ftz ? ftz32(b[i]) : b[i];
        volatile float z = ftz ? ftz32(c[i]) : c[i];
        volatile float v = op32((enum op)in->sub[0], x, y, z);
        r[i] = v;
    }
    fesetround(FE_TONEAREST);
    FOR_LANES(i, w)
    {
        float v = canon32(r[i]);
        if (ftz && fabsf(v) == 0x1p-126f)
            v = ftz_tiny32(v, op64((enum op)in->sub[0], (double)ftz32(a[i]), (double)ftz32(b[i]),
                                   (double)ftz32(c[i])));
        v = ftz ? ftz32(v) : v;
        d[i] = sat ? sat32(v) : v;
    }
    return EX_NEXT;
}

static __attribute__((noinline)) int general_f64(struct warp *w, const struct insn *in)
{
    double *d = opnd(w, in->o[0]);
    const double *a = opnd(w, in->o[1]);
    const double *b = in->sub[3] > 1 ? opnd(w, in->o[2]) : a;
    const double *c = in->sub[3] > 2 ? opnd(w, in->o[3]) : a;
    double r[WARP];
    fesetround(rounds[in->sub[2]]);
    FOR_LANES(i, w)
    {
        volatile double x = a[i], y = b[i], z = c[i];
        volatile double v = op64((enum op)in->sub[0], x, y, z);
        r[i] = v;
    }
    fesetround(FE_TONEAREST);
    FOR_LANES(i, w)
    {
        double x = a[i], y = in->sub[3] > 1 ? b[i] : 0, z = in->sub[3] > 2 ? c[i] : 0;
        d[i] = in->sub[0] == OP_DIV   ? nan64(r[i], x, y, 0)
               : in->sub[0] == OP_FMA ? nan64(r[i], y, z, x)
                                      : nan64(r[i], y, x, 0);
    }
    return EX_NEXT;
}

/* ---- min, max with flags -------------------------------------------------------------------- */

static int general_minmax(struct warp *w, const struct insn *in)
{
    float *d = opnd(w, in->o[0]);
    const float *pa = opnd(w, in->o[1]), *pb = opnd(w, in->o[2]);
    const float *pc = in->sub[3] > 2 ? opnd(w, in->o[3]) : NULL;
    uint32_t f = in->sub[1];
    bool is_max = in->sub[0];
    FOR_LANES(i, w)
    {
        float a = pa[i], b = pb[i], c = pc ? pc[i] : 0;
        uint32_t sign = (bits32(a) ^ bits32(b)) & 0x80000000u;
        if (f & FLAG_FTZ) {
            a = ftz32(a);
            b = ftz32(b);
            c = ftz32(c);
        }
        if (f & FLAG_ABS) {
            a = fabsf(a);
            b = fabsf(b);
        }
        bool nan = a != a || b != b || (pc && c != c);
        float r = is_max ? max32(a, b) : min32(a, b);
        if (pc)
            r = is_max ? max32(r, c) : min32(r, c);
        if ((f & FLAG_NAN) && nan)
            r = float32(0x7fffffffu);
        if (f & FLAG_XORSIGN && r == r)
            r = float32((bits32(r) & 0x7fffffffu) | sign);
        d[i] = r;
    }
    return EX_NEXT;
}

/* ---- approximate functions ------------------------------------------------------------------ */

/* The form without .ftz computes in double and rounds once. The form with .ftz also flushes
 * denormal operands and results to zero. */
#define APPROX(name, expr)                                  \
    UNARY(name##_f32, float, float, canon32((float)(expr))) \
    UNARY(name##_f32_ftz, float, float, approx_##name(a))
#define APPROX_FTZ(name, expr)                \
    static float approx_##name(float x)       \
    {                                         \
        double a = (double)ftz32(x);          \
        return ftz32(canon32((float)(expr))); \
    }
APPROX_FTZ(rcp, 1.0 / a)
APPROX_FTZ(sqrt, sqrt(a))
APPROX_FTZ(rsqrt, 1.0 / sqrt(a))
APPROX_FTZ(sin, sin(a))
APPROX_FTZ(cos, cos(a))
APPROX_FTZ(lg2, log2(a))
APPROX_FTZ(ex2, exp2(a))
UNARY(rcp_f32_ftz, float, float, approx_rcp(a))
UNARY(sqrt_f32_ftz, float, float, approx_sqrt(a))
APPROX(rsqrt, 1.0 / sqrt((double)a))
APPROX(sin, sin((double)a))
APPROX(cos, cos((double)a))
APPROX(lg2, log2((double)a))
APPROX(ex2, exp2((double)a))
/* The hardware's tanh.approx has 11 correct bits. We round to 14 bits, so that a kernel that needs
 * many more fails here too. Denormals are returned unchanged. */
static inline float approx_tanh(float a)
{
    float t = (float)tanh((double)a);
    uint32_t u;
    if (a != a || fabsf(a) < FLT_MIN)
        return a;
    memcpy(&u, &t, sizeof u);
    u = (u + 0x200u) & ~0x3ffu;
    memcpy(&t, &u, sizeof t);
    return t;
}
UNARY(tanh_f32, float, float, canon32(approx_tanh(a)))

/* Computes a / b as div.approx does: if |b| is in (2^126, 2^128), the result is 0, or NaN if a is
 * infinite. */
static inline float div_approx(float a, float b, bool ftz)
{
    if (ftz) {
        a = ftz32(a);
        b = ftz32(b);
    }
    float r = canon32((float)((double)a / (double)b));
    float m = fabsf(b);
    if (m > 0x1p126f && m < INFINITY)
        r = isinf(a) ? float32(0x7fffffffu)
                     : copysignf(0.0f, copysignf(1.0f, a) * copysignf(1.0f, b));
    return ftz ? ftz32(r) : r;
}
BINARY(div_approx_f32, float, float, float, div_approx(a, b, false))
BINARY(div_approx_f32_ftz, float, float, float, div_approx(a, b, true))
BINARY(div_full_f32_ftz, float, float, float, ftz32(canon32(ftz32(a) / ftz32(b))))

/* rcp.approx.ftz.f64 and rsqrt.approx.ftz.f64 flush denormals, and use only the upper 32 bits of
 * operand and result. */
static inline double ftz64(double a)
{
    uint64_t u = bits64(a);
    return (u & 0x7ff0000000000000ull) == 0 ? float64(u & 0x8000000000000000ull) : a;
}
static inline double upper32(double r)
{
    if (r != r)
        return float64(0x7fffffff00000000ull);
    return float64(bits64(ftz64(r)) & 0xffffffff00000000ull);
}
static inline double upper_in(double a)
{
    return ftz64(float64(bits64(a) & 0xffffffff00000000ull));
}
UNARY(rcp_approx_f64, double, double, upper32(1.0 / upper_in(a)))
UNARY(rsqrt_approx_f64, double, double, upper32(1.0 / sqrt(upper_in(a))))
UNARY(rsqrt_f64, double, double, nan64(1.0 / sqrt(a), a, 0, 0))

/* ---- testp ---------------------------------------------------------------------------------- */

enum { TP_FINITE, TP_INFINITE, TP_NUMBER, TP_NAN, TP_NORMAL, TP_SUBNORMAL };

static int exec_testp(struct warp *w, const struct insn *in)
{
    uint32_t bits = 0;
    FOR_LANES(i, w)
    {
        double x = in->sub[1] == 64 ? ((const double *)opnd(w, in->o[1]))[i]
                                    : (double)((const float *)opnd(w, in->o[1]))[i];
        int c =
            in->sub[1] == 64 ? fpclassify(x) : fpclassify(((const float *)opnd(w, in->o[1]))[i]);
        bool r = in->sub[0] == TP_FINITE     ? c != FP_NAN && c != FP_INFINITE
                 : in->sub[0] == TP_INFINITE ? c == FP_INFINITE
                 : in->sub[0] == TP_NUMBER   ? c != FP_NAN
                 : in->sub[0] == TP_NAN      ? c == FP_NAN
                 : in->sub[0] == TP_NORMAL   ? c == FP_NORMAL || c == FP_ZERO
                                             : c == FP_SUBNORMAL;
        bits |= (uint32_t)r << i;
    }
    set_pred(w, in->o[0], bits);
    return EX_NEXT;
}

static int decode_testp(struct decoder *d, const struct ptx_insn *p, struct insn *in)
{
    static const char *const names[] = {"finite",     "infinite", "number",
                                        "notanumber", "normal",   "subnormal"};
    enum ptx_type t = ptx_last_type(p);
    in->exec = exec_testp;
    in->kind = CK_PRED;
    in->sub[1] = (uint8_t)ptx_type_bits(t);
    if ((t != PT_F32 && t != PT_F64) || p->nmods != 2 || p->nops != 2)
        return dec_bad(d, p, "wrong operands or modifiers");
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (str_eq(p->mods[0], names[i])) {
            in->sub[0] = (uint8_t)i;
            if (dec_dst(d, p, &p->ops[0], 1, &in->o[0]) < 0)
                return -1;
            return dec_src(d, p, &p->ops[1], t, &in->o[1]);
        }
    return dec_unsupported(d, p);
}

/* ---- decoding ------------------------------------------------------------------------------- */

struct fmods {
    int round; /* index into `rounds`, or -1 */
    uint8_t flags;
    bool approx, full;
    enum ptx_type t;
};

static int parse_fmods(struct decoder *d, const struct ptx_insn *p, struct fmods *f)
{
    *f = (struct fmods){.round = -1, .t = PT_NONE};
    for (int i = 0; i < p->nmods; i++) {
        const char *m = p->mods[i];
        if (str_eq(m, "rn"))
            f->round = 0;
        else if (str_eq(m, "rz"))
            f->round = 1;
        else if (str_eq(m, "rm"))
            f->round = 2;
        else if (str_eq(m, "rp"))
            f->round = 3;
        else if (str_eq(m, "ftz"))
            f->flags |= FLAG_FTZ;
        else if (str_eq(m, "sat"))
            f->flags |= FLAG_SAT;
        else if (str_eq(m, "NaN"))
            f->flags |= FLAG_NAN;
        else if (str_eq(m, "xorsign"))
            f->flags |= FLAG_XORSIGN;
        else if (str_eq(m, "abs"))
            f->flags |= FLAG_ABS;
        else if (str_eq(m, "approx"))
            f->approx = true;
        else if (str_eq(m, "full"))
            f->full = true;
        else if (ptx_type_of(m) != PT_NONE && f->t == PT_NONE)
            f->t = ptx_type_of(m);
        else
            return dec_unsupported(d, p);
    }
    return 0;
}

static int decode_arith(struct decoder *d, const struct ptx_insn *p, struct insn *in)
{
    static const struct {
        const char *op;
        enum op which;
        uint8_t n;
        exec_fn f32, ftz, f64;
    } t[] = {{"add", OP_ADD, 2, add_f32, add_f32_ftz, add_f64},
             {"sub", OP_SUB, 2, sub_f32, sub_f32_ftz, sub_f64},
             {"mul", OP_MUL, 2, mul_f32, mul_f32_ftz, mul_f64},
             {"fma", OP_FMA, 3, fma_f32, fma_f32_ftz, fma_f64},
             {"mad", OP_FMA, 3, fma_f32, fma_f32_ftz, fma_f64},
             {"div", OP_DIV, 2, div_f32, NULL, div_f64},
             {"rcp", OP_RCP, 1, rcp_f32, NULL, rcp_f64},
             {"sqrt", OP_SQRT, 1, sqrt_f32, NULL, sqrt_f64}};
    struct fmods f;
    enum ptx_type last = ptx_last_type(p);
    if (last != PT_F32 && last != PT_F64)
        return 1;
    if (parse_fmods(d, p, &f) < 0)
        return -1;
    if (f.approx || f.full || (f.flags & ~(FLAG_FTZ | FLAG_SAT)))
        return 1;
    for (size_t i = 0; i < ARRAY_LEN(t); i++) {
        if (!str_eq(p->op, t[i].op))
            continue;
        if (p->nops != t[i].n + 1u)
            return dec_bad(d, p, "%u operands are expected", t[i].n + 1u);
        if (f.t == PT_F64 && f.flags)
            return dec_unsupported(d, p);
        in->kind = t[i].which >= OP_DIV ? CK_SFU : f.t == PT_F32 ? CK_FP32 : CK_FP64;
        in->sub[0] = (uint8_t)t[i].which;
        in->sub[1] = f.flags;
        in->sub[2] = (uint8_t)(f.round < 0 ? 0 : f.round);
        in->sub[3] = t[i].n;
        bool rn = f.round <= 0;
        if (f.t == PT_F32)
            in->exec = rn && !f.flags                          ? t[i].f32
                       : rn && f.flags == FLAG_FTZ && t[i].ftz ? t[i].ftz
                                                               : general_f32;
        else
            in->exec = rn ? t[i].f64 : general_f64;
        return dec_operands(d, p, in, f.t, f.t);
    }
    return 1;
}

static int decode_simple(struct decoder *d, const struct ptx_insn *p, struct insn *in)
{
    static const struct {
        const char *op;
        exec_fn f32, ftz, f64;
        uint8_t n;
    } t[] = {{"abs", abs_f32, abs_f32_ftz, abs_f64, 1},
             {"neg", neg_f32, neg_f32_ftz, neg_f64, 1},
             {"copysign", copysign_f32, NULL, copysign_f64, 2}};
    struct fmods f;
    enum ptx_type last = ptx_last_type(p);
    if (last != PT_F32 && last != PT_F64)
        return 1;
    /* the opcode `abs` does not count as the modifier .abs */
    if (parse_fmods(d, p, &f) < 0)
        return -1;
    for (size_t i = 0; i < ARRAY_LEN(t); i++)
        if (str_eq(p->op, t[i].op)) {
            if (p->nops != t[i].n + 1u || (f.flags & ~FLAG_FTZ))
                return dec_bad(d, p, "wrong operands or modifiers");
            in->kind = f.t == PT_F32 ? CK_FP32 : CK_FP64;
            in->exec = f.t == PT_F64 ? t[i].f64 : f.flags ? t[i].ftz : t[i].f32;
            return in->exec ? dec_operands(d, p, in, f.t, f.t) : dec_unsupported(d, p);
        }
    return 1;
}

static int decode_fminmax(struct decoder *d, const struct ptx_insn *p, struct insn *in)
{
    struct fmods f;
    bool is_max = str_eq(p->op, "max");
    enum ptx_type last = ptx_last_type(p);
    if (last != PT_F32 && last != PT_F64)
        return 1;
    if (parse_fmods(d, p, &f) < 0)
        return -1;
    if (p->nops != 3 && !(p->nops == 4 && f.t == PT_F32))
        return dec_bad(d, p, "three operands are expected");
    in->kind = f.t == PT_F32 ? CK_FP32 : CK_FP64;
    in->sub[0] = is_max;
    in->sub[1] = f.flags;
    in->sub[3] = (uint8_t)(p->nops - 1);
    if (f.t == PT_F64) {
        if (f.flags)
            return dec_unsupported(d, p);
        in->exec = is_max ? max_f64 : min_f64;
    } else {
        in->exec = f.flags || p->nops == 4 ? general_minmax : is_max ? max_f32 : min_f32;
    }
    return dec_operands(d, p, in, f.t, f.t);
}

static int decode_approx(struct decoder *d, const struct ptx_insn *p, struct insn *in)
{
    static const struct {
        const char *op;
        exec_fn f32, ftz;
    } t[] = {{"rcp", rcp_f32, rcp_f32_ftz},       {"sqrt", sqrt_f32, sqrt_f32_ftz},
             {"rsqrt", rsqrt_f32, rsqrt_f32_ftz}, {"sin", sin_f32, sin_f32_ftz},
             {"cos", cos_f32, cos_f32_ftz},       {"lg2", lg2_f32, lg2_f32_ftz},
             {"ex2", ex2_f32, ex2_f32_ftz},       {"tanh", tanh_f32, tanh_f32}};
    struct fmods f;
    enum ptx_type last = ptx_last_type(p);
    if (last != PT_F32 && last != PT_F64)
        return 1;
    if (parse_fmods(d, p, &f) < 0)
        return -1;
    in->kind = CK_SFU;
    bool ftz = f.flags & FLAG_FTZ;
    if (str_eq(p->op, "div") && f.t == PT_F32 && p->nops == 3 && (f.approx || f.full)) {
        in->exec = f.full ? (ftz ? div_full_f32_ftz : div_f32)
                          : (ftz ? div_approx_f32_ftz : div_approx_f32);
        return dec_operands(d, p, in, f.t, f.t);
    }
    if (!f.approx || p->nops != 2)
        return dec_unsupported(d, p);
    if (f.t == PT_F64) {
        in->exec = str_eq(p->op, "rcp") && ftz     ? rcp_approx_f64
                   : str_eq(p->op, "rsqrt") && ftz ? rsqrt_approx_f64
                   : str_eq(p->op, "rsqrt")        ? rsqrt_f64
                                                   : NULL;
        return in->exec ? dec_operands(d, p, in, f.t, f.t) : dec_unsupported(d, p);
    }
    for (size_t i = 0; i < ARRAY_LEN(t); i++)
        if (str_eq(p->op, t[i].op)) {
            in->exec = ftz ? t[i].ftz : t[i].f32;
            return dec_operands(d, p, in, f.t, f.t);
        }
    return 1;
}

const struct decode_entry decode_fp_ops[] = {
    {"add", decode_arith},   {"sub", decode_arith},       {"mul", decode_arith},
    {"fma", decode_arith},   {"mad", decode_arith},       {"div", decode_arith},
    {"rcp", decode_arith},   {"sqrt", decode_arith},      {"div", decode_approx},
    {"rcp", decode_approx},  {"sqrt", decode_approx},     {"rsqrt", decode_approx},
    {"sin", decode_approx},  {"cos", decode_approx},      {"lg2", decode_approx},
    {"ex2", decode_approx},  {"tanh", decode_approx},     {"abs", decode_simple},
    {"neg", decode_simple},  {"copysign", decode_simple}, {"min", decode_fminmax},
    {"max", decode_fminmax}, {"testp", decode_testp},     {NULL, NULL}};
