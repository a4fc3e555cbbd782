/*
 * number_core.h - random words (Philox4x32-10) and rounding (to nearest even) by integer
 * arithmetic.
 *
 * `hone`, `hone-worker` and device code (through NVRTC) compile this text, which is valid C17 and
 * C++17, and get the same bits. job/gen_core.h fills tensors with these functions.
 */
#ifndef BASE_NUMBER_CORE_H
#define BASE_NUMBER_CORE_H

#include "base/device_int.h"

#ifdef __CUDACC__
#define GEN_FN __device__ static inline
#else
#define GEN_FN static inline __attribute__((unused))
#endif

/* Equal to enum dtype (base/dtype.h); job/gen.c checks this. */
enum gen_type {
    GEN_T_F64 = 1,
    GEN_T_F32,
    GEN_T_F16,
    GEN_T_BF16,
    GEN_T_F8E4M3,
    GEN_T_F8E5M2,
    GEN_T_I64,
    GEN_T_I32,
    GEN_T_I16,
    GEN_T_I8,
    GEN_T_U64,
    GEN_T_U32,
    GEN_T_U16,
    GEN_T_U8,
    GEN_T_BOOL
};

/* ---- random words ---------------------------------------------------------------------------- */

struct gen_block {
    uint32_t w[4];
};

GEN_FN void gen_philox_round(uint32_t *c0, uint32_t *c1, uint32_t *c2, uint32_t *c3, uint32_t k0,
                             uint32_t k1)
{
    uint64_t p = (uint64_t)*c0 * 0xD2511F53u, q = (uint64_t)*c2 * 0xCD9E8D57u;
    *c0 = (uint32_t)(q >> 32) ^ *c1 ^ k0;
    *c2 = (uint32_t)(p >> 32) ^ *c3 ^ k1;
    *c1 = (uint32_t)q;
    *c3 = (uint32_t)p;
}

#define GEN_ROUNDS 10
#define GEN_KEY_STEP0 0x9E3779B9u
#define GEN_KEY_STEP1 0xBB67AE85u

GEN_FN struct gen_block gen_philox(uint32_t c0, uint32_t c1, uint32_t c2, uint32_t c3, uint32_t k0,
                                   uint32_t k1)
{
    for (int round = 0; round < GEN_ROUNDS; round++) {
        gen_philox_round(&c0, &c1, &c2, &c3, k0, k1);
        k0 += GEN_KEY_STEP0;
        k1 += GEN_KEY_STEP1;
    }
    struct gen_block b = {{c0, c1, c2, c3}};
    return b;
}

/* Returns four random words, independent for each seed, stream, draw and block. */
GEN_FN struct gen_block gen_words(uint64_t seed, uint32_t stream, uint32_t draw, uint64_t block)
{
    return gen_philox((uint32_t)block, (uint32_t)(block >> 32), stream, draw, (uint32_t)seed,
                      (uint32_t)(seed >> 32));
}

GEN_FN uint32_t gen_mix32(uint32_t x)
{
    x ^= x >> 16;
    x *= 0x85ebca6bu;
    x ^= x >> 13;
    x *= 0xc2b2ae35u;
    return x ^ x >> 16;
}

