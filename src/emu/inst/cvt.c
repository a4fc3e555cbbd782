/*
 * cvt.c - executes conversions between types (cvt).
 *
 * The frequent conversions have loops of their own. All others convert each lane to an exact
 * intermediate value (sign, 64-bit magnitude, exponent) and round it once.
 *
 * In the struct insn of cvt_general(), sub[0] is the destination type, sub[1] the source type,
 * sub[2] the rounding and sub[3] the flags. o[4] holds the register widths in bytes: destination <<
 * 8 | source.
 */
#include "base/util.h"
#include "emu/core/lanes.h"
#include "emu/core/machine.h"
#include "emu/core/numeric.h"

enum { F_FTZ = 1, F_SAT = 2, F_RELU = 4, F_SATFINITE = 8, F_INT = 16 /* rounds to an integer */ };

uint64_t fp_round(const struct fp_format *f, bool neg, uint64_t m, int e, enum round_mode mode)
{
    if (!m)
        return 0;
    int top = e + 63 - __builtin_clzll(m); /* exponent of the value */
    int lsb = (top > f->emin ? top : f->emin) - f->mant, shift = lsb - e;
    uint64_t q, rest = 0, half = 0;
    if (shift <= 0) {
        q = m << -shift;
    } else if (shift > 64) {
        q = 0;
        rest = 1;
        half = 2;
    } else {
        q = shift == 64 ? 0 : m >> shift;
        rest = shift == 64 ? m : m & ((1ull << shift) - 1);
        half = 1ull << (shift - 1);
    }
    bool up = false;
    switch (mode) {
    case RM_RN:
        up = rest > half || (rest == half && rest && (q & 1));
        break;
    case RM_RNA:
        up = rest && rest >= half;
        break;
    case RM_RZ:
        break;
    case RM_DOWN:
        up = neg && rest;
        break;
    case RM_UP:
        up = !neg && rest;
        break;
    }
    q += up;
    if (q >> (f->mant + 1)) {
        q >>= 1;
        lsb++;
    }
    if (!(q >> f->mant))
        return q; /* denormal or zero */
    int exp = lsb + f->mant;
    uint64_t inf = (uint64_t)(f->emax - f->emin + 2) << f->mant;
    if (exp > f->emax) {
        bool to_inf =
            mode == RM_RN || mode == RM_RNA || (mode == RM_DOWN && neg) || (mode == RM_UP && !neg);
        return to_inf ? inf : inf - 1;
    }
    return ((uint64_t)(exp - f->emin + 1) << f->mant) | (q & ((1ull << f->mant) - 1));
}

static const struct fp_format F16 = {10, -14, 15}, BF16 = {7, -126, 127}, F32 = {23, -126, 127},
                              F64 = {52, -1022, 1023}, TF32 = {10, -126, 127};

/* ---- the exact intermediate ----------------------------------------------------------------- */

struct num {
    bool neg, nan, inf;
    uint64_t m; /* value = m * 2^e */
    int e;
    uint64_t nan_bits; /* payload of a NaN, as in a double */
    bool keep_nan;     /* a narrower result keeps the payload */
};

static struct num from_double(double d)
{
    uint64_t u = bits64(d), exp = u >> 52 & 0x7ff, frac = u & 0xfffffffffffffull;
    struct num n = {.neg = u >> 63, .nan_bits = u};
    if (exp == 0x7ff) {
        n.nan = frac != 0;
        n.inf = !frac;
    } else if (exp) {
        n.m = frac | 1ull << 52;
        n.e = (int)exp - 1075;
    } else {
        n.m = frac;
        n.e = -1074;
    }
    return n;
}

static struct num from_int(uint64_t v, bool is_signed)
{
    struct num n = {0};
    n.neg = is_signed && (int64_t)v < 0;
    n.m = n.neg ? 0 - v : v;
    return n;
}

