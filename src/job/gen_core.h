/*
 * gen_core.h - the arithmetic of generated data, in the common subset of C17 and C++17.
 *
 * `hone`, `hone-worker` and Hone's device code share this text and produce the same bits, because
 * no step can round in two ways:
 *
 *   1. Random words come from Philox4x32-10: integers only.
 *   2. A float is a + w * k, where w is an integer below 2^32 and k has 21 significant bits. So
 *      w * k is exact, and only the addition rounds, with or without a fused multiply-add.
 *   3. Integer arithmetic (gen_round) rounds a double to a narrower type, once, to nearest even.
 *
 * Element i comes from word i % 4 of the Philox block with counter (i / 4, stream, draw) and key
 * `seed`. Draw 0 makes the data; later draws perturb elements.
 */
#ifndef JOB_GEN_CORE_H
#define JOB_GEN_CORE_H

#include "base/number_core.h"

enum gen_dist {
    GEN_NORMAL,  /* mean a, deviation b; at most 4.9 b from a */
    GEN_UNIFORM, /* from a to b */
    GEN_INT,     /* from a to b, including both */
    GEN_CONST,
    GEN_ZERO,
    GEN_DENORMAL, /* denormals of both signs; 0 if the dtype is an integer */
    GEN_CSR,      /* row pointers: n numbers from 0 to b that never decrease */
    GEN_PERM,     /* a permutation of 0 to n - 1 */
    GEN_SORTED,   /* from a to b, never decreasing along a row */
    GEN_ONE_HOT,  /* one 1 in each row, zeros elsewhere */
    GEN_LENGTHS,  /* row lengths, from 1 to cols, of a tensor with GEN_PADDED */
    GEN_DIST_COUNT
};

/* The last two dimensions form a matrix. A mask gives some of its elements a fixed value. */
enum gen_mask {
    GEN_MASK_NONE,
    GEN_LOWER, /* zeros above the diagonal */
    GEN_UPPER, /* zeros below the diagonal */
    GEN_PADDED /* `pad` after the end of each row; the seed chooses the ends */
};

enum gen_special {
    GEN_SPECIAL_NONE,
    GEN_POS_INF,
    GEN_NEG_INF,
    GEN_NAN,
    GEN_SPECIAL_ZERO,
    GEN_SPECIAL_DENORMAL,
    GEN_SPECIAL_MAX,    /* the largest finite value, of either sign */
    GEN_SPECIAL_NUMBER, /* gen_spec.number[i] */
    GEN_SPECIAL_COUNT
};

enum { GEN_FEW = 4, GEN_THIN_RANGES = 2 };

/* Adjacent dimensions of a tensor, seen as one. Its places are `step` elements apart. */
struct gen_range {
    uint64_t places, step;
};

struct gen_spec {
    uint8_t dist;
    /* About one element in every[i] is special[i] (enum gen_special). 0: none is. */
    uint8_t special[2];
    uint32_t every[2];
    double number[2]; /* for GEN_SPECIAL_NUMBER */
    double a, b;      /* see enum gen_dist */
    uint64_t n;       /* elements of the tensor; only for GEN_CSR and GEN_PERM */
    /* A thin tensor is zero except at GEN_FEW random places. With two ranges, a place is a pair.
     * A range of 0 places is absent. If thin[0] is absent, the tensor is not thin. */
    struct gen_range thin[GEN_THIN_RANGES];
    uint8_t mask;
    uint64_t rows, cols; /* the last two dimensions; for masks and GEN_SORTED to GEN_LENGTHS */
    double pad;
};

/* ---- distributions --------------------------------------------------------------------------- */

