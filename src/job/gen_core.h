/*
 * gen_core.h - the arithmetic of generated data, in the common subset of C17 and C++17.
 *
 * This text is compiled into `hone`, into `hone-worker` and, by NVRTC, into Hone's device code. All
 * of them produce the same bits, because no step can round in two ways:
 *
 *   1. Random words come from Philox4x32-10: integers only.
 *   2. A float is a + w * k. Here w is an integer below 2^32, and k is a double cut to 21
 *      significant bits. So w * k is exact, and only the addition rounds. A fused multiply-add
 *      gives the same result.
 *   3. Integer arithmetic (gen_round) rounds a double to a narrower type, once, to nearest even.
 *
 * Element i of a tensor is a function of (spec, dtype, seed, stream, i) alone. It comes from word
 * number i % 4 of the Philox block with counter (i / 4, stream, draw) and key `seed`. Draw 0 makes
 * the data; later draws make the values of perturbed elements.
 */
#ifndef JOB_GEN_CORE_H
#define JOB_GEN_CORE_H

#include "base/number_core.h"

enum gen_dist {
    /* Mean a and standard deviation b. It is a sum of uniform numbers, so no value is more than 4.9
     * deviations from the mean. */
    GEN_NORMAL,
    GEN_UNIFORM,  /* uniform numbers from a to b */
    GEN_INT,      /* integers from a to b, including a and b */
    GEN_CONST,    /* always a */
    GEN_ZERO,     /* always 0 */
    GEN_DENORMAL, /* random denormals of the dtype, of both signs; 0 if the dtype is an integer */
    GEN_CSR,      /* row pointers: n numbers from 0 to b that never decrease; rows are uneven */
    GEN_PERM,     /* a permutation of the numbers from 0 to n - 1 */
    GEN_SORTED,   /* numbers from a to b that never decrease along a row */
    GEN_ONE_HOT,  /* one 1 in each row, zeros elsewhere */
    GEN_LENGTHS,  /* the lengths, from 1 to cols, of the rows of a tensor with GEN_PADDED */
    GEN_DIST_COUNT
};

/* A mask gives some elements a fixed value, whatever the distribution is. A row lies along the last
 * dimension. The last two dimensions form a matrix. */
enum gen_mask {
    GEN_MASK_NONE,
    GEN_LOWER, /* elements above the diagonal are zero */
    GEN_UPPER, /* elements below the diagonal are zero */
    GEN_PADDED /* elements after the end of a row are `pad`; the seed chooses where rows end */
};

enum gen_special {
    GEN_SPECIAL_NONE,
    GEN_POS_INF,
    GEN_NEG_INF,
    GEN_NAN,
    GEN_SPECIAL_ZERO,
    GEN_SPECIAL_DENORMAL,
    GEN_SPECIAL_MAX, /* the largest finite value, of either sign */
    GEN_SPECIAL_COUNT
};

enum { GEN_FEW = 4, GEN_THIN_RANGES = 2 };

/* A range of adjacent dimensions of a tensor, seen as one dimension. It has `places` places, and
 * neighbouring places are `step` elements apart. */
struct gen_range {
    uint64_t places, step;
};

struct gen_spec {
    uint8_t dist; /* enum gen_dist */
    /* About one element in every[i], drawn at random, has the value special[i] (enum gen_special).
     * If every[i] is 0, no element has it. */
    uint8_t special[2];
    uint32_t every[2];
    double a, b; /* see enum gen_dist */
    uint64_t n;  /* how many elements the tensor has; only for GEN_CSR and GEN_PERM */
    /* A thin tensor is zero except at GEN_FEW places, which the seed chooses. With two ranges, a
     * place is a pair: one place of each range. A range of 0 places is absent. If thin[0] is
     * absent, thin[1] is absent too, and the tensor is not thin. */
    struct gen_range thin[GEN_THIN_RANGES];
    uint8_t mask; /* enum gen_mask */
    /* The last two dimensions. They matter only for masks, GEN_SORTED, GEN_ONE_HOT and
     * GEN_LENGTHS. */
    uint64_t rows, cols;
    double pad; /* for GEN_PADDED */
};

/* ---- distributions --------------------------------------------------------------------------- */