static struct num load_num(enum ptx_type t, uint64_t bits, bool ftz)
{
    switch (t) {
    case PT_U8:
    case PT_B8:
        return from_int((uint8_t)bits, false);
    case PT_S8:
        return from_int((uint64_t)(int64_t)(int8_t)bits, true);
    case PT_U16:
        return from_int((uint16_t)bits, false);
    case PT_S16:
        return from_int((uint64_t)(int64_t)(int16_t)bits, true);
    case PT_U32:
        return from_int((uint32_t)bits, false);
    case PT_S32:
        return from_int((uint64_t)(int64_t)(int32_t)bits, true);
    case PT_U64:
        return from_int(bits, false);
    case PT_S64:
        return from_int(bits, true);
    case PT_F16: {
        struct num n = from_double((double)half32((uint16_t)bits));
        if (n.nan)
            n.nan_bits = bits >> 15 << 63 | 0x7ff0000000000000ull | (bits & 0x3ff) << 42;
        return n;
    }
    case PT_BF16: {
        struct num n = from_double((double)brain32((uint16_t)bits));
        if (n.nan)
            n.nan_bits = bits >> 15 << 63 | 0x7ff0000000000000ull | (bits & 0x7f) << 45;
        return n;
    }
    case PT_F32: {
        float f = float32((uint32_t)bits);
        return from_double((double)(ftz ? ftz32(canon32(f)) : f));
    }
    default: {
        struct num n = from_double(float64(bits));
        n.keep_nan = true;
        return n;
    }
    }
}

/* ---- to integers ---------------------------------------------------------------------------- */

static uint64_t to_int(struct num n, enum ptx_type t, enum round_mode mode, bool from_f64)
{
    uint32_t bits = ptx_type_bits(t);
    bool sg = ptx_is_signed(t);
    uint64_t max = sg ? (1ull << (bits - 1)) - 1 : bits == 64 ? UINT64_MAX : (1ull << bits) - 1;
    uint64_t min = sg ? max + 1 : 0; /* magnitude of the least value */
    if (n.nan)
        return from_f64 || bits == 64 ? 1ull << (bits - 1) : 0;
    if (n.inf)
        return n.neg ? (sg ? 0 - min : 0) : max;
    uint64_t q = n.m;
    bool big = false;
    if (n.e > 0) {
        big = n.m && n.e + 64 - __builtin_clzll(n.m) > 64;
        q = big ? UINT64_MAX : n.m << n.e;
    } else if (n.e < 0) {
        int s = -n.e;
        uint64_t rest = s > 63 ? (n.m ? 1 : 0) : n.m & ((1ull << s) - 1);
        uint64_t half = s > 63 ? 2 : 1ull << (s - 1);
        q = s > 63 ? 0 : n.m >> s;
        q += mode == RM_RN     ? rest > half || (rest == half && (q & 1))
             : mode == RM_DOWN ? n.neg && rest
             : mode == RM_UP   ? !n.neg && rest
                               : 0;
    }
    if (n.neg)
        return q > min || big ? 0 - min : 0 - q;
    return q > max || big ? max : q;
}

static uint64_t int_to_int(uint64_t v, enum ptx_type from, enum ptx_type to, bool sat)
{
    struct num n = load_num(from, v, false);
    uint64_t r = n.neg ? 0 - n.m : n.m;
    return sat ? to_int(n, to, RM_RZ, false) : r;
}

/* ---- to floats ------------------------------------------------------------------------------ */

static const struct fp_format *format_of(enum ptx_type t)
{
    return t == PT_F16    ? &F16
           : t == PT_BF16 ? &BF16
           : t == PT_F32  ? &F32
           : t == PT_TF32 ? &TF32
                          : &F64;
}

static uint64_t nan_of(enum ptx_type t, const struct num *n)
{
    uint64_t bits = n->nan_bits | 0x0008000000000000ull, frac = bits & 0xfffffffffffffull;
    switch (t) {
    case PT_F16:
        return n->keep_nan ? bits >> 63 << 15 | 0x7c00 | frac >> 42 : 0x7fff;
    case PT_BF16:
        return n->keep_nan ? bits >> 63 << 15 | 0x7f80 | frac >> 45 : 0x7fff;
    case PT_F32:
        return n->keep_nan ? bits >> 63 << 31 | 0x7f800000 | frac >> 29 : 0x7fffffff;
    case PT_TF32:
        return 0x7fffe000;
    default:
        return bits;
    }
}

