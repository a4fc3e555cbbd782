/*
 * undefined_bits.c - computes which bits of a result are undefined, from the undefined bits of the
 * operands:
 *
 * - mov, selp, shifts, bit fields, prmt, and, or, xor, not, lop3, neg of floats, integer
 *   conversions without .sat: the bits that depend on an undefined bit. If the shift count, the
 *   place of a field or the predicate of selp is undefined, all bits.
 * - Integer add, sub, mul, mad and neg without .hi and .sat: from the lowest undefined bit of an
 *   operand upwards. For a signed .wide product, all bits.
 * - Packed floats, and cvt that packs two floats: all bits of a part that has an undefined bit.
 * - setp: the result is undefined if any bit of an operand is undefined. In two cases it is defined
 *   all the same: the operands of eq or ne differ in a bit that is defined in both; or a defined
 *   predicate decides the result alone (.and with false, .or with true).
 * - Any other result: all bits if any bit of an operand is undefined.
 */
#include "base/util.h"
#include "emu/core/bitops.h"
#include "emu/sanitizer/undefined.h"

static uint64_t low_bits(uint32_t n)
{
    return n >= 64 ? UINT64_MAX : (UINT64_C(1) << n) - 1;
}

static uint64_t sign_extend(uint64_t v, uint32_t bits)
{
    uint64_t top = UINT64_C(1) << (bits - 1);
    return bits >= 64 ? v : ((v & low_bits(bits)) ^ top) - top;
}

static uint64_t value_at(const struct undef_operands *x, uint32_t k, uint32_t bits)
{
    const void *v = opnd(x->w, x->in->o[k]);
    return bits == 16   ? ((const uint16_t *)v)[x->lane]
           : bits == 32 ? ((const uint32_t *)v)[x->lane]
                        : ((const uint64_t *)v)[x->lane];
}

static bool pred_at(const struct undef_operands *x, uint32_t k)
{
    return (opnd_pred(x->w, x->in->o[k]) >> x->lane & 1) != x->p->ops[k].neg;
}

/* Returns the bits of the result that can be 0 as well as 1. lut: the table of the logic function,
 * as in lop3. v: the operands. u: their undefined bits. */
static uint64_t logic_bits(const uint64_t v[3], const uint64_t u[3], uint32_t lut)
{
    uint64_t ones = 0, zeros = 0;
    for (uint32_t set = 0; set < 8; set++) {
        uint64_t x[3], r = 0;
        for (uint32_t k = 0; k < 3; k++)
            x[k] = set >> k & 1 ? v[k] | u[k] : v[k] & ~u[k];
        for (uint32_t half = 0; half < 64; half += 32)
            r |= (uint64_t)lut3((uint32_t)(x[0] >> half), (uint32_t)(x[1] >> half),
                                (uint32_t)(x[2] >> half), lut)
                 << half;
        ones |= r;
        zeros |= ~r;
    }
    return ones & zeros;
}

static uint64_t logic(const struct undef_operands *x, uint32_t lut, uint32_t n, uint32_t bits)
{
    uint64_t v[3] = {0}, u[3] = {0};
    for (uint32_t k = 0; k < n; k++) {
        v[k] = bits == 1 ? pred_at(x, k + 1) : value_at(x, k + 1, bits);
        u[k] = x->u[k + 1];
    }
    return logic_bits(v, u, lut);
}

static uint64_t shift(const struct undef_operands *x, enum ptx_type t, uint32_t bits)
{
    uint64_t n = value_at(x, 2, 32), u = x->u[1];
    if (x->u[2])
        return UINT64_MAX;
    if (str_eq(x->p->op, "shl"))
        return n >= bits ? 0 : u << n;
    if (ptx_is_signed(t))
        return (uint64_t)((int64_t)sign_extend(u, bits) >> MIN(n, 63u));
    return n >= bits ? 0 : (u & low_bits(bits)) >> n;
}

static uint64_t move_bits(const struct undef_operands *x, enum ptx_type t, uint32_t bits)
{
    const char *op = x->p->op;
    const uint64_t *u = x->u;
    if (str_eq(op, "bfe"))
        return u[2] | u[3] ? UINT64_MAX
                           : bfe(u[1], (uint32_t)value_at(x, 2, 32), (uint32_t)value_at(x, 3, 32),
                                 bits, ptx_is_signed(t));
    if (str_eq(op, "bfi"))
        return u[3] | u[4] ? UINT64_MAX
                           : bfi(u[1], u[2], (uint32_t)value_at(x, 3, 32),
                                 (uint32_t)value_at(x, 4, 32), bits);
    uint32_t a = (uint32_t)u[1], b = (uint32_t)u[2], c = (uint32_t)value_at(x, 3, 32);
    if (u[3])
        return UINT64_MAX;
    if (str_eq(op, "prmt"))
        return permute(a, b, c, x->in->sub[0]);
    uint32_t n = ptx_has(x->p, "wrap") ? c & 31 : MIN(c, 32u); /* shf */
    return ptx_has(x->p, "l") ? shf_l(a, b, n) : shf_r(a, b, n);
}

