/*
 * gen_core.h - the arithmetic of generated data, in the common subset of C17 and C++17.
 *
 * This text is compiled into `hone`, into `hone-worker` and, by NVRTC, into Hone's device code. All
 * of them produce the same bits, because nothing here can be rounded in two ways:
 *
 *   1. Random words come from Philox4x32-10: integers only.
 *   2. A float is a + w * k with w an integer below 2^32 and k a double cut to 21 significant bits,
 *      so w * k is exact and only the addition rounds: a fused multiply-add gives the same result.
 *   3. Doubles become narrower types by integer arithmetic (gen_round), one rounding, to even.
 *
 * Element i of a tensor is a function of (spec, dtype, seed, stream, i) alone. It takes word i % 4
 * of the Philox block with counter (i / 4, stream, draw) and key `seed`; draw 0 is the data, draws
 * 1.. are what a perturbed element gets instead.
 */
#ifndef BASE_GEN_CORE_H
#define BASE_GEN_CORE_H

#ifdef __CUDACC_RTC__
typedef long long int64_t;
typedef unsigned long long uint64_t;
typedef unsigned int uint32_t;
typedef unsigned short uint16_t;
typedef unsigned char uint8_t;
typedef int int32_t;
#else
#include <stdint.h>
#endif

#ifdef __CUDACC__
#define GEN_FN __device__ static inline
#else
#define GEN_FN static inline __attribute__((unused))
#endif

enum gen_dist {
    GEN_NORMAL,   /* mean a, deviation b: a sum of uniforms, within 4.9 deviations */
    GEN_UNIFORM,  /* from a to b */
    GEN_INT,      /* integers a..b inclusive */
    GEN_CONST,    /* a */
    GEN_ZERO,     /* 0 */
    GEN_DENORMAL, /* random denormals of the dtype, both signs; integers: 0 */
    GEN_CSR,      /* row pointers: element i of n, nondecreasing from 0 to b, uneven rows */
    GEN_PERM,     /* a permutation of 0..n-1 */
    GEN_DIST_COUNT
};

enum gen_special {
    GEN_SPECIAL_NONE,
    GEN_POS_INF,
    GEN_NEG_INF,
    GEN_NAN,
    GEN_SPECIAL_ZERO,
    GEN_SPECIAL_DENORMAL,
    GEN_SPECIAL_MAX, /* the largest finite value, both signs */
    GEN_SPECIAL_COUNT
};

struct gen_spec {
    uint8_t dist;       /* enum gen_dist */
    uint8_t special[2]; /* enum gen_special, on about 1 of every[i] elements, at random */
    uint32_t every[2];  /* 0 = never */
    double a, b;
    uint64_t n; /* elements of the tensor, for CSR and PERM */
};

/* The values of enum dtype (base/dtype.h); gen.c holds the two against each other. */
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

/* One of the ten rounds. */
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

/* Block number `block` of a stream: four words. */
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

/* Truncated to 21 significant bits, so that its product with a 32-bit integer is exact. */
GEN_FN double gen_cut(double d)
{
    return gen_f64_from(gen_f64_bits(d) & 0xffffffff00000000u);
}

/*
 * Rounds |d|, finite, to a float with `mant` explicit mantissa bits and exponents emin..emax.
 * Returns exponent and mantissa without sign; overflow returns the pattern after the largest (which
 * is infinity where the type has one).
 */
GEN_FN uint64_t gen_round(double d, int mant, int emin, int emax)
{
    uint64_t bits = gen_f64_bits(d), one = 1;
    int e = (int)(bits >> 52 & 0x7ff) - 1023, drop = 52 - mant;
    uint64_t sig = (bits & ((one << 52) - 1)) | one << 52;
    if (e == -1023)
        return 0; /* a double's own denormal is below half of the least denormal of any type here */
    if (e < emin)
        drop += emin - e;
    if (drop > 54)
        return 0;
    uint64_t kept = sig >> drop, rest = sig & ((one << drop) - 1), half = one << drop >> 1;
    kept += rest > half || (rest == half && (kept & 1));
    /* A normal's kept bits include the hidden one, so adding carries into the exponent. */
    uint64_t out = e < emin ? kept : kept + ((uint64_t)(e - emin) << mant);
    uint64_t past = (uint64_t)(emax - emin + 2) << mant;
    return out < past ? out : past;
}

/* To nearest even, clamped. */
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

/* The bits of v (finite) in type t. */
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