static uint64_t to_float(struct num n, enum ptx_type t, enum round_mode mode, uint32_t flags)
{
    const struct fp_format *f = format_of(t);
    uint64_t inf = (uint64_t)(f->emax - f->emin + 2) << f->mant;
    uint64_t sign = (uint64_t)1 << (f->mant + (t == PT_F64 ? 11 : t == PT_F16 ? 5 : 8)), r;
    if (n.nan) {
        if (flags & F_SAT)
            return 0;
        return nan_of(t, &n);
    }
    if ((flags & F_RELU) && n.neg)
        return 0;
    if ((flags & F_INT) && !n.inf && n.e < 0) { /* round to an integer first */
        uint64_t q = to_int((struct num){.neg = false, .m = n.m, .e = n.e}, PT_U64,
                            mode == RM_DOWN && n.neg ? RM_UP
                            : mode == RM_UP && n.neg ? RM_DOWN
                                                     : mode,
                            true);
        n.m = q;
        n.e = 0;
    }
    r = n.inf ? inf : fp_round(f, n.neg, n.m, n.e, (flags & F_INT) ? RM_RN : mode);
    if ((flags & F_SATFINITE) && r >= inf)
        r = inf - 1;
    if (flags & F_SAT) {
        uint64_t one = (uint64_t)(0 - f->emin + 1) << f->mant;
        bool tiny = (flags & F_FTZ) && t == PT_F32 && r < (1u << 23);
        return n.neg || tiny ? 0 : r > one ? one : r;
    }
    if ((flags & F_FTZ) && t == PT_F32 && r < (1u << 23))
        r = 0;
    r |= n.neg ? sign : 0;
    return t == PT_TF32 ? r << 13 : r;
}

/* ---- 8-bit floats: pairs -------------------------------------------------------------------- */

static uint8_t to_fp8(enum ptx_type t, float f, bool relu)
{
    if (relu && f == f && (bits32(f) >> 31))
        return 0;
    return t == PT_E4M3X2 ? f8e4m3_from_f64((double)f, true) : f8e5m2_from_f64((double)f, true);
}

static int cvt_to_fp8(struct warp *w, const struct insn *in)
{
    uint16_t *d = opnd(w, in->o[0]);
    bool relu = in->sub[3] & F_RELU;
    enum ptx_type t = (enum ptx_type)in->sub[0];
    FOR_LANES(i, w)
    {
        float hi, lo;
        if (in->sub[1] == PT_F32) {
            hi = ((const float *)opnd(w, in->o[1]))[i];
            lo = ((const float *)opnd(w, in->o[2]))[i];
        } else {
            uint32_t v = ((const uint32_t *)opnd(w, in->o[1]))[i];
            bool half = in->sub[1] == PT_F16X2;
            lo = half ? half32((uint16_t)v) : brain32((uint16_t)v);
            hi = half ? half32((uint16_t)(v >> 16)) : brain32((uint16_t)(v >> 16));
        }
        d[i] = (uint16_t)(to_fp8(t, lo, relu) | to_fp8(t, hi, relu) << 8);
    }
    return EX_NEXT;
}

static int cvt_from_fp8(struct warp *w, const struct insn *in)
{
    uint32_t *d = opnd(w, in->o[0]);
    const uint16_t *s = opnd(w, in->o[1]);
    bool e4 = in->sub[1] == PT_E4M3X2, relu = in->sub[3] & F_RELU;
    FOR_LANES(i, w)
    {
        uint32_t r = 0;
        for (int k = 0; k < 2; k++) {
            uint8_t b = (uint8_t)(s[i] >> (8 * k));
            uint16_t h = half_of32(e4 ? f8e4m3_to_f32(b) : f8e5m2_to_f32(b));
            if (relu && (h & 0x8000))
                h = 0;
            r |= (uint32_t)h << (16 * k);
        }
        d[i] = r;
    }
    return EX_NEXT;
}

