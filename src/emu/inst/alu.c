/*
 * alu.c - executes moves, logic and selection: mov, and, or, xor, not, cnot, selp, slct.
 */
#include "base/util.h"
#include "emu/core/lanes.h"
#include "emu/core/machine.h"
#include "emu/core/numeric.h"

/* ---- mov ------------------------------------------------------------------------------------ */

UNARY(mov_16, uint16_t, uint16_t, a)
UNARY(mov_32, uint32_t, uint32_t, a)
UNARY(mov_64, uint64_t, uint64_t, a)
UNARY(mov_128, u128, u128, a)

static int mov_pred(struct warp *w, const struct insn *in)
{
    set_pred(w, in->o[0], opnd_pred(w, in->o[1]) ^ (in->sub[0] ? FULL : 0));
    return EX_NEXT;
}

/* Packs several registers into one; mov_unpack does the reverse. */
static int mov_pack(struct warp *w, const struct insn *in)
{
    uint32_t part = in->sub[0], whole = in->sub[1];
    FOR_LANES(i, w)
    {
        u128 v = 0;
        for (uint32_t k = 0; k < in->nv; k++) {
            uint64_t e = 0;
            memcpy(&e, (const char *)opnd(w, in->v[k]) + i * MAX(part / 8, 2u), MAX(part / 8, 2u));
            if (part == 8)
                e &= 0xff;
            v |= (u128)e << (k * part);
        }
        memcpy((char *)opnd(w, in->o[0]) + i * (whole / 8), &v, whole / 8);
    }
    return EX_NEXT;
}

static int mov_unpack(struct warp *w, const struct insn *in)
{
    uint32_t part = in->sub[0], whole = in->sub[1];
    FOR_LANES(i, w)
    {
        u128 v = 0;
        memcpy(&v, (const char *)opnd(w, in->o[1]) + i * (whole / 8), whole / 8);
        for (uint32_t k = 0; k < in->nv; k++) {
            uint64_t e = (uint64_t)(v >> (k * part));
            if (part == 8)
                e &= 0xff;
            memcpy((char *)opnd(w, in->v[k]) + i * MAX(part / 8, 2u), &e, MAX(part / 8, 2u));
        }
    }
    return EX_NEXT;
}

static int mov_pack_2x16(struct warp *w, const struct insn *in)
{
    uint32_t *d = opnd(w, in->o[0]);
    const uint16_t *lo = opnd(w, in->v[0]), *hi = opnd(w, in->v[1]);
    LANES(w, i, d[i] = lo[i] | (uint32_t)hi[i] << 16);
}

static int mov_unpack_2x16(struct warp *w, const struct insn *in)
{
    uint16_t *lo = opnd(w, in->v[0]), *hi = opnd(w, in->v[1]);
    const uint32_t *s = opnd(w, in->o[1]);
    LANES(w, i, uint32_t v = s[i]; lo[i] = (uint16_t)v; hi[i] = (uint16_t)(v >> 16));
}

static int mov_pack_2x32(struct warp *w, const struct insn *in)
{
    uint64_t *d = opnd(w, in->o[0]);
    const uint32_t *lo = opnd(w, in->v[0]), *hi = opnd(w, in->v[1]);
    LANES(w, i, d[i] = lo[i] | (uint64_t)hi[i] << 32);
}

static int mov_unpack_2x32(struct warp *w, const struct insn *in)
{
    uint32_t *lo = opnd(w, in->v[0]), *hi = opnd(w, in->v[1]);
    const uint64_t *s = opnd(w, in->o[1]);
    LANES(w, i, uint64_t v = s[i]; lo[i] = (uint32_t)v; hi[i] = (uint32_t)(v >> 32));
}

/* Moves the address of a .local variable to a register. The address depends on the frame. */
static int mov_local(struct warp *w, const struct insn *in)
{
    uint64_t v = w->frame->local_base + (uint64_t)in->imm;
    if (in->sub[0] == 64) {
        uint64_t *d = opnd(w, in->o[0]);
        LANES(w, i, d[i] = v);
    }
    uint32_t *d = opnd(w, in->o[0]);
    LANES(w, i, d[i] = (uint32_t)v);
}

/* Special registers whose value we compute when a kernel reads them. */
enum { MOV_CLOCK, MOV_CLOCK_HI, MOV_TIMER, MOV_TIMER_HI, MOV_GRIDID, MOV_WS_HI, MOV_WS_LO };

