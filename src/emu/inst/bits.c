/*
 * bits.c - counts, moves and combines bits (popc, bfe, shf, prmt, lop3 and others), and computes
 * dot products of bytes (dp4a, dp2a).
 */
#include "base/util.h"
#include "emu/core/bitops.h"
#include "emu/core/lanes.h"
#include "emu/core/machine.h"
#include "emu/core/numeric.h"

UNARY(popc_32, uint32_t, uint32_t, __builtin_popcount(a))
UNARY(popc_64, uint32_t, uint64_t, __builtin_popcountll(a))
UNARY(clz_32, uint32_t, uint32_t, a ? __builtin_clz(a) : 32)
UNARY(clz_64, uint32_t, uint64_t, a ? __builtin_clzll(a) : 64)

static inline uint32_t rev32(uint32_t v)
{
    v = __builtin_bswap32(v);
    v = (v >> 4 & 0x0f0f0f0fu) | (v & 0x0f0f0f0fu) << 4;
    v = (v >> 2 & 0x33333333u) | (v & 0x33333333u) << 2;
    return (v >> 1 & 0x55555555u) | (v & 0x55555555u) << 1;
}
UNARY(brev_32, uint32_t, uint32_t, rev32(a))
UNARY(brev_64, uint64_t, uint64_t, (uint64_t)rev32((uint32_t)a) << 32 | rev32((uint32_t)(a >> 32)))

/* Returns the position of the highest bit that differs from the sign (if `sg` is false: of the
 * highest 1 bit), or -1 if there is none. With `amt` (.shiftamt), returns by how much to shift left
 * to bring that bit to the top. */
static inline uint32_t find32(uint32_t a, bool sg, bool amt)
{
    if (sg && (int32_t)a < 0)
        a = ~a;
    return a ? (amt ? (uint32_t)__builtin_clz(a) : 31u - (uint32_t)__builtin_clz(a)) : FULL;
}
static inline uint32_t find64(uint64_t a, bool sg, bool amt)
{
    if (sg && (int64_t)a < 0)
        a = ~a;
    return a ? (amt ? (uint32_t)__builtin_clzll(a) : 63u - (uint32_t)__builtin_clzll(a)) : FULL;
}
UNARY(bfind_u32, uint32_t, uint32_t, find32(a, false, false))
UNARY(bfind_s32, uint32_t, uint32_t, find32(a, true, false))
UNARY(bfind_u64, uint32_t, uint64_t, find64(a, false, false))
UNARY(bfind_s64, uint32_t, uint64_t, find64(a, true, false))
UNARY(bfindamt_u32, uint32_t, uint32_t, find32(a, false, true))
UNARY(bfindamt_s32, uint32_t, uint32_t, find32(a, true, true))
UNARY(bfindamt_u64, uint32_t, uint64_t, find64(a, false, true))
UNARY(bfindamt_s64, uint32_t, uint64_t, find64(a, true, true))

TERNARY(bfe_u32, uint32_t, uint32_t, uint32_t, uint32_t, bfe(a, b, c, 32, false))
TERNARY(bfe_s32, uint32_t, uint32_t, uint32_t, uint32_t, bfe(a, b, c, 32, true))
TERNARY(bfe_u64, uint64_t, uint64_t, uint32_t, uint32_t, bfe(a, b, c, 64, false))
TERNARY(bfe_s64, uint64_t, uint64_t, uint32_t, uint32_t, bfe(a, b, c, 64, true))

#define BFI(bits, T)                                                       \
    static int bfi_##bits(struct warp *w, const struct insn *in)           \
    {                                                                      \
        T *d = opnd(w, in->o[0]);                                          \
        const T *a = opnd(w, in->o[1]), *b = opnd(w, in->o[2]);            \
        const uint32_t *pos = opnd(w, in->o[3]), *len = opnd(w, in->o[4]); \
        LANES(w, i, d[i] = (T)bfi(a[i], b[i], pos[i], len[i], bits));      \
    }
BFI(32, uint32_t)
BFI(64, uint64_t)

static inline uint32_t bmsk_clamp(uint32_t pos, uint32_t len)
{
    if (pos > 31)
        return 0;
    uint32_t m = len > 31 ? FULL : (1u << len) - 1;
    return m << pos;
}
BINARY(bmsk_clamp_32, uint32_t, uint32_t, uint32_t, bmsk_clamp(a, b))
BINARY(bmsk_wrap_32, uint32_t, uint32_t, uint32_t, bmsk_clamp(a & 31, b & 31))