/* cvt.f16x2.f32 and cvt.bf16x2.f32: the first source goes to the upper half. */
static int cvt_pair(struct warp *w, const struct insn *in)
{
    uint32_t *d = opnd(w, in->o[0]);
    const uint32_t *a = opnd(w, in->o[1]), *b = opnd(w, in->o[2]);
    enum ptx_type t = in->sub[0] == PT_F16X2 ? PT_F16 : PT_BF16;
    FOR_LANES(i, w)
    {
        uint64_t hi =
            to_float(load_num(PT_F32, a[i], false), t, (enum round_mode)in->sub[2], in->sub[3]);
        uint64_t lo =
            to_float(load_num(PT_F32, b[i], false), t, (enum round_mode)in->sub[2], in->sub[3]);
        d[i] = (uint32_t)(hi << 16 | lo);
    }
    return EX_NEXT;
}

/* ---- the general conversion ----------------------------------------------------------------- */

static int cvt_general(struct warp *w, const struct insn *in)
{
    uint32_t db = (in->o[4] & OPND_OFF) >> 8, sb = in->o[4] & 0xff, flags = in->sub[3];
    enum ptx_type dt = (enum ptx_type)in->sub[0], st = (enum ptx_type)in->sub[1];
    enum round_mode mode = (enum round_mode)in->sub[2];
    char *d = opnd(w, in->o[0]);
    const char *s = opnd(w, in->o[1]);
    bool df = ptx_is_float(dt), sf = ptx_is_float(st);
    FOR_LANES(i, w)
    {
        uint64_t v = 0, r;
        memcpy(&v, s + i * sb, sb);
        if (!sf && !df)
            r = int_to_int(v, st, dt, flags & F_SAT);
        else if (!df)
            r = to_int(load_num(st, v, flags & F_FTZ), dt, mode, st == PT_F64);
        else
            r = to_float(load_num(st, v, (flags & F_FTZ) && dt != PT_F16), dt, mode, flags);
        if (!df) { /* the register may be wider than the type */
            uint32_t bits = ptx_type_bits(dt);
            if (bits < 64) {
                uint64_t mask = (1ull << bits) - 1;
                r = ptx_is_signed(dt) && (r >> (bits - 1) & 1) ? r | ~mask : r & mask;
            }
        }
        memcpy(d + i * db, &r, db);
    }
    return EX_NEXT;
}

/* ---- frequent conversions -------------------------------------------------------------------- */

UNARY(c_u64_u32, uint64_t, uint32_t, a)
UNARY(c_s64_s32, uint64_t, int32_t, (int64_t)a)
UNARY(c_u32_u64, uint32_t, uint64_t, a)
UNARY(c_u32_u16, uint32_t, uint16_t, a)
UNARY(c_s32_s16, uint32_t, int16_t, (int32_t)a)
UNARY(c_u16_u32, uint16_t, uint32_t, a)
UNARY(c_u64_u16, uint64_t, uint16_t, a)
UNARY(c_u16_u64, uint16_t, uint64_t, a)
UNARY(c_s32_s8, uint32_t, uint32_t, (int32_t)(int8_t)a)
UNARY(c_f32_s32, float, int32_t, (float)a)
UNARY(c_f32_u32, float, uint32_t, (float)a)
UNARY(c_f64_s32, double, int32_t, (double)a)
UNARY(c_f64_u32, double, uint32_t, (double)a)
UNARY(c_f64_f32, double, float, (double)a)
static inline float narrow(double a)
{
    uint64_t u = bits64(quiet64(a));
    uint32_t nan = (uint32_t)(u >> 63 << 31 | 0x7f800000 | (u & 0xfffffffffffffull) >> 29);
    return a != a ? float32(nan) : (float)a;
}
UNARY(c_f32_f64, float, double, narrow(a))
UNARY(c_f32_f16, float, uint16_t, half32(a))
UNARY(c_f16_f32, uint16_t, float, half_of32(a))
UNARY(c_f32_bf16, uint32_t, uint16_t, (uint32_t)a << 16)
UNARY(c_bf16_f32, uint16_t, float, brain_of32(a))
BINARY(c_f16x2_f32, uint32_t, float, float, (uint32_t)half_of32(a) << 16 | half_of32(b))
BINARY(c_bf16x2_f32, uint32_t, float, float, (uint32_t)brain_of32(a) << 16 | brain_of32(b))
UNARY(c_sat_f32, float, float, sat32(a))
static inline int32_t rz_s32(float a)
{
    return a != a ? 0 : a >= 0x1p31f ? INT32_MAX : a <= -0x1p31f ? INT32_MIN : (int32_t)a;
}
static inline uint32_t rz_u32(float a)
{
    return !(a > 0) ? 0 : a >= 0x1p32f ? UINT32_MAX : (uint32_t)a;
}
UNARY(c_rzi_s32_f32, int32_t, float, rz_s32(a))
UNARY(c_rzi_u32_f32, uint32_t, float, rz_u32(a))
UNARY(c_rna_tf32, uint32_t, uint32_t,
      (a & 0x7fffffffu) > 0x7f800000u    ? a & 0xffffe000u
      : (a & 0x7f800000u) == 0x7f800000u ? a
                                         : (a + 0x1000u) & 0xffffe000u)

