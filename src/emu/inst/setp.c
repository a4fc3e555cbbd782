/*
 * setp.c - executes the comparisons setp and set.
 *
 * How struct insn describes a comparison:
 *   o[0]        the destination
 *   o[1], o[2]  the operands
 *   o[3]        a predicate to combine with the result
 *   o[4]        the second destination: it gets the opposite comparison, combined in the same way
 *   sub[0]      how to combine (enum combine)
 *   sub[1]      whether the predicate is negated
 *   sub[2]      whether there is a second destination
 *   sub[3]      the kind of value that `set` writes (SET_...); SET_PRED in setp
 * Packed comparisons differ in o[3] and o[4]; see cmp_packed().
 */
#include "base/util.h"
#include "emu/core/lanes.h"
#include "emu/core/machine.h"
#include "emu/core/numeric.h"

enum combine { C_NONE, C_AND, C_OR, C_XOR };
enum { SET_PRED, SET_U32, SET_F32, SET_F16, SET_BF16, SET_U16, SET_F16X2, SET_BF16X2, SET_U16X2 };

static uint32_t combine(const struct warp *w, const struct insn *in, uint32_t bits)
{
    if (in->sub[0] == C_NONE)
        return bits;
    uint32_t c = opnd_pred(w, in->o[3]) ^ (in->sub[1] ? FULL : 0);
    return in->sub[0] == C_AND ? bits & c : in->sub[0] == C_OR ? bits | c : bits ^ c;
}

static int finish_setp(struct warp *w, const struct insn *in, uint32_t bits)
{
    uint32_t r = combine(w, in, bits);
    if (in->sub[3] == SET_PRED) {
        uint32_t q = in->sub[2] ? combine(w, in, ~bits) : 0;
        set_pred(w, in->o[0], r);
        if (in->sub[2])
            set_pred(w, in->o[4], q);
        return EX_NEXT;
    }
    if (in->sub[3] == SET_F16 || in->sub[3] == SET_BF16 || in->sub[3] == SET_U16) {
        uint16_t one = in->sub[3] == SET_F16 ? 0x3c00 : in->sub[3] == SET_BF16 ? 0x3f80 : 0xffff;
        uint16_t *d = opnd(w, in->o[0]);
        LANES(w, i, d[i] = r >> i & 1 ? one : 0);
    }
    uint32_t one = in->sub[3] == SET_F32 ? 0x3f800000u : FULL;
    uint32_t *d = opnd(w, in->o[0]);
    LANES(w, i, d[i] = r >> i & 1 ? one : 0);
}

/* Defines an exec function that compares operands a and b of C type A in each lane. The last
 * argument is the comparison, such as a < b. */
#define COMPARE(name, A, ...)                                     \
    static int name(struct warp *w, const struct insn *in)        \
    {                                                             \
        const A *pa = opnd(w, in->o[1]), *pb = opnd(w, in->o[2]); \
        uint32_t bits = 0;                                        \
        for (uint32_t i = 0; i < WARP; i++) {                     \
            const A a = pa[i], b = pb[i];                         \
            bits |= (uint32_t)(__VA_ARGS__) << i;                 \
        }                                                         \
        return finish_setp(w, in, bits);                          \
    }