static int mov_dynamic(struct warp *w, const struct insn *in)
{
    /* The time is a function of the work done so far. With the host's clock, a kernel that reads
     * the time would not do the same in every run. */
    uint64_t v = w->launch->emu->clock + w->steps * 4 + w->block->steps;
    if (in->sub[1] == MOV_TIMER || in->sub[1] == MOV_TIMER_HI)
        v += UINT64_C(1) << 60;
    if (in->sub[1] == MOV_GRIDID)
        v = w->launch->emu->launches;
    if (in->sub[1] == MOV_WS_HI || in->sub[1] == MOV_WS_LO)
        v = w->launch->grid_ws; /* address of a cooperative grid's barrier */
    if (in->sub[1] == MOV_CLOCK_HI || in->sub[1] == MOV_TIMER_HI || in->sub[1] == MOV_WS_HI)
        v >>= 32;
    if (in->sub[0] == 64) {
        uint64_t *d = opnd(w, in->o[0]);
        LANES(w, i, d[i] = v);
    }
    uint32_t *d = opnd(w, in->o[0]);
    LANES(w, i, d[i] = (uint32_t)v);
}

static int decode_dynamic(struct decoder *d, const struct ptx_insn *p, struct insn *in,
                          uint32_t bits)
{
    static const struct {
        const char *name;
        uint8_t which;
    } t[] = {{"%clock", MOV_CLOCK},          {"%clock_hi", MOV_CLOCK_HI},
             {"%clock64", MOV_CLOCK},        {"%globaltimer", MOV_TIMER},
             {"%globaltimer_lo", MOV_TIMER}, {"%globaltimer_hi", MOV_TIMER_HI},
             {"%gridid", MOV_GRIDID},        {"%envreg1", MOV_WS_HI},
             {"%envreg2", MOV_WS_LO}};
    for (size_t i = 0; i < ARRAY_LEN(t); i++)
        if (str_eq(p->ops[1].name, t[i].name)) {
            in->exec = mov_dynamic;
            in->sub[0] = (uint8_t)bits;
            in->sub[1] = t[i].which;
            return dec_dst(d, p, &p->ops[0], bits, &in->o[0]);
        }
    return 1;
}

static int decode_mov_vector(struct decoder *d, const struct ptx_insn *p, struct insn *in,
                             uint32_t bits)
{
    bool pack = p->ops[1].kind == PO_VEC;
    const struct ptx_opnd *vec = &p->ops[pack ? 1 : 0], *one = &p->ops[pack ? 0 : 1];
    if (vec->kind != PO_VEC || vec->n < 2 || bits % vec->n || bits / vec->n < 8)
        return dec_bad(d, p,
                       "a vector must split the type into two or more equal parts of at "
                       "least 8 bits");
    uint32_t part = bits / vec->n, codes[16], n;
    if (dec_vec(d, p, vec, MAX(part, 16u), !pack, codes, 16, &n) < 0)
        return -1;
    if ((pack ? dec_dst(d, p, one, bits, &in->o[0])
              : dec_src(d, p, one,
                        bits == 16   ? PT_B16
                        : bits == 32 ? PT_B32
                        : bits == 64 ? PT_B64
                                     : PT_B128,
                        &in->o[1])) < 0)
        return -1;
    dec_set_v(d, in, codes, n);
    in->sub[0] = (uint8_t)part;
    in->sub[1] = (uint8_t)bits;
    if (part == 16 && n == 2)
        in->exec = pack ? mov_pack_2x16 : mov_unpack_2x16;
    else if (part == 32 && n == 2)
        in->exec = pack ? mov_pack_2x32 : mov_unpack_2x32;
    else
        in->exec = pack ? mov_pack : mov_unpack;
    return 0;
}

static exec_fn mov_for(uint32_t bits)
{
    return bits == 16 ? mov_16 : bits == 32 ? mov_32 : bits == 64 ? mov_64 : mov_128;
}