static const struct {
    const char *name;
    exec_fn fn;
    uint8_t dbits, sbits; /* widths of the registers that fn writes and reads */
} hot[] = {
    {"u64.u32", c_u64_u32, 64, 32},
    {"s64.u32", c_u64_u32, 64, 32},
    {"s64.s32", c_s64_s32, 64, 32},
    {"u64.s32", c_s64_s32, 64, 32},
    {"u32.u64", c_u32_u64, 32, 64},
    {"s32.s64", c_u32_u64, 32, 64},
    {"u32.s64", c_u32_u64, 32, 64},
    {"s32.u64", c_u32_u64, 32, 64},
    {"u32.u16", c_u32_u16, 32, 16},
    {"s32.u16", c_u32_u16, 32, 16},
    {"s32.s16", c_s32_s16, 32, 16},
    {"u32.s16", c_s32_s16, 32, 16},
    {"u16.u32", c_u16_u32, 16, 32},
    {"s16.s32", c_u16_u32, 16, 32},
    {"u64.u16", c_u64_u16, 64, 16},
    {"u16.u64", c_u16_u64, 16, 64},
    {"s32.s8", c_s32_s8, 32, 32},
    {"rn.f32.s32", c_f32_s32, 32, 32},
    {"rn.f32.u32", c_f32_u32, 32, 32},
    {"rn.f64.s32", c_f64_s32, 64, 32},
    {"rn.f64.u32", c_f64_u32, 64, 32},
    {"f64.f32", c_f64_f32, 64, 32},
    {"rn.f32.f64", c_f32_f64, 32, 64},
    {"f32.f16", c_f32_f16, 32, 16},
    {"rn.f16.f32", c_f16_f32, 16, 32},
    {"f32.bf16", c_f32_bf16, 32, 16},
    {"rn.bf16.f32", c_bf16_f32, 16, 32},
    {"rn.f16x2.f32", c_f16x2_f32, 32, 32},
    {"rn.bf16x2.f32", c_bf16x2_f32, 32, 32},
    {"sat.f32.f32", c_sat_f32, 32, 32},
    {"rzi.s32.f32", c_rzi_s32_f32, 32, 32},
    {"rzi.u32.f32", c_rzi_u32_f32, 32, 32},
    {"rna.tf32.f32", c_rna_tf32, 32, 32},
};

/* ---- decoding ------------------------------------------------------------------------------- */

