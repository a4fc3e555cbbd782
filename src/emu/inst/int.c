/*
 * int.c - executes integer arithmetic: add, sub, mul, mad, div, min, max, shifts and the carry
 * chain.
 *
 * Arithmetic uses unsigned types, so it wraps, except in the .sat forms. Quotient and remainder of
 * a division by zero are all ones, as on the hardware.
 */
#include "base/util.h"
#include "emu/core/lanes.h"
#include "emu/core/machine.h"
#include "emu/core/numeric.h"

typedef __int128 i128;

#define EACH_UINT(M, ...)                  \
    M(__VA_ARGS__##_16, uint16_t, int16_t) \
    M(__VA_ARGS__##_32, uint32_t, int32_t) \
    M(__VA_ARGS__##_64, uint64_t, int64_t)

#define ADD(n, U, S) BINARY(n, U, U, U, (U)(a + b))
#define SUB(n, U, S) BINARY(n, U, U, U, (U)(a - b))
EACH_UINT(ADD, add)
EACH_UINT(SUB, sub)
BINARY(mullo_16, uint16_t, uint16_t, uint16_t, (uint32_t)a *b)
BINARY(mullo_32, uint32_t, uint32_t, uint32_t, a *b)
BINARY(mullo_64, uint64_t, uint64_t, uint64_t, a *b)
TERNARY(madlo_16, uint16_t, uint16_t, uint16_t, uint16_t, (uint32_t)a *b + c)
TERNARY(madlo_32, uint32_t, uint32_t, uint32_t, uint32_t, a *b + c)
TERNARY(madlo_64, uint64_t, uint64_t, uint64_t, uint64_t, a *b + c)

static inline uint16_t hi_u16(uint16_t a, uint16_t b)
{
    return (uint16_t)((uint32_t)a * b >> 16);
}
static inline uint16_t hi_s16(uint16_t a, uint16_t b)
{
    return (uint16_t)((int32_t)(int16_t)a * (int16_t)b >> 16);
}
static inline uint32_t hi_u32(uint32_t a, uint32_t b)
{
    return (uint32_t)((uint64_t)a * b >> 32);
}
static inline uint32_t hi_s32(uint32_t a, uint32_t b)
{
    return (uint32_t)((int64_t)(int32_t)a * (int32_t)b >> 32);
}
static inline uint64_t hi_u64(uint64_t a, uint64_t b)
{
    return (uint64_t)((u128)a * b >> 64);
}
static inline uint64_t hi_s64(uint64_t a, uint64_t b)
{
    return (uint64_t)((i128)(int64_t)a * (int64_t)b >> 64);
}
#define MULHI(t, U)                          \
    BINARY(mulhi_##t, U, U, U, hi_##t(a, b)) \
    TERNARY(madhi_##t, U, U, U, U, (U)(hi_##t(a, b) + c))
MULHI(u16, uint16_t)
MULHI(s16, uint16_t)
MULHI(u32, uint32_t)
MULHI(s32, uint32_t)
MULHI(u64, uint64_t)
MULHI(s64, uint64_t)

#define WIDE(t, N, W)                              \
    BINARY(mulwide_##t, W, N, N, (W)((W)a * (W)b)) \
    TERNARY(madwide_##t, uint##W, N, N, uint##W, (uint##W)((W)a * (W)b) + c)
typedef uint32_t uintint32_t;
typedef uint64_t uintint64_t;
typedef uint32_t uintuint32_t;
typedef uint64_t uintuint64_t;
WIDE(u16, uint16_t, uint32_t)
WIDE(s16, int16_t, int32_t)
WIDE(u32, uint32_t, uint64_t)
WIDE(s32, int32_t, int64_t)

static inline uint32_t sat_s32(int64_t v)
{
    return (uint32_t)(v > INT32_MAX ? INT32_MAX : v < INT32_MIN ? INT32_MIN : v);
}
BINARY(addsat_s32, uint32_t, int32_t, int32_t, sat_s32((int64_t)a + b))
BINARY(subsat_s32, uint32_t, int32_t, int32_t, sat_s32((int64_t)a - b))
TERNARY(madhisat_s32, uint32_t, uint32_t, uint32_t, int32_t,
        sat_s32((int64_t)(int32_t)hi_s32(a, b) + c))

/* 24-bit products use the low 24 bits of their operands, sign or zero extended. */
static inline int64_t s24(uint32_t a)
{
    return (int32_t)(a << 8) >> 8;
}
static inline uint64_t u24(uint32_t a)
{
    return a & 0xffffff;
}
BINARY(mul24lo_u32, uint32_t, uint32_t, uint32_t, u24(a) * u24(b))
BINARY(mul24lo_s32, uint32_t, uint32_t, uint32_t, s24(a) * s24(b))
BINARY(mul24hi_u32, uint32_t, uint32_t, uint32_t, u24(a) * u24(b) >> 16)
BINARY(mul24hi_s32, uint32_t, uint32_t, uint32_t, s24(a) * s24(b) >> 16)
TERNARY(mad24lo_u32, uint32_t, uint32_t, uint32_t, uint32_t, u24(a) * u24(b) + c)
TERNARY(mad24lo_s32, uint32_t, uint32_t, uint32_t, uint32_t, (uint64_t)(s24(a) * s24(b)) + c)
TERNARY(mad24hi_u32, uint32_t, uint32_t, uint32_t, uint32_t, (u24(a) * u24(b) >> 16) + c)
TERNARY(mad24hi_s32, uint32_t, uint32_t, uint32_t, uint32_t, (uint64_t)(s24(a) * s24(b) >> 16) + c)
TERNARY(mad24hisat_s32, uint32_t, uint32_t, uint32_t, int32_t,
        sat_s32((int64_t)(int32_t)(s24(a) * s24(b) >> 16) + c))

#define DIVS(bits, U, S)                                                                    \
    BINARY(div_u##bits, U, U, U, b ? a / b : (U) ~(U)0)                                     \
    BINARY(rem_u##bits, U, U, U, b ? a % b : (U) ~(U)0)                                     \
    BINARY(div_s##bits, U, S, S, b == 0 ? (U) ~(U)0 : b == -1 ? (U)(0 - (U)a) : (U)(a / b)) \
    BINARY(rem_s##bits, U, S, S, b == 0 ? (U) ~(U)0 : b == -1 ? (U)0 : (U)(a % b))
DIVS(16, uint16_t, int16_t)
DIVS(32, uint32_t, int32_t)
DIVS(64, uint64_t, int64_t)

#define MINMAX(t, T)                        \
    BINARY(min_##t, T, T, T, a < b ? a : b) \
    BINARY(max_##t, T, T, T, a > b ? a : b)
MINMAX(u16, uint16_t)
MINMAX(s16, int16_t)
MINMAX(u32, uint32_t)
MINMAX(s32, int32_t)
MINMAX(u64, uint64_t)
MINMAX(s64, int64_t)
BINARY(minrelu_s32, int32_t, int32_t, int32_t, MAX(MIN(a, b), 0))
BINARY(maxrelu_s32, int32_t, int32_t, int32_t, MAX(MAX(a, b), 0))

#define ABSNEG(n, U, S)                            \
    UNARY(abs##n, U, U, (S)a < 0 ? (U)(0 - a) : a) \
    UNARY(neg##n, U, U, (U)(0 - a))
ABSNEG(_16, uint16_t, int16_t)
ABSNEG(_32, uint32_t, int32_t)
ABSNEG(_64, uint64_t, int64_t)

#define SAD(t, U, T) TERNARY(sad_##t, U, T, T, U, (U)(c + (U)(a < b ? (U)b - (U)a : (U)a - (U)b)))
SAD(u16, uint16_t, uint16_t)
SAD(s16, uint16_t, int16_t)
SAD(u32, uint32_t, uint32_t)
SAD(s32, uint32_t, int32_t)
SAD(u64, uint64_t, uint64_t)
SAD(s64, uint64_t, int64_t)

/* Shift counts are 32 bits wide. A count beyond the width shifts out all bits. */
BINARY(shl_16, uint16_t, uint16_t, uint32_t, b > 15 ? 0 : (uint32_t)a << b)
BINARY(shl_32, uint32_t, uint32_t, uint32_t, b > 31 ? 0 : a << b)
BINARY(shl_64, uint64_t, uint64_t, uint32_t, b > 63 ? 0 : a << b)
BINARY(shr_u16, uint16_t, uint16_t, uint32_t, b > 15 ? 0 : a >> b)
BINARY(shr_u32, uint32_t, uint32_t, uint32_t, b > 31 ? 0 : a >> b)
BINARY(shr_u64, uint64_t, uint64_t, uint32_t, b > 63 ? 0 : a >> b)
BINARY(shr_s16, int16_t, int16_t, uint32_t, a >> (b > 15 ? 15 : b))
BINARY(shr_s32, int32_t, int32_t, uint32_t, a >> (b > 31 ? 31 : b))
BINARY(shr_s64, int64_t, int64_t, uint32_t, a >> (b > 63 ? 63 : b))

#define PACKED(n, T, ...)                     \
    static inline uint16_t n##_half(T a, T b) \
    {                                         \
        return (uint16_t)(__VA_ARGS__);       \
    }                                         \
    BINARY(n, uint32_t, uint32_t, uint32_t,   \
           (uint32_t)n##_half((T)a, (T)b) | (uint32_t)n##_half((T)(a >> 16), (T)(b >> 16)) << 16)
PACKED(add_x2, uint16_t, a + b)
PACKED(min_u16x2, uint16_t, a < b ? a : b)
PACKED(max_u16x2, uint16_t, a > b ? a : b)
PACKED(min_s16x2, int16_t, a < b ? a : b)
PACKED(max_s16x2, int16_t, a > b ? a : b)
PACKED(minrelu_s16x2, int16_t, MAX(MIN(a, b), 0))
PACKED(maxrelu_s16x2, int16_t, MAX(MAX(a, b), 0))

/* ---- the carry chain ------------------------------------------------------------------------ */

enum {
    CARRY_IN = 1,
    CARRY_OUT = 2,
    CARRY_SUB = 4,
    CARRY_HI = 8,
    CARRY_MAD = 16,
    CARRY_SIGNED = 32
};

/* A difference is a + ~b + 1, so the carry flag is set if there was no borrow. This matters only to
 * code that mixes sub.cc with addc, such as the compiler's division of 128-bit integers. */
static int exec_carry(struct warp *w, const struct insn *in)
{
    uint32_t *cc = (uint32_t *)(void *)(w->base[0] + CC_OFF), f = in->sub[0], out = 0;
    bool wide = in->sub[1] == 64;
    FOR_LANES(i, w)
    {
        uint64_t a = wide ? ((uint64_t *)opnd(w, in->o[1]))[i] : ((uint32_t *)opnd(w, in->o[1]))[i];
        uint64_t b = wide ? ((uint64_t *)opnd(w, in->o[2]))[i] : ((uint32_t *)opnd(w, in->o[2]))[i];
        if (f & CARRY_MAD) {
            uint64_t c =
                wide ? ((uint64_t *)opnd(w, in->o[3]))[i] : ((uint32_t *)opnd(w, in->o[3]))[i];
            if (wide)
                a = f & CARRY_HI ? (f & CARRY_SIGNED ? hi_s64(a, b) : hi_u64(a, b)) : a * b;
            else
                a = f & CARRY_HI ? (f & CARRY_SIGNED ? hi_s32((uint32_t)a, (uint32_t)b)
                                                     : hi_u32((uint32_t)a, (uint32_t)b))
                                 : (uint32_t)(a * b);
            b = c;
        }
        uint64_t mask = wide ? UINT64_MAX : UINT32_MAX;
        uint64_t carry = f & CARRY_IN ? *cc >> i & 1 : f & CARRY_SUB ? 1 : 0;
        u128 r = (u128)a + (f & CARRY_SUB ? ~b & mask : b) + carry;
        if (wide)
            ((uint64_t *)opnd(w, in->o[0]))[i] = (uint64_t)r;
        else
            ((uint32_t *)opnd(w, in->o[0]))[i] = (uint32_t)r;
        out |= (uint32_t)((r >> (wide ? 64 : 32)) & 1) << i;
    }
    if (f & CARRY_OUT)
        *cc = (*cc & ~w->active) | out;
    return EX_NEXT;
}

static int decode_carry(struct decoder *d, const struct ptx_insn *p, struct insn *in)
{
    bool cc = ptx_has(p, "cc");
    bool in_c = str_eq(p->op, "addc") || str_eq(p->op, "subc") || str_eq(p->op, "madc");
    if (!cc && !in_c)
        return 1;
    enum ptx_type t = ptx_last_type(p);
    bool mad = p->op[0] == 'm', sub = p->op[0] == 's';
    if ((t != PT_U32 && t != PT_S32 && t != PT_U64 && t != PT_S64) || p->nops != (mad ? 4 : 3))
        return dec_unsupported(d, p);
    in->sub[0] = (uint8_t)((in_c ? CARRY_IN : 0) | (cc ? CARRY_OUT : 0) | (sub ? CARRY_SUB : 0) |
                           (mad ? CARRY_MAD : 0) | (ptx_has(p, "hi") ? CARRY_HI : 0) |
                           (ptx_is_signed(t) ? CARRY_SIGNED : 0));
    in->sub[1] = (uint8_t)ptx_type_bits(t);
    in->exec = exec_carry;
    in->kind = CK_INT;
    return dec_operands(d, p, in, t, t);
}

/* ---- decoding ------------------------------------------------------------------------------- */

int dec_operands(struct decoder *d, const struct ptx_insn *p, struct insn *in, enum ptx_type dt,
                 enum ptx_type st)
{
    uint32_t bits = ptx_type_bits(dt);
    if (p->nops < 2 || p->nops > 5)
        return dec_bad(d, p, "wrong number of operands");
    if (dec_dst(d, p, &p->ops[0], bits == 8 ? 16 : bits, &in->o[0]) < 0)
        return -1;
    for (uint32_t i = 1; i < p->nops; i++)
        if (dec_src(d, p, &p->ops[i], st, &in->o[i]) < 0)
            return -1;
    return 0;
}

struct form {
    const char *op, *mods; /* modifiers without the type, such as "hi.sat" */
    enum ptx_type type;
    exec_fn fn;
    uint8_t nops;
    /* The type of the last operand, or PT_NONE if all operands have the type `type`. In .wide
     * forms, this is the type of the result. In mad.wide, the last operand has it too. */
    enum ptx_type last;
};

#define F3(op, mods, t, fn)         \
    {                               \
        op, mods, t, fn, 3, PT_NONE \
    }
#define F4(op, mods, t, fn)         \
    {                               \
        op, mods, t, fn, 4, PT_NONE \
    }
#define F2(op, mods, t, fn)         \
    {                               \
        op, mods, t, fn, 2, PT_NONE \
    }
#define SIGNS3(op, mods, fn16, fn32, fn64)                                              \
    F3(op, mods, PT_U16, fn16), F3(op, mods, PT_S16, fn16), F3(op, mods, PT_U32, fn32), \
        F3(op, mods, PT_S32, fn32), F3(op, mods, PT_U64, fn64), F3(op, mods, PT_S64, fn64)

static const struct form forms[] = {
    SIGNS3("add", "", add_16, add_32, add_64),
    SIGNS3("sub", "", sub_16, sub_32, sub_64),
    SIGNS3("mul", "lo", mullo_16, mullo_32, mullo_64),
    F3("add", "sat", PT_S32, addsat_s32),
    F3("sub", "sat", PT_S32, subsat_s32),
    F3("add", "", PT_U16X2, add_x2),
    F3("add", "", PT_S16X2, add_x2),
    F4("mad", "lo", PT_U16, madlo_16),
    F4("mad", "lo", PT_S16, madlo_16),
    F4("mad", "lo", PT_U32, madlo_32),
    F4("mad", "lo", PT_S32, madlo_32),
    F4("mad", "lo", PT_U64, madlo_64),
    F4("mad", "lo", PT_S64, madlo_64),
    F3("mul", "hi", PT_U16, mulhi_u16),
    F3("mul", "hi", PT_S16, mulhi_s16),
    F3("mul", "hi", PT_U32, mulhi_u32),
    F3("mul", "hi", PT_S32, mulhi_s32),
    F3("mul", "hi", PT_U64, mulhi_u64),
    F3("mul", "hi", PT_S64, mulhi_s64),
    F4("mad", "hi", PT_U16, madhi_u16),
    F4("mad", "hi", PT_S16, madhi_s16),
    F4("mad", "hi", PT_U32, madhi_u32),
    F4("mad", "hi", PT_S32, madhi_s32),
    F4("mad", "hi", PT_U64, madhi_u64),
    F4("mad", "hi", PT_S64, madhi_s64),
    F4("mad", "hi.sat", PT_S32, madhisat_s32),
    {"mul", "wide", PT_U16, mulwide_u16, 3, PT_U32},
    {"mul", "wide", PT_S16, mulwide_s16, 3, PT_U32},
    {"mul", "wide", PT_U32, mulwide_u32, 3, PT_U64},
    {"mul", "wide", PT_S32, mulwide_s32, 3, PT_U64},
    {"mad", "wide", PT_U16, madwide_u16, 4, PT_U32},
    {"mad", "wide", PT_S16, madwide_s16, 4, PT_U32},
    {"mad", "wide", PT_U32, madwide_u32, 4, PT_U64},
    {"mad", "wide", PT_S32, madwide_s32, 4, PT_U64},
    F3("mul24", "lo", PT_U32, mul24lo_u32),
    F3("mul24", "lo", PT_S32, mul24lo_s32),
    F3("mul24", "hi", PT_U32, mul24hi_u32),
    F3("mul24", "hi", PT_S32, mul24hi_s32),
    F4("mad24", "lo", PT_U32, mad24lo_u32),
    F4("mad24", "lo", PT_S32, mad24lo_s32),
    F4("mad24", "hi", PT_U32, mad24hi_u32),
    F4("mad24", "hi", PT_S32, mad24hi_s32),
    F4("mad24", "hi.sat", PT_S32, mad24hisat_s32),
    F3("div", "", PT_U16, div_u16),
    F3("div", "", PT_S16, div_s16),
    F3("div", "", PT_U32, div_u32),
    F3("div", "", PT_S32, div_s32),
    F3("div", "", PT_U64, div_u64),
    F3("div", "", PT_S64, div_s64),
    F3("rem", "", PT_U16, rem_u16),
    F3("rem", "", PT_S16, rem_s16),
    F3("rem", "", PT_U32, rem_u32),
    F3("rem", "", PT_S32, rem_s32),
    F3("rem", "", PT_U64, rem_u64),
    F3("rem", "", PT_S64, rem_s64),
    F3("min", "", PT_U16, min_u16),
    F3("min", "", PT_S16, min_s16),
    F3("min", "", PT_U32, min_u32),
    F3("min", "", PT_S32, min_s32),
    F3("min", "", PT_U64, min_u64),
    F3("min", "", PT_S64, min_s64),
    F3("max", "", PT_U16, max_u16),
    F3("max", "", PT_S16, max_s16),
    F3("max", "", PT_U32, max_u32),
    F3("max", "", PT_S32, max_s32),
    F3("max", "", PT_U64, max_u64),
    F3("max", "", PT_S64, max_s64),
    F3("min", "relu", PT_S32, minrelu_s32),
    F3("max", "relu", PT_S32, maxrelu_s32),
    F3("min", "", PT_U16X2, min_u16x2),
    F3("max", "", PT_U16X2, max_u16x2),
    F3("min", "", PT_S16X2, min_s16x2),
    F3("max", "", PT_S16X2, max_s16x2),
    F3("min", "relu", PT_S16X2, minrelu_s16x2),
    F3("max", "relu", PT_S16X2, maxrelu_s16x2),
    F2("abs", "", PT_S16, abs_16),
    F2("abs", "", PT_S32, abs_32),
    F2("abs", "", PT_S64, abs_64),
    F2("neg", "", PT_S16, neg_16),
    F2("neg", "", PT_S32, neg_32),
    F2("neg", "", PT_S64, neg_64),
    F4("sad", "", PT_U16, sad_u16),
    F4("sad", "", PT_S16, sad_s16),
    F4("sad", "", PT_U32, sad_u32),
    F4("sad", "", PT_S32, sad_s32),
    F4("sad", "", PT_U64, sad_u64),
    F4("sad", "", PT_S64, sad_s64),
    {"shl", "", PT_B16, shl_16, 3, PT_U32},
    {"shl", "", PT_B32, shl_32, 3, PT_U32},
    {"shl", "", PT_B64, shl_64, 3, PT_U32},
    {"shr", "", PT_B16, shr_u16, 3, PT_U32},
    {"shr", "", PT_B32, shr_u32, 3, PT_U32},
    {"shr", "", PT_B64, shr_u64, 3, PT_U32},
    {"shr", "", PT_U16, shr_u16, 3, PT_U32},
    {"shr", "", PT_U32, shr_u32, 3, PT_U32},
    {"shr", "", PT_U64, shr_u64, 3, PT_U32},
    {"shr", "", PT_S16, shr_s16, 3, PT_U32},
    {"shr", "", PT_S32, shr_s32, 3, PT_U32},
    {"shr", "", PT_S64, shr_s64, 3, PT_U32},
};

/* Writes all modifiers except the type to buf, with dots between them. Returns the type. PTX puts
 * the type last, but ptxas accepts it anywhere, and CUDA's headers write max.s32.relu. */
static enum ptx_type join_mods(const struct ptx_insn *p, char *buf, size_t n)
{
    enum ptx_type type = PT_NONE, t;
    size_t k = 0;
    buf[0] = 0;
    for (int i = 0; i < p->nmods; i++) {
        if ((t = ptx_type_of(p->mods[i])) != PT_NONE && type == PT_NONE)
            type = t;
        else if (k + 1 < n)
            k += (size_t)snprintf(buf + k, n - k, "%s%s", k ? "." : "", p->mods[i]);
    }
    return type;
}

static int decode_int(struct decoder *d, const struct ptx_insn *p, struct insn *in)
{
    char mods[64];
    int rc = decode_carry(d, p, in);
    if (rc <= 0)
        return rc;
    enum ptx_type t = join_mods(p, mods, sizeof mods);
    for (size_t i = 0; i < ARRAY_LEN(forms); i++) {
        const struct form *f = &forms[i];
        if (f->type != t || !str_eq(f->op, p->op) || !str_eq(f->mods, mods))
            continue;
        if (p->nops != f->nops)
            return dec_bad(d, p, "%u operands are expected", f->nops);
        in->exec = f->fn;
        in->kind = CK_INT;
        bool wide = str_eq(mods, "wide");
        if (dec_dst(d, p, &p->ops[0], ptx_type_bits(wide ? f->last : t), &in->o[0]) < 0)
            return -1;
        for (uint32_t k = 1; k < p->nops; k++) {
            enum ptx_type kt = t;
            if (f->last != PT_NONE && k == (uint32_t)p->nops - 1 && (!wide || k == 3))
                kt = f->last;
            if (dec_src(d, p, &p->ops[k], kt, &in->o[k]) < 0)
                return -1;
        }
        return 0;
    }
    return 1;
}

const struct decode_entry decode_int_ops[] = {
    {"add", decode_int},   {"sub", decode_int},   {"mul", decode_int}, {"mad", decode_int},
    {"mul24", decode_int}, {"mad24", decode_int}, {"div", decode_int}, {"rem", decode_int},
    {"min", decode_int},   {"max", decode_int},   {"abs", decode_int}, {"neg", decode_int},
    {"sad", decode_int},   {"shl", decode_int},   {"shr", decode_int}, {"addc", decode_int},
    {"subc", decode_int},  {"madc", decode_int},  {NULL, NULL}};