/* A spec, and the values that we compute from it once for all elements. */
struct gen_plan {
    struct gen_spec spec;
    int type;
    uint64_t seed;
    uint32_t stream;
    /* For GEN_NORMAL, GEN_UNIFORM and GEN_SORTED: by how much the value changes if the random word
     * changes by 1. */
    double k;
    uint64_t span;          /* for GEN_INT: how many integers there are from a to b */
    uint64_t key;           /* decides random choices that do not use the element's random word */
    uint64_t kept[GEN_FEW]; /* the places of a thin tensor that are not zero */
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

/* Returns whether element i of a thin tensor keeps its value, and does not become zero. */
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

/* Returns whether the data has a structure that an exchange of elements would destroy. */
GEN_FN int gen_has_structure(const struct gen_spec *s)
{
    return s->mask != GEN_MASK_NONE || s->dist >= GEN_CSR;
}

/* Returns how many elements of a row of a padded tensor come before the padding. At least 1 of 8
 * rows has no padding, on average. */
GEN_FN uint64_t gen_length(const struct gen_plan *p, uint64_t row)
{
    uint64_t h = gen_mix64(p->key ^ gen_mix64(row + 0x2545f4914f6cdd1du));
    return h % 8 == 0 ? p->spec.cols : 1 + (h >> 8) % p->spec.cols;
}

/* Returns whether the mask gives element i a fixed value. */
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

/* Returns a random integer below 2^32 for element i, from its random word x. The integers of a row
 * never decrease, because each column draws from its own part of the range. */
GEN_FN uint64_t gen_rising(const struct gen_plan *p, uint32_t x, uint64_t i)
{
    return ((i % p->spec.cols) << 32 | x) / p->spec.cols;
}

GEN_FN int gen_is_hot(const struct gen_plan *p, uint64_t i)
{
    return i % p->spec.cols == gen_mix64(p->key ^ gen_mix64(i / p->spec.cols)) % p->spec.cols;
}

/* Returns a random integer with a bell-shaped distribution, symmetric about 0. Its high bits are
 * the sum of eight random bytes, its low 21 bits are random. */
GEN_FN int32_t gen_bell(uint32_t x)
{
    uint32_t y = gen_mix32(x), m = 0x00ff00ffu;
    uint32_t s = (x & m) + (x >> 8 & m) + (y & m) + (y >> 8 & m);
    s = (s & 0xffff) + (s >> 16);
    uint32_t low = (x * 0x9E3779B1u + y * 0x85EBCA77u) >> 11;
    return (int32_t)((s << 21) + low - (1020u << 21) - (1u << 20));
}

/* Turns the random word x into an integer below `span`, uniformly. `span` is at most 2^53. */
GEN_FN uint64_t gen_below(uint32_t x, uint64_t span)
{
    uint64_t hi = span >> 32, lo = span & 0xffffffffu;
    uint64_t v = x * hi + (x * lo >> 32);
    return hi ? v + (gen_mix32(x) * hi >> 32) : v;
}

/* Returns floor(i * total / rows) without overflow, for i <= rows <= 2^32. */
GEN_FN uint64_t gen_share(uint64_t i, uint64_t total, uint64_t rows)
{
    return i * (total / rows) + i * (total % rows) / rows;
}

/*
 * Returns row pointer i. Rows form groups of 16 and supergroups of 256. All supergroups hold equal
 * shares of the total. In 1 of 16 supergroups, one row holds the whole share (256 times the mean of
 * a row). In all other supergroups, the groups hold equal shares. In 1 of 8 of these groups, one
 * row holds the whole share (16 times the mean). In another 1 of 8, every second row is empty. In
 * the rest of the groups a row holds from 0 to twice the mean. There we begin with the row pointers
 * that equal rows would have, and move each one up by a random amount, at most to the next.
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

/* Returns element i of a permutation of the numbers from 0 to n - 1. A Feistel network permutes the
 * numbers below the next power of four. We apply it again until the result is below n. */
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

/* Returns the special value of an element with random word x, or GEN_SPECIAL_NONE. The decision
 * uses another random word, y, which we derive from x. */
GEN_FN int gen_special_of(const struct gen_spec *s, uint32_t x)
{
    for (int k = 0; k < 2; k++) {
        uint32_t y = gen_mix32(x + 0x51ed2701u * (uint32_t)(k + 1));
        if (s->every[k] && (uint64_t)y * s->every[k] >> 32 == 0)
            return s->special[k];
    }
    return GEN_SPECIAL_NONE;
}

/* Returns the bits that the distribution gives to element i, from its random word x. Some
 * distributions need only i. */
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

/* Returns the bits of element i, from its random word x. Unlike gen_value(), this considers masks,
 * thin tensors and special values. */
GEN_FN uint64_t gen_bits(const struct gen_plan *p, uint32_t x, uint64_t i)
{
    int special = gen_special_of(&p->spec, x);
    if (gen_masked(p, i))
        return gen_mask_bits(p);
    if (p->spec.thin[0].places && !gen_keeps(p, i))
        return 0;
    return special ? gen_special_bits(p->type, special, x) : gen_value(p, x, i);
}

GEN_FN uint64_t gen_element(const struct gen_plan *p, uint64_t i)
{
    struct gen_block b = gen_words(p->seed, p->stream, 0, i / 4);
    return gen_bits(p, b.w[i % 4], i);
}

/*
 * To perturb an element means to give it the value of another draw. The new value is never special,
 * and its bits differ from those of the old value. A tensor can be perturbed only if its
 * distribution draws at random.
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
 * A hash of a buffer's bytes: the sum of gen_hash_word() over its 8-byte little-endian words. Zeros
 * pad the last word. Because the hash is a sum, parts of a buffer can be hashed separately, in any
 * order, and added up. The hash detects accidental and careless changes. A forger who knows how it
 * works can defeat it.
 */
GEN_FN uint64_t gen_hash_word(uint64_t word, uint64_t index)
{
    return gen_mix64(word ^ gen_mix64(index + 0x632be59bd9b4e019u));
}

/* Returns the word at p. The buffer ends `left` bytes after p. p need not be aligned. */
GEN_FN uint64_t gen_hash_load(const unsigned char *p, uint64_t left)
{
    uint64_t w = 0;
    for (uint64_t k = 0; k < (left < 8 ? left : 8); k++)
        w |= (uint64_t)p[k] << (8 * k);
    return w;
}

#endif