static inline uint32_t szext(uint32_t a, uint32_t n, bool sg)
{
    if (n == 0)
        return 0;
    if (n > 31)
        return a;
    return sg ? (uint32_t)((int32_t)(a << (32 - n)) >> (32 - n)) : a & ((1u << n) - 1);
}
BINARY(szext_clamp_u32, uint32_t, uint32_t, uint32_t, szext(a, b, false))
BINARY(szext_clamp_s32, uint32_t, uint32_t, uint32_t, szext(a, b, true))
BINARY(szext_wrap_u32, uint32_t, uint32_t, uint32_t, szext(a, b & 31, false))
BINARY(szext_wrap_s32, uint32_t, uint32_t, uint32_t, szext(a, b & 31, true))

static inline uint32_t fns(uint32_t mask, uint32_t base, int32_t off)
{
    base &= 31;
    if (off == 0)
        return mask >> base & 1 ? base : FULL;
    int32_t step = off > 0 ? 1 : -1;
    int64_t left = off > 0 ? off : -(int64_t)off;
    for (int32_t p = (int32_t)base; p >= 0 && p < 32; p += step)
        if ((mask >> p & 1) && --left == 0)
            return (uint32_t)p;
    return FULL;
}
TERNARY(fns_32, uint32_t, uint32_t, uint32_t, int32_t, fns(a, b, c))

/* ---- shf ------------------------------------------------------------------------------------ */

TERNARY(shf_l_wrap, uint32_t, uint32_t, uint32_t, uint32_t, shf_l(a, b, c & 31))
TERNARY(shf_l_clamp, uint32_t, uint32_t, uint32_t, uint32_t, shf_l(a, b, MIN(c, 32u)))
TERNARY(shf_r_wrap, uint32_t, uint32_t, uint32_t, uint32_t, shf_r(a, b, c & 31))
TERNARY(shf_r_clamp, uint32_t, uint32_t, uint32_t, uint32_t, shf_r(a, b, MIN(c, 32u)))

/* ---- prmt ----------------------------------------------------------------------------------- */

static int exec_prmt(struct warp *w, const struct insn *in)
{
    uint32_t *d = opnd(w, in->o[0]);
    const uint32_t *a = opnd(w, in->o[1]), *b = opnd(w, in->o[2]), *c = opnd(w, in->o[3]);
    const uint8_t mode = in->sub[0];
    LANES(w, i, d[i] = permute(a[i], b[i], c[i], mode));
}

static int decode_prmt(struct decoder *d, const struct ptx_insn *p, struct insn *in)
{
    static const char *const modes[] = {"", "f4e", "b4e", "rc8", "ecl", "ecr", "rc16"};
    if (ptx_nth_type(p, 0) != PT_B32 || p->nops != 4 || p->nmods > 2)
        return dec_bad(d, p, "wrong operands or modifiers");
    in->exec = exec_prmt;
    in->kind = CK_INT;
    if (p->nmods == 2) {
        for (size_t i = 1; i < ARRAY_LEN(modes); i++)
            if (str_eq(p->mods[1], modes[i]))
                in->sub[0] = (uint8_t)i;
        if (!in->sub[0])
            return dec_unsupported(d, p);
    }
    return dec_operands(d, p, in, PT_B32, PT_B32);
}

/* ---- lop3 ----------------------------------------------------------------------------------- */

static int exec_lop3(struct warp *w, const struct insn *in)
{
    uint32_t *d = opnd(w, in->o[0]), lut = (uint32_t)in->imm;
    const uint32_t *a = opnd(w, in->o[1]), *b = opnd(w, in->o[2]), *c = opnd(w, in->o[3]);
    LANES(w, i, d[i] = lut3(a[i], b[i], c[i], lut));
}

/* lop3.or.b32 (or .and) d|p, a, b, c, lut, q sets p = (d != 0) or/and q. */
static int exec_lop3_pred(struct warp *w, const struct insn *in)
{
    uint32_t *d = opnd(w, in->o[0]), lut = (uint32_t)in->imm, bits = 0;
    const uint32_t *a = opnd(w, in->o[1]), *b = opnd(w, in->o[2]), *c = opnd(w, in->o[3]);
    FOR_LANES(i, w)
    {
        uint32_t v = lut3(a[i], b[i], c[i], lut);
        d[i] = v;
        bits |= (uint32_t)(v != 0) << i;
    }
    uint32_t q = opnd_pred(w, in->v[1]) ^ (in->sub[1] ? FULL : 0);
    set_pred(w, in->v[0], in->sub[0] ? bits & q : bits | q);
    return EX_NEXT;
}

