/*
 * numeric.h - scalar arithmetic as the hardware does it: canonical NaNs, flushing of denormals,
 * saturation, min and max.
 */
#ifndef EMU_CORE_NUMERIC_H
#define EMU_CORE_NUMERIC_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "base/dtype.h"
#include "emu/core/core.h"

static inline uint32_t bits32(float f)
{
    uint32_t u;
    memcpy(&u, &f, 4);
    return u;
}
static inline float float32(uint32_t u)
{
    float f;
    memcpy(&f, &u, 4);
    return f;
}
static inline uint64_t bits64(double f)
{
    uint64_t u;
    memcpy(&u, &f, 8);
    return u;
}
static inline double float64(uint64_t u)
{
    double f;
    memcpy(&f, &u, 8);
    return f;
}

/* 0x7fffffff is the only NaN that single-precision instructions return. */
static inline float canon32(float f)
{
    return f != f ? float32(0x7fffffffu) : f;
}
/* Flushes a denormal to a zero of its sign. */
static inline float ftz32(float f)
{
    uint32_t u = bits32(f);
    return (u & 0x7f800000u) == 0 ? float32(u & 0x80000000u) : f;
}
static inline double quiet64(double f)
{
    return float64(bits64(f) | 0x0008000000000000ull);
}
/* If r, the result of a double-precision operation, is a NaN, returns the NaN of the hardware. That
 * is the first NaN operand, made quiet, or else a NaN with the sign set. Call it with
 * the operands a, b and c of the instruction in the order in which the hardware looks for a NaN:
 *     sums and products  b, a
 *     fma                b, c, a
 *     quotients          a, b */
static inline double nan64(double r, double first, double second, double third)
{
    if (r == r)
        return r;
    return first != first     ? quiet64(first)
           : second != second ? quiet64(second)
           : third != third   ? quiet64(third)
                              : float64(0xfff8000000000000ull);
}
/* Flushes r to zero if the exact result is denormal and only rounding made r normal. */
static inline float ftz_tiny32(float r, double exact)
{
    return fabsf(r) == 0x1p-126f && fabs(exact) < 0x1p-126 ? copysignf(0.0f, r) : r;
}
/* Clamps to [0, 1]; NaN becomes 0. */
static inline float sat32(float f)
{
    return f > 0.0f ? (f < 1.0f ? f : 1.0f) : 0.0f;
}
static inline double sat64(double f)
{
    return f > 0.0 ? (f < 1.0 ? f : 1.0) : 0.0;
}

/* For min and max, -0 is less than +0. If one operand is a NaN, the result is the other operand. */
static inline float min32(float a, float b)
{
    if (a != a)
        return canon32(b);
    if (b != b)
        return a;
    if (a == b)
        return float32(bits32(a) | bits32(b)); /* -0 has the sign bit */
    return a < b ? a : b;
}
static inline float max32(float a, float b)
{
    if (a != a)
        return canon32(b);
    if (b != b)
        return a;
    if (a == b)
        return float32(bits32(a) & bits32(b));
    return a > b ? a : b;
}
static inline double min64(double a, double b)
{
    if (a != a)
        return b != b ? quiet64(b) : b;
    if (b != b)
        return a;
    if (a == b)
        return float64(bits64(a) | bits64(b));
    return a < b ? a : b;
}
static inline double max64(double a, double b)
{
    if (a != a)
        return b != b ? quiet64(b) : b;
    if (b != b)
        return a;
    if (a == b)
        return float64(bits64(a) & bits64(b));
    return a > b ? a : b;
}

/* Half precision (half) and bfloat16 (brain), without branches, so that loops vectorise. NaNs
 * become canonical. */
static inline float half32(uint16_t h)
{
    uint32_t m = (uint32_t)(h & 0x7fff) << 13, sign = (uint32_t)(h & 0x8000) << 16;
    float f = float32(m) * 0x1p112f; /* also correct for denormals */
    uint32_t u = (h & 0x7c00) == 0x7c00 ? ((h & 0x3ff) ? 0x7fffffffu : 0x7f800000u | sign)
                                        : bits32(f) | sign;
    return float32(u);
}
static inline uint16_t half_of32(float x)
{
    uint32_t u = bits32(x), sign = u >> 16 & 0x8000, a = u & 0x7fffffffu;
    /* for denormal results: adding 0.5 lets the host's addition round the mantissa */
    uint32_t sub = bits32(float32(a) + 0.5f) - 0x3f000000u;
    uint32_t nor = (a + 0xc8000fffu + (a >> 13 & 1)) >> 13;
    uint32_t r = a > 0x7f800000u    ? 0x7fffu
                 : a >= 0x47800000u ? 0x7c00u
                 : a < 0x38800000u  ? sub
                                    : nor;
    return (uint16_t)(a > 0x7f800000u ? 0x7fffu : r | sign);
}
static inline float brain32(uint16_t h)
{
    return canon32(float32((uint32_t)h << 16));
}
static inline uint16_t brain_of32(float x)
{
    uint32_t u = bits32(x);
    return (uint16_t)((u & 0x7fffffffu) > 0x7f800000u ? 0x7fffu
                                                      : (u + 0x7fffu + (u >> 16 & 1)) >> 16);
}

/* A tensor map may ask for NaN in the part of a box that lies outside the tensor. Then a TMA load
 * writes this NaN there. fma.oob returns 0 if a factor is this NaN. */
#define OOB_NAN 0x7ff7

/* RM_RN rounds to nearest, ties to even; RM_RNA to nearest, ties away from zero. */
enum round_mode { RM_RN, RM_RZ, RM_DOWN, RM_UP, RM_RNA };
struct fp_format {
    /* explicit mantissa bits; least and greatest exponent of normal numbers */
    int mant, emin, emax;
};
/* Rounds m * 2^e, or -m * 2^e if `neg` is true, to the format. Returns the result's bits without
 * the sign bit. */
uint64_t fp_round(const struct fp_format *f, bool neg, uint64_t m, int e, enum round_mode mode);

/* ---- decode helpers shared by the arithmetic files ------------------------------------------ */

/* Decodes all operands of p to in->o. The destination has type dt, all others have type st. */
int dec_operands(struct decoder *d, const struct ptx_insn *p, struct insn *in, enum ptx_type dt,
                 enum ptx_type st);
int decode_setp(struct decoder *d, const struct ptx_insn *p, struct insn *in);
int decode_set(struct decoder *d, const struct ptx_insn *p, struct insn *in);

#endif