#define INT_COMPARES(n, T)     \
    COMPARE(eq_##n, T, a == b) \
    COMPARE(ne_##n, T, a != b) \
    COMPARE(lt_##n, T, a < b)  \
    COMPARE(le_##n, T, a <= b) \
    COMPARE(gt_##n, T, a > b)  \
    COMPARE(ge_##n, T, a >= b)
INT_COMPARES(s16, int16_t)
INT_COMPARES(u16, uint16_t)
INT_COMPARES(s32, int32_t)
INT_COMPARES(u32, uint32_t)
INT_COMPARES(s64, int64_t)
INT_COMPARES(u64, uint64_t)

/* Floats have one function for each type, which switches on the comparison in->imm. FLOAT_COMPARE
 * reads the operands of lane i through the macros A_##F(i) and B_##F(i), which convert them: with
 * F = half, A_half(i) and B_half(i). */
enum cmp {
    CMP_EQ,
    CMP_NE,
    CMP_LT,
    CMP_LE,
    CMP_GT,
    CMP_GE,
    CMP_EQU,
    CMP_NEU,
    CMP_LTU,
    CMP_LEU,
    CMP_GTU,
    CMP_GEU,
    CMP_NUM,
    CMP_NAN,
    CMP_COUNT
};
#define FLOAT_BODY(bits, N, A, B)                                  \
    switch ((enum cmp)in->imm) {                                   \
    case CMP_EQ:                                                   \
        for (uint32_t i = 0; i < N; i++)                           \
            bits |= (uint32_t)(A(i) == B(i)) << i;                 \
        break;                                                     \
    case CMP_NE:                                                   \
        for (uint32_t i = 0; i < N; i++)                           \
            bits |= (uint32_t)(A(i) < B(i) || A(i) > B(i)) << i;   \
        break;                                                     \
    case CMP_LT:                                                   \
        for (uint32_t i = 0; i < N; i++)                           \
            bits |= (uint32_t)(A(i) < B(i)) << i;                  \
        break;                                                     \
    case CMP_LE:                                                   \
        for (uint32_t i = 0; i < N; i++)                           \
            bits |= (uint32_t)(A(i) <= B(i)) << i;                 \
        break;                                                     \
    case CMP_GT:                                                   \
        for (uint32_t i = 0; i < N; i++)                           \
            bits |= (uint32_t)(A(i) > B(i)) << i;                  \
        break;                                                     \
    case CMP_GE:                                                   \
        for (uint32_t i = 0; i < N; i++)                           \
            bits |= (uint32_t)(A(i) >= B(i)) << i;                 \
        break;                                                     \
    case CMP_EQU:                                                  \
        for (uint32_t i = 0; i < N; i++)                           \
            bits |= (uint32_t) !(A(i) < B(i) || A(i) > B(i)) << i; \
        break;                                                     \
    case CMP_NEU:                                                  \
        for (uint32_t i = 0; i < N; i++)                           \
            bits |= (uint32_t)(A(i) != B(i)) << i;                 \
        break;                                                     \
    case CMP_LTU:                                                  \
        for (uint32_t i = 0; i < N; i++)                           \
            bits |= (uint32_t) !(A(i) >= B(i)) << i;               \
        break;                                                     \
    case CMP_LEU:                                                  \
        for (uint32_t i = 0; i < N; i++)                           \
            bits |= (uint32_t) !(A(i) > B(i)) << i;                \
        break;                                                     \
    case CMP_GTU:                                                  \
        for (uint32_t i = 0; i < N; i++)                           \
            bits |= (uint32_t) !(A(i) <= B(i)) << i;               \
        break;                                                     \
    case CMP_GEU:                                                  \
        for (uint32_t i = 0; i < N; i++)                           \
            bits |= (uint32_t) !(A(i) < B(i)) << i;                \
        break;                                                     \
    case CMP_NUM:                                                  \
        for (uint32_t i = 0; i < N; i++)                           \
            bits |= (uint32_t)(A(i) == A(i) && B(i) == B(i)) << i; \
        break;                                                     \
    default:                                                       \
        for (uint32_t i = 0; i < N; i++)                           \
            bits |= (uint32_t)(A(i) != A(i) || B(i) != B(i)) << i; \
    }
#define FLOAT_COMPARE(name, T, F)                                 \
    static int name(struct warp *w, const struct insn *in)        \
    {                                                             \
        const T *pa = opnd(w, in->o[1]), *pb = opnd(w, in->o[2]); \
        uint32_t bits = 0;                                        \
        FLOAT_BODY(bits, WARP, A_##F, B_##F)                      \
        return finish_setp(w, in, bits);                          \
    }
#define A_plain(i) pa[i]
#define B_plain(i) pb[i]
#define A_ftz(i) ftz32(pa[i])
#define B_ftz(i) ftz32(pb[i])
#define A_half(i) f16_to_f32(pa[i])
#define B_half(i) f16_to_f32(pb[i])
#define A_halfz(i) f16_ftz(pa[i])
#define B_halfz(i) f16_ftz(pb[i])
#define A_brain(i) bf16_to_f32(pa[i])
#define B_brain(i) bf16_to_f32(pb[i])
static inline float f16_ftz(uint16_t h)
{
    return f16_to_f32((h & 0x7c00) ? h : h & 0x8000);
}
FLOAT_COMPARE(cmp_f32, float, plain)
FLOAT_COMPARE(cmp_f32_ftz, float, ftz)
FLOAT_COMPARE(cmp_f64, double, plain)
FLOAT_COMPARE(cmp_f16, uint16_t, half)
FLOAT_COMPARE(cmp_f16_ftz, uint16_t, halfz)
FLOAT_COMPARE(cmp_bf16, uint16_t, brain)

static float half_of(const struct insn *in, uint32_t v, int hi)
{
    uint16_t h = (uint16_t)(hi ? v >> 16 : v);
    if (in->o[3] & 0x80000000u)
        return bf16_to_f32(h);
    return in->o[3] & 0x40000000u ? f16_ftz(h) : f16_to_f32(h);
}

static bool compare1(enum cmp c, float a, float b)
{
    switch (c) {
    case CMP_EQ:
        return a == b;
    case CMP_NE:
        return a < b || a > b;
    case CMP_LT:
        return a < b;
    case CMP_LE:
        return a <= b;
    case CMP_GT:
        return a > b;
    case CMP_GE:
        return a >= b;
    case CMP_EQU:
        return !(a < b || a > b);
    case CMP_NEU:
        return a != b;
    case CMP_LTU:
        return !(a >= b);
    case CMP_LEU:
        return !(a > b);
    case CMP_GTU:
        return !(a <= b);
    case CMP_GEU:
        return !(a < b);
    case CMP_NUM:
        return a == a && b == b;
    default:
        return a != a || b != b;
    }
}

/* Executes a packed comparison, which compares the two halves of each lane. In setp, o[0] gets the
 * result of the low half and o[4] that of the high half. In set, o[0] gets both. v[0] is the
 * predicate to combine with the result. o[3] holds flags: 0x80000000 for bf16, 0x40000000 for
 * ftz. */
static int cmp_packed(struct warp *w, const struct insn *in)
{
    const uint32_t *pa = opnd(w, in->o[1]), *pb = opnd(w, in->o[2]);
    uint32_t lo = 0, hi = 0, c = 0;
    if (in->sub[0] != C_NONE)
        c = opnd_pred(w, in->v[0]) ^ (in->sub[1] ? FULL : 0);
    FOR_LANES(i, w)
    {
        lo |= (uint32_t)compare1((enum cmp)in->imm, half_of(in, pa[i], 0), half_of(in, pb[i], 0))
              << i;
        hi |= (uint32_t)compare1((enum cmp)in->imm, half_of(in, pa[i], 1), half_of(in, pb[i], 1))
              << i;
    }
    if (in->sub[0] != C_NONE) {
        lo = in->sub[0] == C_AND ? lo & c : in->sub[0] == C_OR ? lo | c : lo ^ c;
        hi = in->sub[0] == C_AND ? hi & c : in->sub[0] == C_OR ? hi | c : hi ^ c;
    }
    if (in->sub[3] == SET_PRED) {
        set_pred(w, in->o[0], lo);
        if (in->sub[2])
            set_pred(w, in->o[4], hi);
        return EX_NEXT;
    }
    uint32_t one = in->sub[3] == SET_F16X2 ? 0x3c00 : in->sub[3] == SET_BF16X2 ? 0x3f80 : 0xffff;
    uint32_t *d = opnd(w, in->o[0]);
    FOR_LANES(i, w)
    d[i] = (lo >> i & 1 ? one : 0) | (hi >> i & 1 ? one << 16 : 0);
    return EX_NEXT;
}

/* ---- decoding ------------------------------------------------------------------------------- */

static const char *const cmp_names[] = {"eq",  "ne",  "lt",  "le",  "gt",  "ge",  "equ",
                                        "neu", "ltu", "leu", "gtu", "geu", "num", "nan"};

static exec_fn int_compare(enum ptx_type t, int c)
{
    static const exec_fn f[6][6] = {{eq_s16, ne_s16, lt_s16, le_s16, gt_s16, ge_s16},
                                    {eq_u16, ne_u16, lt_u16, le_u16, gt_u16, ge_u16},
                                    {eq_s32, ne_s32, lt_s32, le_s32, gt_s32, ge_s32},
                                    {eq_u32, ne_u32, lt_u32, le_u32, gt_u32, ge_u32},
                                    {eq_s64, ne_s64, lt_s64, le_s64, gt_s64, ge_s64},
                                    {eq_u64, ne_u64, lt_u64, le_u64, gt_u64, ge_u64}};
    uint32_t bits = ptx_type_bits(t);
    int row = (bits == 16 ? 0 : bits == 32 ? 2 : 4) + (ptx_is_signed(t) ? 0 : 1);
    return c >= 0 && c < 6 ? f[row][c] : NULL;
}

/* Reads the modifiers. Sets *cmp to the comparison, in->sub[0] to the combination, and *ftz to
 * whether .ftz is among them. Returns -1 after an error. */
static int parse_mods(struct decoder *d, const struct ptx_insn *p, struct insn *in, int *cmp,
                      bool *ftz)
{
    *cmp = -1;
    *ftz = false;
    for (int i = 0; i < p->nmods; i++) {
        const char *m = p->mods[i];
        int found = -1;
        for (int c = 0; c < CMP_COUNT; c++)
            if (str_eq(m, cmp_names[c]))
                found = c;
        if (i == 0 && (str_eq(m, "lo") || str_eq(m, "ls") || str_eq(m, "hi") || str_eq(m, "hs")))
            found = str_eq(m, "lo")   ? CMP_LT
                    : str_eq(m, "ls") ? CMP_LE
                    : str_eq(m, "hi") ? CMP_GT
                                      : CMP_GE;
        if (i == 0 && found >= 0)
            *cmp = found;
        else if (str_eq(m, "and"))
            in->sub[0] = C_AND;
        else if (str_eq(m, "or"))
            in->sub[0] = C_OR;
        else if (str_eq(m, "xor"))
            in->sub[0] = C_XOR;
        else if (str_eq(m, "ftz"))
            *ftz = true;
        else if (ptx_type_of(m) == PT_NONE)
            return dec_unsupported(d, p);
    }
    return *cmp < 0 ? dec_bad(d, p, "a comparison is expected") : 0;
}

static exec_fn compare_for(enum ptx_type t, int cmp, bool ftz)
{
    switch (t) {
    case PT_F32:
        return ftz ? cmp_f32_ftz : cmp_f32;
    case PT_F64:
        return cmp_f64;
    case PT_F16:
        return ftz ? cmp_f16_ftz : cmp_f16;
    case PT_BF16:
        return cmp_bf16;
    case PT_F16X2:
    case PT_BF16X2:
        return cmp_packed;
    case PT_B16:
    case PT_B32:
    case PT_B64:
        return cmp <= CMP_NE ? int_compare(t, cmp) : NULL;
    case PT_U16:
    case PT_U32:
    case PT_U64:
    case PT_S16:
    case PT_S32:
    case PT_S64:
        return int_compare(t, cmp);
    default:
        return NULL;
    }
}

static int decode_compare(struct decoder *d, const struct ptx_insn *p, struct insn *in,
                          enum ptx_type st)
{
    int cmp;
    bool ftz, neg = false;
    if (parse_mods(d, p, in, &cmp, &ftz) < 0)
        return -1;
    in->exec = compare_for(st, cmp, ftz);
    if (!in->exec)
        return dec_unsupported(d, p);
    in->imm = cmp;
    uint32_t want = in->sub[0] == C_NONE ? 3 : 4, c = 0;
    if (p->nops != want)
        return dec_bad(d, p, "%u operands are expected", want);
    if (dec_src(d, p, &p->ops[1], st, &in->o[1]) < 0 ||
        dec_src(d, p, &p->ops[2], st, &in->o[2]) < 0)
        return -1;
    if (want == 4 && dec_pred(d, p, &p->ops[3], &c, &neg) < 0)
        return -1;
    in->sub[1] = neg;
    in->o[3] = c;
    if (in->exec == cmp_packed) {
        dec_set_v(d, in, &c, 1);
        in->o[3] = (st == PT_BF16X2 ? 0x80000000u : 0) | (ftz ? 0x40000000u : 0);
    }
    return 0;
}

int decode_setp(struct decoder *d, const struct ptx_insn *p, struct insn *in)
{
    in->kind = CK_PRED;
    if (p->nops < 3)
        return dec_bad(d, p, "operands are missing");
    if (decode_compare(d, p, in, ptx_last_type(p)) < 0)
        return -1;
    if (dec_dst(d, p, &p->ops[0], 1, &in->o[0]) < 0)
        return -1;
    in->sub[2] = p->ops[0].pair != NULL;
    return in->sub[2] ? dec_dst(d, p, p->ops[0].pair, 1, &in->o[4]) : 0;
}

int decode_set(struct decoder *d, const struct ptx_insn *p, struct insn *in)
{
    enum ptx_type dt = ptx_nth_type(p, 0), st = ptx_nth_type(p, 1);
    in->kind = CK_PRED;
    if (p->nops < 3 || st == PT_NONE)
        return dec_bad(d, p, "two types are expected");
    if (decode_compare(d, p, in, st) < 0)
        return -1;
    bool packed = in->exec == cmp_packed;
    switch (dt) {
    case PT_U32:
    case PT_S32:
        in->sub[3] = packed ? SET_U16X2 : SET_U32;
        break;
    case PT_F32:
        in->sub[3] = SET_F32;
        break;
    case PT_F16:
        in->sub[3] = SET_F16;
        break;
    case PT_BF16:
        in->sub[3] = SET_BF16;
        break;
    case PT_U16:
    case PT_S16:
        in->sub[3] = SET_U16;
        break;
    case PT_F16X2:
        in->sub[3] = SET_F16X2;
        break;
    case PT_BF16X2:
        in->sub[3] = SET_BF16X2;
        break;
    default:
        return dec_unsupported(d, p);
    }
    if (packed != (in->sub[3] >= SET_F16X2))
        return dec_unsupported(d, p);
    return dec_dst(d, p, &p->ops[0], ptx_type_bits(dt), &in->o[0]);
}