static bool is_int(enum ptx_type t)
{
    return t != PT_NONE && t != PT_PRED && !ptx_is_float(t) && ptx_type_bits(t) <= 64;
}

static uint64_t any(const struct undef_operands *x)
{
    uint64_t u = 0;
    for (uint32_t k = 1; k < x->p->nops && k < UNDEF_OPERANDS; k++)
        u |= x->u[k];
    return u;
}

static uint64_t convert(const struct undef_operands *x)
{
    enum ptx_type d = ptx_nth_type(x->p, 0), s = ptx_nth_type(x->p, 1);
    /* the first source becomes the upper half */
    if (x->p->nops == 3 && (d == PT_F16X2 || d == PT_BF16X2))
        return (x->u[1] ? UINT64_C(0xffff0000) : 0) | (x->u[2] ? 0xffff : 0);
    if (x->p->nops != 2)
        return any(x) ? UINT64_MAX : 0;
    if (!is_int(d) || !is_int(s) || ptx_has(x->p, "sat"))
        return x->u[1] & low_bits(ptx_type_bits(s)) ? UINT64_MAX : 0;
    uint64_t u = x->u[1] & low_bits(ptx_type_bits(s));
    if (ptx_is_signed(s))
        u = sign_extend(u, ptx_type_bits(s));
    u &= low_bits(ptx_type_bits(d));
    return ptx_is_signed(d) ? sign_extend(u, ptx_type_bits(d)) : u;
}

/* Returns whether some bit is defined in both operands of .eq or .ne, and differs. */
static bool differ(const struct undef_operands *x, enum ptx_type t)
{
    uint32_t bits = ptx_type_bits(t);
    if (!is_int(t) || (bits != 16 && bits != 32 && bits != 64) ||
        (!ptx_has(x->p, "eq") && !ptx_has(x->p, "ne")))
        return false;
    return (value_at(x, 1, bits) ^ value_at(x, 2, bits)) & ~x->u[1] & ~x->u[2];
}

static uint64_t compare(const struct undef_operands *x)
{
    enum ptx_type t = ptx_last_type(x->p);
    bool both = ptx_has(x->p, "and"), either = ptx_has(x->p, "or");
    if (t != PT_F16X2 &&
        t != PT_BF16X2) { /* a packed setp has two results, which we do not handle */
        if (x->p->nops == 4 && (both || either) && !x->u[3] && pred_at(x, 3) == either)
            return 0;
        if (!x->u[3] && differ(x, t))
            return 0;
    }
    return any(x) ? UINT64_MAX : 0;
}

static uint64_t choose(const struct undef_operands *x)
{
    if (x->u[3])
        return UINT64_MAX;
    return x->u[pred_at(x, 3) ? 1 : 2];
}

static uint64_t whole_parts(uint64_t u, uint32_t bits)
{
    uint64_t out = 0;
    for (uint32_t at = 0; at < 64; at += bits)
        if (u >> at & low_bits(bits))
            out |= low_bits(bits) << at;
    return out;
}

static uint64_t arithmetic(const struct undef_operands *x, enum ptx_type t)
{
    static const char *const carry[] = {"add", "sub", "mul", "mad", "neg"};
    uint64_t u = any(x);
    if (t == PT_F16X2 || t == PT_BF16X2)
        return whole_parts(u, 16);
    if (ptx_has(x->p, "f32x2"))
        return whole_parts(u, 32);
    for (size_t i = 0; i < ARRAY_LEN(carry) && is_int(t); i++)
        if (str_eq(x->p->op, carry[i]) && !ptx_has(x->p, "hi") && !ptx_has(x->p, "sat"))
            return ptx_has(x->p, "wide") && ptx_is_signed(t) && u ? UINT64_MAX : u | (0 - u);
    return u ? UINT64_MAX : 0;
}

uint64_t undef_result(const struct undef_operands *x)
{
    const char *op = x->p->op;
    enum ptx_type t = ptx_last_type(x->p);
    uint32_t bits = ptx_type_bits(t);
    bool scalar = bits == 16 || bits == 32 || bits == 64;
    if (str_eq(op, "mov") || str_eq(op, "cvta") || str_eq(op, "not"))
        return x->u[1];
    if (str_eq(op, "neg") && ptx_is_float(t))
        return x->u[1];
    if (str_eq(op, "selp"))
        return choose(x);
    if (str_eq(op, "setp"))
        return compare(x);
    if (str_eq(op, "cvt"))
        return convert(x);
    if (str_eq(op, "lop3") && x->p->nops == 5)
        return logic(x, (uint32_t)x->in->imm, 3, 32);
    if (scalar || bits == 1) {
        if (str_eq(op, "and"))
            return logic(x, 0xc0, 2, bits);
        if (str_eq(op, "or"))
            return logic(x, 0xfc, 2, bits);
    }
    if (str_eq(op, "xor"))
        return any(x);
    if (scalar && (str_eq(op, "shl") || str_eq(op, "shr")))
        return shift(x, t, bits);
    if (str_eq(op, "bfe") || str_eq(op, "bfi") || str_eq(op, "prmt") || str_eq(op, "shf"))
        return move_bits(x, t, bits);
    return arithmetic(x, t);
}