/* Layout of the float types; mant 0 for the others. */
struct gen_float {
    int mant, bits;
    uint64_t inf;  /* +inf, or the largest finite value where there is none */
    uint64_t most; /* the largest finite value */
    uint64_t nan;  /* a quiet NaN; the bits under nan_free are free */
    uint64_t nan_free;
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

/* ---- distributions --------------------------------------------------------------------------- */

/* A spec with what does not depend on the element worked out. */
struct gen_plan {
    struct gen_spec spec;
    int type;
    uint64_t seed;
    uint32_t stream;
    double k;      /* NORMAL, UNIFORM: value per step of the word */
    uint64_t span; /* INT: how many integers */
    uint64_t key;  /* CSR, PERM */
};

GEN_FN struct gen_plan gen_prepare(const struct gen_spec *s, int type, uint64_t seed,
                                   uint32_t stream)
{
    struct gen_plan p;
    p.spec = *s;
    p.type = type;
    p.seed = seed;
    p.stream = stream;
    p.k = 0;
    p.span = 1;
    if (s->dist == GEN_NORMAL)
        p.k = gen_cut(s->b * 2.2812803229830366e-09); /* 1 / deviation of gen_bell */
    if (s->dist == GEN_UNIFORM)
        p.k = gen_cut((s->b - s->a) * 2.3283064365386963e-10); /* 2^-32 */
    if (s->dist == GEN_INT && s->b >= s->a)
        p.span = (uint64_t)(s->b - s->a) + 1;
    p.key = gen_mix64(seed ^ gen_mix64(stream + 0x9e3779b97f4a7c15u));
    return p;
}

/* A bell-shaped integer, symmetric about 0: eight bytes summed, and 21 bits below their unit. */
GEN_FN int32_t gen_bell(uint32_t x)
{
    uint32_t y = gen_mix32(x), m = 0x00ff00ffu;
    uint32_t s = (x & m) + (x >> 8 & m) + (y & m) + (y >> 8 & m);
    s = (s & 0xffff) + (s >> 16);
    uint32_t low = (x * 0x9E3779B1u + y * 0x85EBCA77u) >> 11;
    return (int32_t)((s << 21) + low - (1020u << 21) - (1u << 20));
}

/* Uniform in 0..span-1, span <= 2^53. */
GEN_FN uint64_t gen_below(uint32_t x, uint64_t span)
{
    uint64_t hi = span >> 32, lo = span & 0xffffffffu;
    uint64_t v = x * hi + (x * lo >> 32);
    return hi ? v + (gen_mix32(x) * hi >> 32) : v;
}

/* floor(i * total / rows) without overflow for i <= rows <= 2^32. */
GEN_FN uint64_t gen_share(uint64_t i, uint64_t total, uint64_t rows)
{
    return i * (total / rows) + i * (total % rows) / rows;
}

/*
 * Row pointers. Rows come in groups of 16 and supergroups of 256 whose bounds are even shares of
 * the total. In 1 of 16 supergroups one row holds everything (256 times the mean); in 1 of 8 groups
 * likewise (16 times); in 1 of 8 every second row is empty; elsewhere each bound is moved at random
 * up to the next even share, so that rows have 0 to twice the mean.
 */
GEN_FN uint64_t gen_csr(const struct gen_plan *p, uint64_t i)
{
    uint64_t rows = p->spec.n > 1 ? p->spec.n - 1 : 1, total = (uint64_t)p->spec.b;
    if (i == 0)
        return 0;
    if (i >= rows)
        return total;
    uint64_t super = gen_mix64(p->key + (i >> 8) * 2 + 1), group = gen_mix64(p->key + (i >> 4) * 2);
    uint64_t size = super % 16 == 0 ? 256 : 16;
    uint64_t first = i & ~(size - 1), last = first + size < rows ? first + size : rows;
    if (i == first)
        return gen_share(i, total, rows);
    if (size == 256 || group % 8 == 0) {
        uint64_t full = ((size == 256 ? super : group) >> 8) % (last - first);
        return gen_share(i - first > full ? last : first, total, rows);
    }
    uint64_t lo = gen_share(i, total, rows);
    if (group % 8 == 1)
        return gen_share(i & ~(uint64_t)1, total, rows);
    uint64_t step = gen_share(i + 1, total, rows) - lo;
    return lo + gen_mix64(p->key ^ gen_mix64(i)) % (step + 1);
}

/* A permutation of 0..n-1: a Feistel network over the next even power of two, cycle-walked. */
GEN_FN uint64_t gen_perm(const struct gen_plan *p, uint64_t i)
{
    uint64_t n = p->spec.n;
    int half = 1;
    while (half < 31 && ((uint64_t)1 << (2 * half)) < n)
        half++;
    uint64_t mask = ((uint64_t)1 << half) - 1;
    if (n < 2)
        return 0;
    do {
        uint64_t l = i >> half, r = i & mask;
        for (uint32_t round = 0; round < 4; round++) {
            uint64_t f = gen_mix64(p->key + r * 8 + round) & mask, old = l;
            l = r;
            r = old ^ f;
        }
        i = l << half | r;
    } while (i >= n);
    return i;
}

GEN_FN uint64_t gen_denormal(int t, uint32_t x)
{
    struct gen_float f = gen_float_of(t);
    if (!f.mant)
        return 0;
    uint64_t m = ((uint64_t)x << 20 ^ gen_mix32(x)) & (((uint64_t)1 << f.mant) - 1);
    return (m ? m : 1) | (uint64_t)(x >> 31) << (f.bits - 1);
}

GEN_FN uint64_t gen_special_bits(int t, int special, uint32_t x)
{
    struct gen_float f = gen_float_of(t);
    uint64_t sign = f.mant ? (uint64_t)1 << (f.bits - 1) : 0;
    switch (special) {
    case GEN_POS_INF:
        return f.mant ? f.inf : gen_encode(t, 1e300);
    case GEN_NEG_INF:
        return f.mant ? f.inf | sign : gen_encode(t, -1e300);
    case GEN_NAN:
        return f.nan;
    case GEN_SPECIAL_DENORMAL:
        return gen_denormal(t, x);
    case GEN_SPECIAL_MAX:
        return f.mant ? f.most | (x >> 31 ? sign : 0) : gen_encode(t, x >> 31 ? -1e300 : 1e300);
    default:
        return 0;
    }
}

/* Is this element special? A second word derived from the first decides. */
GEN_FN int gen_special_of(const struct gen_spec *s, uint32_t x)
{
    for (int k = 0; k < 2; k++) {
        uint32_t y = gen_mix32(x + 0x51ed2701u * (uint32_t)(k + 1));
        if (s->every[k] && (uint64_t)y * s->every[k] >> 32 == 0)
            return s->special[k];
    }
    return GEN_SPECIAL_NONE;
}

/* The element's bits, given its random word; CSR and PERM need only its index. */
GEN_FN uint64_t gen_value(const struct gen_plan *p, uint32_t x, uint64_t i)
{
    switch (p->spec.dist) {
    case GEN_NORMAL:
        return gen_encode(p->type, p->spec.a + (double)gen_bell(x) * p->k);
    case GEN_UNIFORM:
        return gen_encode(p->type, p->spec.a + (double)x * p->k);
    case GEN_INT:
        return gen_encode(p->type, p->spec.a + (double)gen_below(x, p->span));
    case GEN_CONST:
        return gen_encode(p->type, p->spec.a);
    case GEN_DENORMAL:
        return gen_denormal(p->type, x);
    case GEN_CSR:
        return gen_encode(p->type, (double)gen_csr(p, i));
    case GEN_PERM:
        return gen_encode(p->type, (double)gen_perm(p, i));
    default:
        return 0;
    }
}

/* Element i, specials included. */
GEN_FN uint64_t gen_element(const struct gen_plan *p, uint64_t i)
{
    struct gen_block b = gen_words(p->seed, p->stream, 0, i / 4);
    uint32_t x = b.w[i % 4];
    int special = gen_special_of(&p->spec, x);
    return special ? gen_special_bits(p->type, special, x) : gen_value(p, x, i);
}

/*
 * What element i holds when it is perturbed: another draw, never special, that differs from the
 * first one's bits. Only distributions with something to draw can be perturbed.
 */
GEN_FN int gen_can_perturb(const struct gen_spec *s)
{
    if (s->dist == GEN_NORMAL)
        return s->b != 0;
    return (s->dist == GEN_UNIFORM || s->dist == GEN_INT) && s->b > s->a;
}

GEN_FN uint64_t gen_perturbed(const struct gen_plan *p, uint64_t i)
{
    uint64_t was = gen_element(p, i), now = was;
    for (uint32_t draw = 1; draw < 64 && now == was; draw++) {
        struct gen_block b = gen_words(p->seed, p->stream, draw, i / 4);
        now = gen_value(p, b.w[i % 4], i);
    }
    return now;
}

/* ---- hash ------------------------------------------------------------------------------------ */

/*
 * A content hash that is a sum over 8-byte little-endian words (the last one padded with zeros), so
 * that pieces can be hashed apart, in any order, and added up. Catches accidents and vandalism, not
 * forgers who know it.
 */
GEN_FN uint64_t gen_hash_word(uint64_t word, uint64_t index)
{
    return gen_mix64(word ^ gen_mix64(index + 0x632be59bd9b4e019u));
}

/* The word at p, `left` bytes from the end; p need not be aligned. */
GEN_FN uint64_t gen_hash_load(const unsigned char *p, uint64_t left)
{
    uint64_t w = 0;
    for (uint64_t k = 0; k < (left < 8 ? left : 8); k++)
        w |= (uint64_t)p[k] << (8 * k);
    return w;
}

#endif