static int decode_lop3(struct decoder *d, const struct ptx_insn *p, struct insn *in)
{
    bool has_pred = ptx_has(p, "or") || ptx_has(p, "and");
    if (ptx_last_type(p) != PT_B32 || p->nops != (has_pred ? 6 : 5) || p->ops[4].kind != PO_IMM)
        return dec_bad(d, p, "wrong operands or modifiers");
    in->kind = CK_INT;
    in->imm = p->ops[4].imm & 0xff;
    in->exec = has_pred ? exec_lop3_pred : exec_lop3;
    if (dec_dst(d, p, &p->ops[0], 32, &in->o[0]) < 0)
        return -1;
    for (uint32_t i = 1; i < 4; i++)
        if (dec_src(d, p, &p->ops[i], PT_B32, &in->o[i]) < 0)
            return -1;
    if (has_pred) {
        uint32_t codes[2];
        bool neg = false;
        if (!p->ops[0].pair || dec_dst(d, p, p->ops[0].pair, 1, &codes[0]) < 0 ||
            dec_pred(d, p, &p->ops[5], &codes[1], &neg) < 0)
            return dec_bad(d, p, "predicates are expected");
        in->sub[0] = ptx_has(p, "and");
        in->sub[1] = neg;
        dec_set_v(d, in, codes, 2);
    }
    return 0;
}

/* ---- dp4a, dp2a ----------------------------------------------------------------------------- */

static inline int32_t part(uint32_t v, uint32_t k, uint32_t bits, bool sg)
{
    uint32_t e = v >> (k * bits);
    if (bits == 8)
        return sg ? (int8_t)e : (uint8_t)e;
    return sg ? (int16_t)e : (int32_t)(uint16_t)e;
}

static int exec_dp(struct warp *w, const struct insn *in)
{
    uint32_t *d = opnd(w, in->o[0]);
    const uint32_t *a = opnd(w, in->o[1]), *b = opnd(w, in->o[2]), *c = opnd(w, in->o[3]);
    bool sa = in->sub[0], sb = in->sub[1], two = in->sub[2];
    uint32_t base = in->sub[3] ? 2 : 0;
    FOR_LANES(i, w)
    {
        uint32_t s = c[i];
        for (uint32_t k = 0; k < (two ? 2u : 4u); k++) {
            int64_t x = two ? part(a[i], k, 16, sa) : part(a[i], k, 8, sa);
            int64_t y = part(b[i], base + k, 8, sb);
            s += (uint32_t)(x * y);
        }
        d[i] = s;
    }
    return EX_NEXT;
}

static int decode_dp(struct decoder *d, const struct ptx_insn *p, struct insn *in)
{
    enum ptx_type a = ptx_nth_type(p, 0), b = ptx_nth_type(p, 1);
    if ((a != PT_U32 && a != PT_S32) || (b != PT_U32 && b != PT_S32) || p->nops != 4)
        return dec_bad(d, p, "wrong operands or modifiers");
    in->exec = exec_dp;
    in->kind = CK_INT;
    in->sub[0] = a == PT_S32;
    in->sub[1] = b == PT_S32;
    in->sub[2] = str_eq(p->op, "dp2a");
    in->sub[3] = ptx_has(p, "hi");
    return dec_operands(d, p, in, PT_B32, PT_B32);
}

/* ---- decoding ------------------------------------------------------------------------------- */