static int parse_cvt(struct decoder *d, const struct ptx_insn *p, struct insn *in, bool *has_round)
{
    *has_round = false;
    for (int i = 0; i < p->nmods; i++) {
        static const struct {
            const char *name;
            uint8_t mode, flags;
        } t[] = {{"rn", RM_RN, 0},      {"rz", RM_RZ, 0},        {"rm", RM_DOWN, 0},
                 {"rp", RM_UP, 0},      {"rna", RM_RNA, 0},      {"rni", RM_RN, F_INT},
                 {"rzi", RM_RZ, F_INT}, {"rmi", RM_DOWN, F_INT}, {"rpi", RM_UP, F_INT}};
        const char *m = p->mods[i];
        bool found = false;
        for (size_t k = 0; k < ARRAY_LEN(t) && !found; k++)
            if (str_eq(m, t[k].name)) {
                in->sub[2] = t[k].mode;
                in->sub[3] |= t[k].flags;
                *has_round = found = true;
            }
        if (found)
            continue;
        if (str_eq(m, "ftz"))
            in->sub[3] |= F_FTZ;
        else if (str_eq(m, "sat"))
            in->sub[3] |= F_SAT;
        else if (str_eq(m, "relu"))
            in->sub[3] |= F_RELU;
        else if (str_eq(m, "satfinite"))
            in->sub[3] |= F_SATFINITE;
        else if (ptx_type_of(m) == PT_NONE)
            return dec_unsupported(d, p);
    }
    return 0;
}

static bool scalar(enum ptx_type t)
{
    switch (t) {
    case PT_U8:
    case PT_U16:
    case PT_U32:
    case PT_U64:
    case PT_S8:
    case PT_S16:
    case PT_S32:
    case PT_S64:
    case PT_F16:
    case PT_BF16:
    case PT_F32:
    case PT_F64:
        return true;
    default:
        return false;
    }
}

/* Decodes an operand whose register may be wider than the type t. Sets *bits to the register's
 * width. */
static int dec_loose(struct decoder *d, const struct ptx_insn *p, const struct ptx_opnd *o,
                     enum ptx_type t, bool is_dst, uint32_t *code, uint32_t *bits)
{
    uint32_t need = MAX(ptx_type_bits(t), 16u);
    *bits = dec_reg_bits(o);
    if (!*bits)
        *bits = need;
    if (*bits < need || *bits == 1 || *bits > 64)
        return dec_bad(d, p, "the register does not fit %s", ptx_type_name(t));
    if (is_dst)
        return dec_dst(d, p, o, *bits, code);
    if (o->kind == PO_REG)
        return dec_src(d, p, o, *bits == 16 ? PT_B16 : *bits == 32 ? PT_B32 : PT_B64, code);
    return dec_src(d, p, o, ptx_type_bits(t) == 8 ? PT_B16 : t, code);
}

/* Returns the kind (CK_...) under which we count a conversion. The arithmetic pipes convert between
 * half and single precision at their usual rate. Conversions between integers only move bits. */
static uint8_t cvt_kind(enum ptx_type dt, enum ptx_type st)
{
    if (scalar(dt) && scalar(st) && !ptx_is_float(dt) && !ptx_is_float(st))
        return CK_INT;
    bool half = dt == PT_F16 || dt == PT_BF16 || dt == PT_F16X2 || dt == PT_BF16X2;
    bool from_half = st == PT_F16 || st == PT_BF16;
    return (half && st == PT_F32) || (from_half && dt == PT_F32) ? CK_HALF : CK_CVT;
}

