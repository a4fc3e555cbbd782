/*
 * half.c - executes arithmetic on f16, bf16 and their packed forms.
 *
 * add, sub and mul without flags compute in float (see PLAIN). Their other forms, and fma, compute
 * in double. Then the result is rounded to the half type. A product of two halves is exact in
 * double. The exact result of add, sub or fma may need more bits, so these three first round to odd
 * in double (fma_odd).
 */
#include "base/util.h"
#include "emu/core/lanes.h"
#include "emu/core/machine.h"
#include "emu/core/numeric.h"

enum { H_ADD, H_SUB, H_MUL, H_FMA, H_MIN, H_MAX, H_ABS, H_NEG, H_EX2, H_TANH };
enum { F_FTZ = 1, F_SAT = 2, F_RELU = 4, F_NAN = 8, F_XORSIGN = 16, F_OOB = 32 };

/* Returns a*b + c in double, rounded to odd: if the exact sum does not fit, the last bit is 1. So
 * the second rounding, to fewer bits, gives the right result. */
static double fma_odd(double a, double b, double c)
{
    double p = a * b; /* exact: a product of halves has at most 22 bits */
    double s = p + c;
    if (!isfinite(s))
        return s;
    double bb = s - p, err = (p - (s - bb)) + (c - bb);
    if (err != 0 && !(bits64(s) & 1)) {
        bool away = (err > 0) == (s > 0);
        uint64_t u = bits64(s);
        s = float64(away ? u | 1 : u - 1);
    }
    return s;
}

static uint16_t round_half(double v, bool brain)
{
    static const struct fp_format f16 = {10, -14, 15}, bf16 = {7, -126, 127};
    const struct fp_format *f = brain ? &bf16 : &f16;
    uint64_t u = bits64(v), exp = u >> 52 & 0x7ff, frac = u & 0xfffffffffffffull;
    uint16_t sign = u >> 63 ? 0x8000 : 0;
    if (exp == 0x7ff)
        return frac ? 0x7fff : sign | (brain ? 0x7f80 : 0x7c00);
    uint64_t m = exp ? frac | 1ull << 52 : frac;
    return (uint16_t)(sign | fp_round(f, sign, m, exp ? (int)exp - 1075 : -1074, RM_RN));
}

static inline double widen(uint16_t h, bool brain, bool ftz)
{
    if (ftz && !brain && !(h & 0x7c00))
        h &= 0x8000;
    return (double)(brain ? brain32(h) : half32(h));
}

static uint16_t minmax(const struct insn *in, uint16_t x, uint16_t y, bool brain)
{
    uint32_t f = in->sub[1];
    uint16_t sign = (x ^ y) & 0x8000;
    bool is_max = in->sub[0] == H_MAX;
    if (f & F_FTZ) {
        x = x & 0x7c00 ? x : x & 0x8000;
        y = y & 0x7c00 ? y : y & 0x8000;
    }
    if (f & F_XORSIGN) {
        x &= 0x7fff;
        y &= 0x7fff;
    }
    float a = brain ? brain32(x) : half32(x), b = brain ? brain32(y) : half32(y);
    uint16_t r;
    if (a != a && b != b)
        return 0x7fff;
    if (a != a || b != b)
        r = f & F_NAN ? 0x7fff : a != a ? y : x;
    else if (a == b)
        r = is_max ? x & y : x | y;
    else
        r = (a < b) == is_max ? y : x;
    if (f & F_XORSIGN && r != 0x7fff)
        r = (uint16_t)((r & 0x7fff) | sign);
    return r;
}

static uint16_t one(const struct insn *in, uint16_t x, uint16_t y, uint16_t z, bool brain)
{
    uint32_t f = in->sub[1];
    bool ftz = f & F_FTZ;
    double a = widen(x, brain, ftz), b = widen(y, brain, ftz), c = widen(z, brain, ftz), r;
    uint16_t h;
    switch (in->sub[0]) {
    case H_ADD:
        r = fma_odd(a, 1.0, b);
        break;
    case H_SUB:
        r = fma_odd(a, 1.0, -b);
        break;
    case H_MUL:
        r = a * b;
        break;
    case H_FMA:
        r = fma_odd(a, b, c);
        break;
    case H_EX2:
        r = exp2(a);
        break;
    case H_TANH:
        r = tanh(a);
        break;
    case H_ABS:
    case H_NEG:
        if ((x & 0x7fff) > (brain ? 0x7f80 : 0x7c00))
            return 0x7fff;
        h = ftz && !brain && !(x & 0x7c00) ? x & 0x8000 : x;
        return in->sub[0] == H_ABS ? h & 0x7fff : h ^ 0x8000;
    default:
        return minmax(in, x, y, brain);
    }
    if ((f & F_OOB) && ((x & 0x7fff) == OOB_NAN || (y & 0x7fff) == OOB_NAN))
        return 0;
    h = round_half(r, brain);
    if (ftz && !(h & (brain ? 0x7f80 : 0x7c00)))
        h &= 0x8000;
    bool nan = (h & 0x7fff) > (brain ? 0x7f80 : 0x7c00);
    uint16_t unit = brain ? 0x3f80 : 0x3c00;
    if (f & F_SAT)
        h = nan || h & 0x8000 ? 0 : h > unit ? unit : h;
    if ((f & F_RELU) && !nan && (h & 0x8000))
        h = 0;
    return h;
}