static const struct {
    const char *op, *mods; /* modifiers as written */
    exec_fn fn;
    enum ptx_type d, s[4];
    uint8_t n;
} forms[] = {
    {"popc", "b32", popc_32, PT_B32, {PT_B32}, 1},
    {"popc", "b64", popc_64, PT_B32, {PT_B64}, 1},
    {"clz", "b32", clz_32, PT_B32, {PT_B32}, 1},
    {"clz", "b64", clz_64, PT_B32, {PT_B64}, 1},
    {"brev", "b32", brev_32, PT_B32, {PT_B32}, 1},
    {"brev", "b64", brev_64, PT_B64, {PT_B64}, 1},
    {"bfind", "u32", bfind_u32, PT_B32, {PT_B32}, 1},
    {"bfind", "s32", bfind_s32, PT_B32, {PT_B32}, 1},
    {"bfind", "u64", bfind_u64, PT_B32, {PT_B64}, 1},
    {"bfind", "s64", bfind_s64, PT_B32, {PT_B64}, 1},
    {"bfind", "shiftamt.u32", bfindamt_u32, PT_B32, {PT_B32}, 1},
    {"bfind", "shiftamt.s32", bfindamt_s32, PT_B32, {PT_B32}, 1},
    {"bfind", "shiftamt.u64", bfindamt_u64, PT_B32, {PT_B64}, 1},
    {"bfind", "shiftamt.s64", bfindamt_s64, PT_B32, {PT_B64}, 1},
    {"bfe", "u32", bfe_u32, PT_B32, {PT_B32, PT_B32, PT_B32}, 3},
    {"bfe", "s32", bfe_s32, PT_B32, {PT_B32, PT_B32, PT_B32}, 3},
    {"bfe", "u64", bfe_u64, PT_B64, {PT_B64, PT_B32, PT_B32}, 3},
    {"bfe", "s64", bfe_s64, PT_B64, {PT_B64, PT_B32, PT_B32}, 3},
    {"bfi", "b32", bfi_32, PT_B32, {PT_B32, PT_B32, PT_B32, PT_B32}, 4},
    {"bfi", "b64", bfi_64, PT_B64, {PT_B64, PT_B64, PT_B32, PT_B32}, 4},
    {"bmsk", "clamp.b32", bmsk_clamp_32, PT_B32, {PT_B32, PT_B32}, 2},
    {"bmsk", "wrap.b32", bmsk_wrap_32, PT_B32, {PT_B32, PT_B32}, 2},
    {"szext", "clamp.u32", szext_clamp_u32, PT_B32, {PT_B32, PT_B32}, 2},
    {"szext", "clamp.s32", szext_clamp_s32, PT_B32, {PT_B32, PT_B32}, 2},
    {"szext", "wrap.u32", szext_wrap_u32, PT_B32, {PT_B32, PT_B32}, 2},
    {"szext", "wrap.s32", szext_wrap_s32, PT_B32, {PT_B32, PT_B32}, 2},
    {"fns", "b32", fns_32, PT_B32, {PT_B32, PT_B32, PT_B32}, 3},
    {"shf", "l.wrap.b32", shf_l_wrap, PT_B32, {PT_B32, PT_B32, PT_B32}, 3},
    {"shf", "l.clamp.b32", shf_l_clamp, PT_B32, {PT_B32, PT_B32, PT_B32}, 3},
    {"shf", "r.wrap.b32", shf_r_wrap, PT_B32, {PT_B32, PT_B32, PT_B32}, 3},
    {"shf", "r.clamp.b32", shf_r_clamp, PT_B32, {PT_B32, PT_B32, PT_B32}, 3},
};

static int decode_bits(struct decoder *d, const struct ptx_insn *p, struct insn *in)
{
    char mods[64] = "";
    size_t n = 0;
    for (int i = 0; i < p->nmods && n < sizeof mods; i++)
        n += (size_t)snprintf(mods + n, sizeof mods - n, "%s%s", i ? "." : "", p->mods[i]);
    for (size_t i = 0; i < ARRAY_LEN(forms); i++) {
        if (!str_eq(forms[i].op, p->op) || !str_eq(forms[i].mods, mods))
            continue;
        if (p->nops != forms[i].n + 1u)
            return dec_bad(d, p, "%u operands are expected", forms[i].n + 1u);
        in->exec = forms[i].fn;
        in->kind = CK_INT;
        if (dec_dst(d, p, &p->ops[0], ptx_type_bits(forms[i].d), &in->o[0]) < 0)
            return -1;
        for (uint32_t k = 0; k < forms[i].n; k++)
            if (dec_src(d, p, &p->ops[k + 1], forms[i].s[k], &in->o[k + 1]) < 0)
                return -1;
        return 0;
    }
    return dec_unsupported(d, p);
}

const struct decode_entry decode_bit_ops[] = {
    {"popc", decode_bits}, {"clz", decode_bits}, {"brev", decode_bits}, {"bfind", decode_bits},
    {"bfe", decode_bits},  {"bfi", decode_bits}, {"bmsk", decode_bits}, {"szext", decode_bits},
    {"fns", decode_bits},  {"shf", decode_bits}, {"prmt", decode_prmt}, {"lop3", decode_lop3},
    {"dp4a", decode_dp},   {"dp2a", decode_dp},  {NULL, NULL}};