GEN_FN uint64_t gen_mix64(uint64_t x)
{
    x ^= x >> 30;
    x *= 0xbf58476d1ce4e5b9u;
    x ^= x >> 27;
    x *= 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

/* ---- numbers --------------------------------------------------------------------------------- */

GEN_FN uint64_t gen_f64_bits(double d)
{
#ifdef __CUDA_ARCH__
    return (uint64_t)__double_as_longlong(d);
#else
    uint64_t b;
    __builtin_memcpy(&b, &d, sizeof b);
    return b;
#endif
}

GEN_FN double gen_f64_from(uint64_t b)
{
#ifdef __CUDA_ARCH__
    return __longlong_as_double((long long)b);
#else
    double d;
    __builtin_memcpy(&d, &b, sizeof d);
    return d;
#endif
}

/* Keeps 21 significant bits: a product with a 32-bit integer is then exact. */
GEN_FN double gen_cut(double d)
{
    return gen_f64_from(gen_f64_bits(d) & 0xffffffff00000000u);
}

/*
 * Rounds a finite |d| to a float with `mant` explicit mantissa bits and exponents emin..emax.
 * Returns exponent and mantissa. On overflow returns the pattern after the largest finite value,
 * which is infinity if the type has one.
 */
GEN_FN uint64_t gen_round(double d, int mant, int emin, int emax)
{
    uint64_t bits = gen_f64_bits(d), one = 1;
    int e = (int)(bits >> 52 & 0x7ff) - 1023, drop = 52 - mant;
    uint64_t sig = (bits & ((one << 52) - 1)) | one << 52;
    if (e == -1023)
        return 0; /* a denormal double is below half of the least denormal of each type here */
    if (e < emin)
        drop += emin - e;
    if (drop > 54)
        return 0;
    uint64_t kept = sig >> drop, rest = sig & ((one << drop) - 1), half = one << drop >> 1;
    kept += rest > half || (rest == half && (kept & 1));
    /* The hidden bit of a normal `kept` adds 1 to the exponent field, so we add e - emin. */
    uint64_t out = e < emin ? kept : kept + ((uint64_t)(e - emin) << mant);
    uint64_t past = (uint64_t)(emax - emin + 2) << mant;
    return out < past ? out : past;
}

/* Rounds to nearest even and clamps to lo..hi; NaN gives 0. */
GEN_FN int64_t gen_to_int(double v, double lo, double hi)
{
    if (!(v > lo))
        return v == v ? (int64_t)lo : 0;
    if (v >= hi)
        return hi >= 9223372036854775807.0 ? 9223372036854775807 : (int64_t)hi;
    int64_t t = (int64_t)v;
    double f = v - (double)t;
    if (f > 0.5 || (f == 0.5 && (t & 1)))
        t++;
    else if (f < -0.5 || (f == -0.5 && (t & 1)))
        t--;
    return t;
}

/* The bits of a finite v. Too large values become infinity, or NaN in float8_e4m3fn. Integers are
 * clamped, uint64 to 2^63 - 1. */
GEN_FN uint64_t gen_encode(int t, double v)
{
    uint64_t sign = gen_f64_bits(v) >> 63, r;
    switch (t) {
    case GEN_T_F64:
        return gen_f64_bits(v);
    case GEN_T_F32:
        return gen_round(v, 23, -126, 127) | sign << 31;
    case GEN_T_F16:
        return gen_round(v, 10, -14, 15) | sign << 15;
    case GEN_T_BF16:
        return gen_round(v, 7, -126, 127) | sign << 15;
    case GEN_T_F8E4M3:
        r = gen_round(v, 3, -6, 8);
        return (r > 0x7e ? 0x7f : r) | sign << 7;
    case GEN_T_F8E5M2:
        return gen_round(v, 2, -14, 15) | sign << 7;
    case GEN_T_I64:
        return (uint64_t)gen_to_int(v, -9223372036854775808.0, 9223372036854775807.0);
    case GEN_T_I32:
        return (uint32_t)gen_to_int(v, -2147483648.0, 2147483647.0);
    case GEN_T_I16:
        return (uint16_t)gen_to_int(v, -32768.0, 32767.0);
    case GEN_T_I8:
        return (uint8_t)gen_to_int(v, -128.0, 127.0);
    case GEN_T_U64:
        return (uint64_t)gen_to_int(v, 0.0, 9223372036854775807.0);
    case GEN_T_U32:
        return (uint64_t)gen_to_int(v, 0.0, 4294967295.0);
    case GEN_T_U16:
        return (uint64_t)gen_to_int(v, 0.0, 65535.0);
    case GEN_T_U8:
        return (uint64_t)gen_to_int(v, 0.0, 255.0);
    default:
        return v != 0;
    }
}

struct gen_float {
    int mant, bits;    /* explicit mantissa bits; all bits. Both are 0 if the type is no float. */
    uint64_t inf;      /* +inf, or the largest finite value */
    uint64_t most;     /* largest finite value */
    uint64_t nan;      /* a quiet NaN */
    uint64_t nan_free; /* bits that may change in a NaN */
};

GEN_FN struct gen_float gen_float_of(int t)
{
    struct gen_float f = {0, 0, 0, 0, 0, 0};
    switch (t) {
    case GEN_T_F64:
        f.mant = 52, f.bits = 64, f.inf = 0x7ff0000000000000u, f.most = f.inf - 1;
        f.nan = 0x7ff8000000000000u, f.nan_free = 0x8007ffffffffffffu;
        break;
    case GEN_T_F32:
        f.mant = 23, f.bits = 32, f.inf = 0x7f800000u, f.most = f.inf - 1;
        f.nan = 0x7fc00000u, f.nan_free = 0x803fffffu;
        break;
    case GEN_T_F16:
        f.mant = 10, f.bits = 16, f.inf = 0x7c00u, f.most = f.inf - 1;
        f.nan = 0x7e00u, f.nan_free = 0x81ffu;
        break;
    case GEN_T_BF16:
        f.mant = 7, f.bits = 16, f.inf = 0x7f80u, f.most = f.inf - 1;
        f.nan = 0x7fc0u, f.nan_free = 0x803fu;
        break;
    case GEN_T_F8E4M3:
        f.mant = 3, f.bits = 8, f.inf = 0x7eu, f.most = 0x7eu;
        f.nan = 0x7fu, f.nan_free = 0x80u;
        break;
    case GEN_T_F8E5M2:
        f.mant = 2, f.bits = 8, f.inf = 0x7cu, f.most = 0x7bu;
        f.nan = 0x7eu, f.nan_free = 0x81u;
        break;
    default:
        break;
    }
    return f;
}

GEN_FN uint32_t gen_type_bytes(int t)
{
    switch (t) {
    case GEN_T_F64:
    case GEN_T_I64:
    case GEN_T_U64:
        return 8;
    case GEN_T_F32:
    case GEN_T_I32:
    case GEN_T_U32:
        return 4;
    case GEN_T_F16:
    case GEN_T_BF16:
    case GEN_T_I16:
    case GEN_T_U16:
        return 2;
    default:
        return 1;
    }
}

#endif