struct gen_plan {
    struct gen_spec spec;
    int type;
    uint64_t seed;
    uint32_t stream;
    double k; /* in rule 2 above */
    uint64_t span;
    uint64_t key;           /* for choices without the element's random word */
    uint64_t kept[GEN_FEW]; /* places that are not zero */
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
        p.k = gen_cut(s->b * 2.2812803229830366e-09); /* b / standard deviation of gen_bell() */
    if (s->dist == GEN_UNIFORM || s->dist == GEN_SORTED)
        p.k = gen_cut((s->b - s->a) * 2.3283064365386963e-10); /* 2^-32 */
    if (s->dist == GEN_INT && s->b >= s->a)
        p.span = (uint64_t)(s->b - s->a) + 1;
    p.key = gen_mix64(seed ^ gen_mix64(stream + 0x9e3779b97f4a7c15u));
    uint64_t places = s->thin[0].places * (s->thin[1].places ? s->thin[1].places : 1);
    for (uint32_t k = 0; k < GEN_FEW; k++)
        p.kept[k] = places > GEN_FEW ? gen_mix64(p.key + k) % places : k;
    return p;
}

GEN_FN int gen_keeps(const struct gen_plan *p, uint64_t i)
{
    const struct gen_range *r = p->spec.thin;
    uint64_t place = i / r[0].step % r[0].places;
    if (r[1].places)
        place = place * r[1].places + i / r[1].step % r[1].places;
    for (uint32_t k = 0; k < GEN_FEW; k++)
        if (p->kept[k] == place)
            return 1;
    return 0;
}

/* Would an exchange of elements destroy a structure of the data? */
GEN_FN int gen_has_structure(const struct gen_spec *s)
{
    return s->mask != GEN_MASK_NONE || s->dist >= GEN_CSR;
}

/* The length of a row before its padding. On average, at least 1 of 8 rows has no padding. */
GEN_FN uint64_t gen_length(const struct gen_plan *p, uint64_t row)
{
    uint64_t h = gen_mix64(p->key ^ gen_mix64(row + 0x2545f4914f6cdd1du));
    return h % 8 == 0 ? p->spec.cols : 1 + (h >> 8) % p->spec.cols;
}

GEN_FN int gen_masked(const struct gen_plan *p, uint64_t i)
{
    uint64_t col, row;
    if (p->spec.mask == GEN_MASK_NONE)
        return 0;
    col = i % p->spec.cols;
    row = i / p->spec.cols;
    if (p->spec.mask == GEN_PADDED)
        return col >= gen_length(p, row);
    row %= p->spec.rows;
    return p->spec.mask == GEN_LOWER ? col > row : col < row;
}

GEN_FN uint64_t gen_mask_bits(const struct gen_plan *p)
{
    return gen_encode(p->type, p->spec.mask == GEN_PADDED ? p->spec.pad : 0.0);
}

/* An integer below 2^32. The integers of a row never decrease, because each column draws from its
 * own part of the range. */
GEN_FN uint64_t gen_rising(const struct gen_plan *p, uint32_t x, uint64_t i)
{
    return ((i % p->spec.cols) << 32 | x) / p->spec.cols;
}

GEN_FN int gen_is_hot(const struct gen_plan *p, uint64_t i)
{
    return i % p->spec.cols == gen_mix64(p->key ^ gen_mix64(i / p->spec.cols)) % p->spec.cols;
}

/* Bell-shaped, symmetric about 0: the sum of eight random bytes, then 21 random bits. */
GEN_FN int32_t gen_bell(uint32_t x)
{
    uint32_t y = gen_mix32(x), m = 0x00ff00ffu;
    uint32_t s = (x & m) + (x >> 8 & m) + (y & m) + (y >> 8 & m);
    s = (s & 0xffff) + (s >> 16);
    uint32_t low = (x * 0x9E3779B1u + y * 0x85EBCA77u) >> 11;
    return (int32_t)((s << 21) + low - (1020u << 21) - (1u << 20));
}

/* Returns a uniformly distributed integer below `span`, which is at most 2^53. */
GEN_FN uint64_t gen_below(uint32_t x, uint64_t span)
{
    uint64_t hi = span >> 32, lo = span & 0xffffffffu;
    uint64_t v = x * hi + (x * lo >> 32);
    return hi ? v + (gen_mix32(x) * hi >> 32) : v;
}