static int decode_mov(struct decoder *d, const struct ptx_insn *p, struct insn *in)
{
    enum ptx_type t = ptx_last_type(p);
    if (p->nmods != 1 || t == PT_NONE || p->nops != 2)
        return dec_bad(d, p, "one type and two operands are expected");
    uint32_t bits = ptx_type_bits(t);
    in->kind = CK_MOVE;
    if (bits == 1) {
        bool neg = false;
        in->exec = mov_pred;
        if (dec_dst(d, p, &p->ops[0], 1, &in->o[0]) < 0 ||
            dec_pred(d, p, &p->ops[1], &in->o[1], &neg) < 0)
            return -1;
        in->sub[0] = neg;
        return 0;
    }
    if (bits != 16 && bits != 32 && bits != 64 && bits != 128)
        return dec_unsupported(d, p);
    if (p->ops[0].kind == PO_VEC || p->ops[1].kind == PO_VEC)
        return decode_mov_vector(d, p, in, bits);
    if (p->ops[1].kind == PO_SPEC) {
        int rc = decode_dynamic(d, p, in, bits);
        if (rc <= 0)
            return rc;
        if (bits == 64 || bits == 16) { /* only a 32-bit mov can read these registers */
            if (str_starts(p->ops[1].name, "%envreg") || str_starts(p->ops[1].name, "%pm"))
                return dec_unsupported(d, p);
        }
    }
    if (p->ops[1].kind == PO_SYM && p->ops[1].var->space == SP_LOCAL) {
        in->exec = mov_local;
        in->sub[0] = (uint8_t)bits;
        in->imm = (int64_t)p->ops[1].var->addr + p->ops[1].imm;
        return dec_dst(d, p, &p->ops[0], bits, &in->o[0]);
    }
    in->exec = mov_for(bits);
    if (dec_dst(d, p, &p->ops[0], bits, &in->o[0]) < 0)
        return -1;
    return dec_src(d, p, &p->ops[1], t, &in->o[1]);
}

/* ---- logic ---------------------------------------------------------------------------------- */

