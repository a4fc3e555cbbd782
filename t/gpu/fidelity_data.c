/*
 * fidelity_data.c - fills the inputs of a case.
 *
 *     uniform LO HI [special inf 67 nan 71]   about every 67th element is an infinity, every 71st a
 *                        NaN
 *     int LO HI | bits | zero | index | meta [tf32]
 *     coords LO HI STEP  five coordinates for each box; the first of them is a multiple of STEP
 *     edges K            operand K of an instruction: operands 0 and 1 together take every pair of
 *                        edge values of the type, then random bits and numbers
 *     edges K LO HI      operand K of an instruction: numbers from LO to HI
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/util.h"
#include "fidelity.h"

static uint64_t rng;

void seed_data(uint64_t seed)
{
    rng = seed ? seed : 1;
}

static uint32_t rnd(void)
{
    rng ^= rng << 13;
    rng ^= rng >> 7;
    rng ^= rng << 17;
    return (uint32_t)(rng >> 24);
}

/* Draws in two statements, because a compiler may evaluate operands in any order. */
static uint64_t rnd64(void)
{
    uint64_t low = rnd();
    return low | (uint64_t)rnd() << 32;
}

static double unit(void)
{
    return rnd() / 4294967296.0;
}

/* 32 integers, cut to the width of the type. */
static const uint64_t int_edges[] = {0,
                                     1,
                                     2,
                                     3,
                                     5,
                                     7,
                                     8,
                                     15,
                                     16,
                                     24,
                                     31,
                                     32,
                                     33,
                                     63,
                                     64,
                                     65,
                                     127,
                                     128,
                                     255,
                                     256,
                                     0x7fff,
                                     0x8000,
                                     0xffff,
                                     0x10000,
                                     0x7fffffff,
                                     0x80000000,
                                     0xffffffff,
                                     0x7fffffffffffffff,
                                     0x8000000000000000,
                                     0x8000000080008080,
                                     UINT64_MAX,
                                     UINT64_MAX - 1};

/* A number that a type cannot hold becomes an infinity, a zero or the nearest value. */
static const double float_edges[] = {
    0.0,          -0.0,          1.0,     -1.0,         0.5,          -0.5,
    1.5,          2.5,           -2.5,    3.0,          1.0 / 3,      0x1.921fb54442d18p+1,
    0x1.000002p0, 0x1.fffffep-1, 127.5,   128.5,        -128.5,       255.5,
    447.0,        448.0,         464.0,   -465.0,       57344.0,      61440.0,
    65504.0,      65519.0,       65520.0, 2147483520.0, 2147483648.0, -2147483648.0,
    4294967296.0, 0x1p63,        -0x1p63, 0x1p64,       16777217.0,   0x1p-10,
    0x1p-7,       0x1p-17,       0x1p-24, 0x1p-25,      3e38,         -3.4028234663852886e38,
    1e-38,        -1e-40};

enum { SPECIALS = 10, FLOAT_EDGES = 44 + SPECIALS };

/* Values given as bits: infinities, NaNs, the ends of the denormals, the largest number. */
static uint64_t special_bits(enum dtype t, int i)
{
    int m = dtype_mantissa_bits(t), bits = 8 * (int)dtype_bytes(t);
    uint64_t one = 1, sign = one << (bits - 1), inf = (sign - 1) >> m << m;
    const uint64_t v[SPECIALS] = {inf,
                                  inf | sign,
                                  inf | one << (m - 1),            /* quiet NaN */
                                  inf | one << (m - 1) | 5 | sign, /* with a payload */
                                  inf | 1,                         /* signalling */
                                  1,
                                  1 | sign,
                                  (one << m) - 1, /* largest denormal */
                                  one << m,       /* smallest normal */
                                  inf - 1};
    return v[i];
}

static void put(uint8_t *p, uint64_t v, size_t size)
{
    memcpy(p, &v, size);
}

static void edge_float(struct buffer *b, uint8_t *p, uint64_t i, int k)
{
    uint64_t at = k == 0 ? i : k == 1 ? i / FLOAT_EDGES : i * 7 + i / FLOAT_EDGES * 5;
    size_t size = dtype_bytes(b->t);
    int e = (int)(at % FLOAT_EDGES);
    if (i < FLOAT_EDGES * FLOAT_EDGES) {
        if (e < SPECIALS)
            put(p, special_bits(b->t, e), size);
        else
            dtype_store(b->t, p, float_edges[e - SPECIALS]);
    } else if (i % 4 == 0) {
        put(p, rnd64(), size);
    } else if (i % 4 == 1) {
        dtype_store(b->t, p, 8 * unit() - 4);
    } else {
        int exponent = (int)(rnd() % 24) - 12;
        dtype_store(b->t, p, ldexp(unit() - 0.5, exponent));
    }
}