/* floor(i * total / rows) without overflow, for i <= rows <= 2^32. */
GEN_FN uint64_t gen_share(uint64_t i, uint64_t total, uint64_t rows)
{
    return i * (total / rows) + i * (total % rows) / rows;
}

/*
 * Returns row pointer i. 16 rows form a group, and 256 rows a supergroup. All supergroups hold
 * equal shares of the total. In 1 of 16 supergroups one row holds the whole share. In the others
 * all groups hold equal shares:
 *   - in 1 of 8 groups one row holds the whole share;
 *   - in 1 of 8 groups every second row is empty;
 *   - in the rest a row holds 0 to 2 times the mean, at random.
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

/* A Feistel network permutes the numbers below a power of four. We apply it again until the result
 * is below n. */
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

/* x is the random word of an element. Returns which entry of gen_spec.special the element has, or
 * -1 for none. */
GEN_FN int gen_special_of(const struct gen_spec *s, uint32_t x)
{
    for (int k = 0; k < 2; k++) {
        uint32_t y = gen_mix32(x + 0x51ed2701u * (uint32_t)(k + 1));
        if (s->special[k] && s->every[k] && (uint64_t)y * s->every[k] >> 32 == 0)
            return k;
    }
    return -1;
}

/* Returns the bits of the special value in entry k. x is the element's random word. */
GEN_FN uint64_t gen_entry_bits(const struct gen_plan *p, int k, uint32_t x)
{
    if (p->spec.special[k] == GEN_SPECIAL_NUMBER)
        return gen_encode(p->type, p->spec.number[k]);
    return gen_special_bits(p->type, p->spec.special[k], x);
}

/* x is the random word of element i. */
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
    case GEN_SORTED:
        return gen_encode(p->type, p->spec.a + (double)gen_rising(p, x, i) * p->k);
    case GEN_ONE_HOT:
        return gen_encode(p->type, gen_is_hot(p, i) ? 1.0 : 0.0);
    case GEN_LENGTHS:
        return gen_encode(p->type, (double)gen_length(p, i));
    default:
        return 0;
    }
}

/* Adds masks, thin tensors and special values. */
GEN_FN uint64_t gen_bits(const struct gen_plan *p, uint32_t x, uint64_t i)
{
    int special = gen_special_of(&p->spec, x);
    if (gen_masked(p, i))
        return gen_mask_bits(p);
    if (p->spec.thin[0].places && !gen_keeps(p, i))
        return 0;
    return special >= 0 ? gen_entry_bits(p, special, x) : gen_value(p, x, i);
}

GEN_FN uint64_t gen_element(const struct gen_plan *p, uint64_t i)
{
    struct gen_block b = gen_words(p->seed, p->stream, 0, i / 4);
    return gen_bits(p, b.w[i % 4], i);
}

/*
 * To perturb an element means to give it the value of another draw. The new value is never special,
 * and its bits differ from the old ones.
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
    if (gen_masked(p, i))
        return was; /* another value would break the task's precondition */
    for (uint32_t draw = 1; draw < 64 && now == was; draw++) {
        struct gen_block b = gen_words(p->seed, p->stream, draw, i / 4);
        now = gen_value(p, b.w[i % 4], i);
    }
    return now;
}

/* ---- hash ------------------------------------------------------------------------------------ */

/*
 * The hash of a buffer is the sum of gen_hash_word() over its 8-byte little-endian words, so its
 * parts can be hashed in any order. Zeros pad the last word. A forger can defeat this hash.
 */
GEN_FN uint64_t gen_hash_word(uint64_t word, uint64_t index)
{
    return gen_mix64(word ^ gen_mix64(index + 0x632be59bd9b4e019u));
}

/* p is `left` bytes before the buffer's end, and need not be aligned. */
GEN_FN uint64_t gen_hash_load(const unsigned char *p, uint64_t left)
{
    uint64_t w = 0;
    for (uint64_t k = 0; k < (left < 8 ? left : 8); k++)
        w |= (uint64_t)p[k] << (8 * k);
    return w;
}

#endif