#define LOGIC(op, expr)                                 \
    BINARY(op##_16, uint16_t, uint16_t, uint16_t, expr) \
    BINARY(op##_32, uint32_t, uint32_t, uint32_t, expr) \
    BINARY(op##_64, uint64_t, uint64_t, uint64_t, expr)
LOGIC(and, a &b)
LOGIC(or, a | b)
LOGIC(xor, a ^ b)
UNARY(not_16, uint16_t, uint16_t, ~a)
UNARY(not_32, uint32_t, uint32_t, ~a)
UNARY(not_64, uint64_t, uint64_t, ~a)
UNARY(cnot_16, uint16_t, uint16_t, a == 0)
UNARY(cnot_32, uint32_t, uint32_t, a == 0)
UNARY(cnot_64, uint64_t, uint64_t, a == 0)

enum { L_AND, L_OR, L_XOR, L_NOT };

static int logic_pred(struct warp *w, const struct insn *in)
{
    uint32_t a = opnd_pred(w, in->o[1]) ^ (in->sub[1] ? FULL : 0);
    uint32_t b = in->sub[0] == L_NOT ? 0 : opnd_pred(w, in->o[2]) ^ (in->sub[2] ? FULL : 0);
    set_pred(w, in->o[0],
             in->sub[0] == L_AND   ? a & b
             : in->sub[0] == L_OR  ? a | b
             : in->sub[0] == L_XOR ? a ^ b
                                   : ~a);
    return EX_NEXT;
}

static int decode_logic(struct decoder *d, const struct ptx_insn *p, struct insn *in)
{
    static const struct {
        const char *op;
        exec_fn f16, f32, f64;
        uint8_t nops, pred;
    } t[] = {{"and", and_16, and_32, and_64, 3, L_AND},
             {"or", or_16, or_32, or_64, 3, L_OR},
             {"xor", xor_16, xor_32, xor_64, 3, L_XOR},
             {"not", not_16, not_32, not_64, 2, L_NOT},
             {"cnot", cnot_16, cnot_32, cnot_64, 2, 255}};
    enum ptx_type ty = ptx_last_type(p);
    uint32_t bits = ptx_type_bits(ty);
    for (size_t i = 0; i < ARRAY_LEN(t); i++) {
        if (!str_eq(p->op, t[i].op))
            continue;
        if (p->nmods != 1 || p->nops != t[i].nops)
            return dec_bad(d, p, "%u operands are expected", t[i].nops);
        if (bits == 1 && t[i].pred != 255) {
            bool na = false, nb = false;
            in->exec = logic_pred;
            in->kind = CK_PRED;
            in->sub[0] = t[i].pred;
            if (dec_dst(d, p, &p->ops[0], 1, &in->o[0]) < 0 ||
                dec_pred(d, p, &p->ops[1], &in->o[1], &na) < 0 ||
                (p->nops == 3 && dec_pred(d, p, &p->ops[2], &in->o[2], &nb) < 0))
                return -1;
            in->sub[1] = na;
            in->sub[2] = nb;
            return 0;
        }
        in->exec = bits == 16 ? t[i].f16 : bits == 32 ? t[i].f32 : bits == 64 ? t[i].f64 : NULL;
        in->kind = CK_INT;
        if (!in->exec)
            return dec_unsupported(d, p);
        return dec_operands(d, p, in, ty, ty);
    }
    return 1;
}

/* ---- selp, slct ----------------------------------------------------------------------------- */

#define SELP(bits, T)                                                  \
    static int selp_##bits(struct warp *w, const struct insn *in)      \
    {                                                                  \
        T *d = opnd(w, in->o[0]);                                      \
        const T *a = opnd(w, in->o[1]), *b = opnd(w, in->o[2]);        \
        uint32_t p = opnd_pred(w, in->o[3]) ^ (in->sub[0] ? FULL : 0); \
        LANES(w, i, d[i] = p >> i & 1 ? a[i] : b[i]);                  \
    }
SELP(16, uint16_t)
SELP(32, uint32_t)
SELP(64, uint64_t)

static int decode_selp(struct decoder *d, const struct ptx_insn *p, struct insn *in)
{
    enum ptx_type t = ptx_last_type(p);
    uint32_t bits = ptx_type_bits(t);
    bool neg = false;
    in->exec = bits == 16 ? selp_16 : bits == 32 ? selp_32 : bits == 64 ? selp_64 : NULL;
    in->kind = CK_MOVE;
    if (!in->exec || p->nmods != 1 || p->nops != 4)
        return dec_bad(d, p, "a type and four operands are expected");
    if (dec_dst(d, p, &p->ops[0], bits, &in->o[0]) < 0 ||
        dec_src(d, p, &p->ops[1], t, &in->o[1]) < 0 ||
        dec_src(d, p, &p->ops[2], t, &in->o[2]) < 0 ||
        dec_pred(d, p, &p->ops[3], &in->o[3], &neg) < 0)
        return -1;
    in->sub[0] = neg;
    return 0;
}

#define SLCT(bits, T)                                            \
    TERNARY(slct_##bits##_s32, T, T, T, int32_t, c >= 0 ? a : b) \
    TERNARY(slct_##bits##_f32, T, T, T, float, c >= 0 ? a : b)   \
    TERNARY(slct_##bits##_ftz, T, T, T, float, ftz32(c) >= 0 ? a : b)
SLCT(16, uint16_t)
SLCT(32, uint32_t)
SLCT(64, uint64_t)

static int decode_slct(struct decoder *d, const struct ptx_insn *p, struct insn *in)
{
    enum ptx_type t = ptx_nth_type(p, 0), c = ptx_nth_type(p, 1);
    bool ftz = ptx_has(p, "ftz");
    static const exec_fn f[3][3] = {{slct_16_s32, slct_16_f32, slct_16_ftz},
                                    {slct_32_s32, slct_32_f32, slct_32_ftz},
                                    {slct_64_s32, slct_64_f32, slct_64_ftz}};
    uint32_t bits = ptx_type_bits(t);
    if ((c != PT_S32 && c != PT_F32) || p->nops != 4 || (bits != 16 && bits != 32 && bits != 64))
        return dec_bad(d, p,
                       "a type of 16, 32 or 64 bits, then .s32 or .f32, and four operands are "
                       "expected");
    in->exec = f[bits == 16 ? 0 : bits == 32 ? 1 : 2][c == PT_S32 ? 0 : ftz ? 2 : 1];
    in->kind = CK_MOVE;
    if (dec_dst(d, p, &p->ops[0], bits, &in->o[0]) < 0 ||
        dec_src(d, p, &p->ops[1], t, &in->o[1]) < 0 || dec_src(d, p, &p->ops[2], t, &in->o[2]) < 0)
        return -1;
    return dec_src(d, p, &p->ops[3], c, &in->o[3]);
}

const struct decode_entry decode_alu_ops[] = {
    {"mov", decode_mov},   {"and", decode_logic},  {"or", decode_logic},  {"xor", decode_logic},
    {"not", decode_logic}, {"cnot", decode_logic}, {"selp", decode_selp}, {"slct", decode_slct},
    {"setp", decode_setp}, {"set", decode_set},    {NULL, NULL}};