static void edge_int(struct buffer *b, uint8_t *p, uint64_t i, int k)
{
    const uint64_t n = ARRAY_LEN(int_edges);
    size_t size = dtype_bytes(b->t);
    uint64_t at = k == 0 ? i : k == 1 ? i / n : i * 7 + i / n * 5;
    uint64_t bits = rnd64();
    if (i < n * n)
        put(p, int_edges[at % n], size);
    else if (i % 4 == 0) /* small numbers, both signs */
        put(p, (uint64_t)((int64_t)(bits % 257) - 128), size);
    else if (i % 4 == 1)
        put(p, bits >> (bits >> 58), size);
    else
        put(p, bits, size);
}

static void edges(struct buffer *b, const char *rest)
{
    int k = 0;
    double lo = 0, hi = 0;
    bool range = sscanf(rest, "%d %lf %lf", &k, &lo, &hi) == 3;
    for (uint64_t i = 0; i < b->elems; i++) {
        uint8_t *p = b->data + i * dtype_bytes(b->t);
        if (range && !dtype_is_float(b->t))
            put(p, (uint64_t)(int64_t)floor(lo + (hi - lo + 1) * unit()), dtype_bytes(b->t));
        else if (range)
            dtype_store(b->t, p, lo + (hi - lo) * unit());
        else if (dtype_bytes(b->t) == 1)
            *p = (uint8_t)(k == 0 ? i : k == 1 ? i / 7 : i * 7 + i / 256);
        else if (dtype_is_float(b->t))
            edge_float(b, p, i, k);
        else
            edge_int(b, p, i, k);
    }
}

static double special(const char *s, enum dtype t)
{
    bool neg = rnd() & 1;
    double v = str_eq(s, "inf")   ? INFINITY
               : str_eq(s, "nan") ? NAN
               : str_eq(s, "max") ? (t == DT_F8E4M3 ? 448
                                     : t == DT_F16  ? 65504
                                                    : 3e38)
               : str_eq(s, "den") ? (t == DT_F16    ? 0x1p-24
                                     : t == DT_BF16 ? 0x1p-133
                                                    : 0x1p-149)
                                  : 0;
    return neg ? -v : v;
}

static void uniform(struct buffer *b, double lo, double hi)
{
    char names[2][16] = {"", ""};
    unsigned every[2] = {0, 0};
    const char *sp = strstr(b->init, "special");
    if (sp)
        sscanf(sp, "special %15s %u %15s %u", names[0], &every[0], names[1], &every[1]);
    for (uint64_t i = 0; i < b->elems; i++) {
        double v = lo + (hi - lo) * unit();
        for (int k = 0; k < 2; k++)
            if (every[k] && rnd() % every[k] == 0)
                v = special(names[k], b->t);
        dtype_store(b->t, b->data + i * dtype_bytes(b->t), v);
    }
}

/* Draws which two of each four elements a sparse operand keeps, for eight groups of four. */
static uint32_t metadata(bool tf32)
{
    static const uint32_t pairs[] = {0x4, 0x8, 0x9, 0xc, 0xd, 0xe}, halves[] = {0x4, 0xe};
    uint32_t v = 0;
    for (int k = 0; k < 8; k++)
        v |= (tf32 ? halves[rnd() % 2] : pairs[rnd() % 6]) << 4 * k;
    return v;
}

void fill(struct buffer *b)
{
    char kind[16] = "";
    double lo = 0, hi = 1;
    int at = 0, step = 1;
    size_t size = dtype_bytes(b->t);
    sscanf(b->init, "%15s%n %lf %lf %d", kind, &at, &lo, &hi, &step);
    if (str_eq(kind, "edges")) {
        edges(b, b->init + at);
        return;
    }
    if (str_eq(kind, "uniform")) {
        uniform(b, lo, hi);
        return;
    }
    for (uint64_t i = 0; i < b->elems; i++) {
        uint8_t *p = b->data + i * size;
        if (str_eq(kind, "bits"))
            put(p, rnd64(), size);
        else if (str_eq(kind, "index"))
            dtype_store(b->t, p, (double)i);
        else if (str_eq(kind, "meta"))
            put(p, metadata(strstr(b->init, "tf32") != NULL), 4);
        else if (str_eq(kind, "coords") && i % 5 == 0)
            dtype_store(b->t, p,
                        ceil(lo / step) * step + step * (rnd() % ((int)(hi - lo) / step + 1)));
        else if (str_eq(kind, "int") || str_eq(kind, "coords"))
            dtype_store(b->t, p, lo + (double)(rnd() % (uint64_t)(hi - lo + 1)));
        else
            memset(p, 0, size);
    }
}