static int decode_cvt(struct decoder *d, const struct ptx_insn *p, struct insn *in)
{
    enum ptx_type dt = ptx_nth_type(p, 0), st = ptx_nth_type(p, 1);
    char name[64];
    size_t n = 0;
    bool has_round;
    in->kind = CK_CVT;
    if (str_eq(p->op, "cvt") && p->nmods && str_eq(p->mods[0], "pack"))
        return 1;
    if (st == PT_NONE || p->nops < 2 || p->nops > 3)
        return dec_bad(d, p, "two types are expected");
    if (parse_cvt(d, p, in, &has_round) < 0)
        return -1;
    for (int i = 0; i < p->nmods && n < sizeof name; i++)
        n += (size_t)snprintf(name + n, sizeof name - n, "%s%s", i ? "." : "", p->mods[i]);
    in->sub[0] = (uint8_t)dt;
    in->sub[1] = (uint8_t)st;
    in->kind = cvt_kind(dt, st);
    bool pair = (dt == PT_F16X2 || dt == PT_BF16X2) && st == PT_F32;
    bool to8 =
        (dt == PT_E4M3X2 || dt == PT_E5M2X2) && (st == PT_F32 || st == PT_F16X2 || st == PT_BF16X2);
    bool from8 = (st == PT_E4M3X2 || st == PT_E5M2X2) && dt == PT_F16X2;
    if (pair || to8 || from8) {
        if (p->nops != (st == PT_F32 ? 3 : 2))
            return dec_bad(d, p, "wrong number of operands");
        in->exec = pair ? cvt_pair : to8 ? cvt_to_fp8 : cvt_from_fp8;
        for (size_t i = 0; i < ARRAY_LEN(hot); i++)
            if (str_eq(hot[i].name, name))
                in->exec = hot[i].fn;
        return dec_operands(d, p, in, dt, st);
    }
    bool tf = dt == PT_TF32 && st == PT_F32;
    if ((!scalar(dt) && !tf) || !scalar(st) || p->nops != 2)
        return dec_unsupported(d, p);
    if (!ptx_is_float(dt) && ptx_is_float(st) && !(in->sub[3] & F_INT))
        return dec_bad(d, p, "an integer rounding (.rni, .rzi, ...) is expected");
    uint32_t db, sb;
    in->exec = cvt_general;
    if (dec_loose(d, p, &p->ops[0], dt, true, &in->o[0], &db) < 0 ||
        dec_loose(d, p, &p->ops[1], st, false, &in->o[1], &sb) < 0)
        return -1;
    in->o[4] = OPND_NUMBER(db / 8 << 8 | sb / 8);
    for (size_t i = 0; i < ARRAY_LEN(hot); i++)
        if (str_eq(hot[i].name, name) && hot[i].dbits == db && hot[i].sbits == sb)
            in->exec = hot[i].fn;
    return 0;
}

/* Executes cvt.pack.sat.u16.s32 d, a, b and cvt.pack.sat.u8.s32.b32 d, a, b, c. */
static int exec_cvt_pack(struct warp *w, const struct insn *in)
{
    uint32_t *d = opnd(w, in->o[0]), bits = ptx_type_bits((enum ptx_type)in->sub[0]);
    const int32_t *a = opnd(w, in->o[1]), *b = opnd(w, in->o[2]);
    const uint32_t *c = in->sub[1] ? opnd(w, in->o[3]) : NULL;
    uint32_t mask = (1u << bits) - 1;
    FOR_LANES(i, w)
    {
        uint32_t x = (uint32_t)to_int(from_int((uint64_t)(int64_t)a[i], true),
                                      (enum ptx_type)in->sub[0], RM_RZ, false);
        uint32_t y = (uint32_t)to_int(from_int((uint64_t)(int64_t)b[i], true),
                                      (enum ptx_type)in->sub[0], RM_RZ, false);
        uint32_t low = (x & mask) << bits | (y & mask);
        d[i] = c && bits < 16 ? c[i] << (2 * bits) | low : low;
    }
    return EX_NEXT;
}

static int decode_cvt_pack(struct decoder *d, const struct ptx_insn *p, struct insn *in)
{
    enum ptx_type t = ptx_nth_type(p, 0);
    if (!p->nmods || !str_eq(p->mods[0], "pack"))
        return 1;
    if ((t != PT_U16 && t != PT_S16 && t != PT_U8 && t != PT_S8) || ptx_nth_type(p, 1) != PT_S32 ||
        !ptx_has(p, "sat") || (p->nops != 3 && p->nops != 4))
        return dec_unsupported(d, p);
    in->exec = exec_cvt_pack;
    in->kind = CK_CVT;
    in->sub[0] = (uint8_t)t;
    in->sub[1] = p->nops == 4;
    return dec_operands(d, p, in, PT_B32, PT_B32);
}

const struct decode_entry decode_cvt_ops[] = {
    {"cvt", decode_cvt}, {"cvt", decode_cvt_pack}, {NULL, NULL}};