static int exec_half(struct warp *w, const struct insn *in)
{
    uint16_t *d = opnd(w, in->o[0]);
    const uint16_t *a = opnd(w, in->o[1]);
    const uint16_t *b = in->sub[2] > 1 ? opnd(w, in->o[2]) : a;
    const uint16_t *c = in->sub[2] > 2 ? opnd(w, in->o[3]) : a;
    bool brain = in->sub[3];
    FOR_LANES(i, w)
    d[i] = one(in, a[i], b[i], c[i], brain);
    return EX_NEXT;
}

static int exec_half2(struct warp *w, const struct insn *in)
{
    uint32_t *d = opnd(w, in->o[0]);
    const uint32_t *a = opnd(w, in->o[1]);
    const uint32_t *b = in->sub[2] > 1 ? opnd(w, in->o[2]) : a;
    const uint32_t *c = in->sub[2] > 2 ? opnd(w, in->o[3]) : a;
    bool brain = in->sub[3];
    FOR_LANES(i, w)
    {
        uint16_t lo = one(in, (uint16_t)a[i], (uint16_t)b[i], (uint16_t)c[i], brain);
        uint16_t hi =
            one(in, (uint16_t)(a[i] >> 16), (uint16_t)(b[i] >> 16), (uint16_t)(c[i] >> 16), brain);
        d[i] = lo | (uint32_t)hi << 16;
    }
    return EX_NEXT;
}

/* Forms without flags round to float and then to the half type. That equals rounding once if float
 * has 2p + 2 bits or more for a type of p bits. f16 (p = 11) needs 24, bf16 (p = 8) needs 18, and
 * float has 24. */
#define PLAIN(name, to, of, expr)                                        \
    BINARY(name##_1, uint16_t, uint16_t, uint16_t, of(to(a) expr to(b))) \
    BINARY(name##_2, uint32_t, uint32_t, uint32_t,                       \
           (uint32_t)of(to((uint16_t)a) expr to((uint16_t)b)) |          \
               (uint32_t)of(to((uint16_t)(a >> 16)) expr to((uint16_t)(b >> 16))) << 16)
PLAIN(add_f16, half32, half_of32, +)
PLAIN(sub_f16, half32, half_of32, -)
PLAIN(mul_f16, half32, half_of32, *)
PLAIN(add_bf16, brain32, brain_of32, +)
PLAIN(sub_bf16, brain32, brain_of32, -)
PLAIN(mul_bf16, brain32, brain_of32, *)

static exec_fn plain_for(uint8_t op, bool brain, bool packed)
{
    static const exec_fn f[3][2][2] = {{{add_f16_1, add_f16_2}, {add_bf16_1, add_bf16_2}},
                                       {{sub_f16_1, sub_f16_2}, {sub_bf16_1, sub_bf16_2}},
                                       {{mul_f16_1, mul_f16_2}, {mul_bf16_1, mul_bf16_2}}};
    return op <= H_MUL ? f[op][brain][packed] : NULL;
}

static int decode_half(struct decoder *d, const struct ptx_insn *p, struct insn *in)
{
    static const struct {
        const char *op;
        uint8_t which, n;
    } t[] = {{"add", H_ADD, 2}, {"sub", H_SUB, 2},  {"mul", H_MUL, 2}, {"fma", H_FMA, 3},
             {"min", H_MIN, 2}, {"max", H_MAX, 2},  {"abs", H_ABS, 1}, {"neg", H_NEG, 1},
             {"ex2", H_EX2, 1}, {"tanh", H_TANH, 1}};
    enum ptx_type ty = ptx_last_type(p);
    if (ty != PT_F16 && ty != PT_F16X2 && ty != PT_BF16 && ty != PT_BF16X2)
        return 1;
    bool packed = ty == PT_F16X2 || ty == PT_BF16X2, brain = ty == PT_BF16 || ty == PT_BF16X2;
    for (int i = 0; i + 1 < p->nmods; i++) {
        const char *m = p->mods[i];
        if (str_eq(m, "ftz"))
            in->sub[1] |= F_FTZ;
        else if (str_eq(m, "sat"))
            in->sub[1] |= F_SAT;
        else if (str_eq(m, "relu"))
            in->sub[1] |= F_RELU;
        else if (str_eq(m, "NaN"))
            in->sub[1] |= F_NAN;
        else if (str_eq(m, "xorsign"))
            in->sub[1] |= F_XORSIGN;
        else if (str_eq(m, "oob"))
            in->sub[1] |= F_OOB;
        else if (!str_eq(m, "rn") && !str_eq(m, "approx") && !str_eq(m, "abs"))
            return dec_unsupported(d, p);
    }
    for (size_t i = 0; i < ARRAY_LEN(t); i++) {
        if (!str_eq(p->op, t[i].op))
            continue;
        if (p->nops != t[i].n + 1u)
            return dec_bad(d, p, "%u operands are expected", t[i].n + 1u);
        in->sub[0] = t[i].which;
        in->sub[2] = t[i].n;
        in->sub[3] = brain;
        in->kind = t[i].which >= H_EX2 ? CK_SFU : CK_HALF;
        in->exec = !in->sub[1] ? plain_for(in->sub[0], brain, packed) : NULL;
        if (!in->exec)
            in->exec = packed ? exec_half2 : exec_half;
        return dec_operands(d, p, in, ty, ty);
    }
    return 1;
}

const struct decode_entry decode_half_ops[] = {
    {"add", decode_half}, {"sub", decode_half},  {"mul", decode_half}, {"fma", decode_half},
    {"min", decode_half}, {"max", decode_half},  {"abs", decode_half}, {"neg", decode_half},
    {"ex2", decode_half}, {"tanh", decode_half}, {NULL, NULL}};
