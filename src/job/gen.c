/*
 * gen.c - runs gen_core.h over ranges of elements, in chunks. For each chunk, one loop makes all
 * random words. For normal and uniform data another loop turns the words into values. The compiler
 * can vectorise both loops.
 */
#include "job/gen.h"

#include <string.h>

#include "base/util.h"

_Static_assert((int)GEN_T_F64 == DT_F64 && (int)GEN_T_F32 == DT_F32 && (int)GEN_T_F16 == DT_F16 &&
                   (int)GEN_T_BF16 == DT_BF16 && (int)GEN_T_F8E4M3 == DT_F8E4M3 &&
                   (int)GEN_T_F8E5M2 == DT_F8E5M2 && (int)GEN_T_I64 == DT_I64 &&
                   (int)GEN_T_I32 == DT_I32 && (int)GEN_T_I16 == DT_I16 && (int)GEN_T_I8 == DT_I8 &&
                   (int)GEN_T_U64 == DT_U64 && (int)GEN_T_U32 == DT_U32 &&
                   (int)GEN_T_U16 == DT_U16 && (int)GEN_T_U8 == DT_U8 && (int)GEN_T_BOOL == DT_BOOL,
               "gen_core.h and dtype.h number the types differently");

/* Elements of a chunk. MEDIUM and SMALL are for short ranges. */
enum { CHUNK = 256, MEDIUM = 128, SMALL = 32 };

/* Makes the words of elements 4*block .. 4*(block + nblocks) - 1, as gen_words() does, but on
 * several blocks at once, with all rounds in registers. */
static inline __attribute__((always_inline)) void
chunk_words(uint64_t seed, uint32_t stream, uint64_t block, unsigned nblocks, uint32_t *w)
{
    uint32_t lo = (uint32_t)block, hi = (uint32_t)(block >> 32);
    uint32_t key0 = (uint32_t)seed, key1 = (uint32_t)(seed >> 32);
    for (unsigned b = 0; b < nblocks; b++) {
        uint32_t c0 = lo + b, c1 = hi + (c0 < lo), c2 = stream, c3 = 0;
#pragma GCC unroll 10
        for (uint32_t round = 0; round < GEN_ROUNDS; round++)
            gen_philox_round(&c0, &c1, &c2, &c3, key0 + round * GEN_KEY_STEP0,
                             key1 + round * GEN_KEY_STEP1);
        w[4 * b] = c0;
        w[4 * b + 1] = c1;
        w[4 * b + 2] = c2;
        w[4 * b + 3] = c3;
    }
}

static void store_bits(void *dst, size_t bytes, uint64_t v)
{
    memcpy(dst, &v, bytes); /* little-endian, like every GPU */
}

/* Sets v[j] to the value that word w[j] gives, before it is rounded to the dtype. */
static inline void chunk_values(const struct gen_plan *p, const uint32_t *w, unsigned n, double *v)
{
    double a = p->spec.a, k = p->k;
    if (p->spec.dist == GEN_NORMAL)
        for (unsigned j = 0; j < n; j++)
            v[j] = a + (double)gen_bell(w[j]) * k;
    else
        for (unsigned j = 0; j < n; j++)
            v[j] = a + (double)w[j] * k;
}

/* Rounds to float16 or bfloat16, with the same bits as gen_encode(). */
static inline void chunk_halves(int type, const double *v, unsigned n, uint16_t *h)
{
    int mant = type == GEN_T_F16 ? 10 : 7, bias = type == GEN_T_F16 ? 15 : 127;
    uint64_t least = (uint64_t)(1024 - bias) << 52, past = (uint64_t)(1022 + bias) << 52, odd = 0;
    for (unsigned j = 0; j < n; j++) {
        uint64_t bits = gen_f64_bits(v[j]), a = bits & ~(UINT64_C(1) << 63);
        uint64_t r = a + (UINT64_C(1) << (51 - mant)) - 1 + (a >> (52 - mant) & 1);
        odd |= (uint64_t)(a < least) | (uint64_t)(a >= past);
        h[j] =
            (uint16_t)(bits >> 63 << 15 | ((r >> (52 - mant)) - ((uint64_t)(1023 - bias) << mant)));
    }
    for (unsigned j = 0; odd && j < n; j++) { /* redo values that are not normal in this type */
        uint64_t a = gen_f64_bits(v[j]) & ~(UINT64_C(1) << 63);
        if (a < least || a >= past)
            h[j] = (uint16_t)gen_encode(type, v[j]);
    }
}

/* The chunk starts at element `base` of the tensor and has n words. Stores its elements [from, to)
 * at dst. */
static inline __attribute__((always_inline)) void chunk_store(const struct gen_plan *p,
                                                              const uint32_t *w, unsigned n,
                                                              uint64_t base, unsigned from,
                                                              unsigned to, char *dst)
{
    size_t bytes = gen_type_bytes(p->type);
    bool bell = p->spec.dist == GEN_NORMAL || p->spec.dist == GEN_UNIFORM;
    double v[CHUNK];
    if (bell)
        chunk_values(p, w, n, v);
    if (bell && p->type == GEN_T_F32) {
        float f[CHUNK];
        for (unsigned j = 0; j < n; j++)
            f[j] = (float)v[j];
        memcpy(dst, f + from, (to - from) * sizeof *f);
    } else if (bell && bytes == 2) {
        uint16_t h[CHUNK];
        if (p->type == GEN_T_F16)
            chunk_halves(GEN_T_F16, v, n, h);
        else if (p->type == GEN_T_BF16)
            chunk_halves(GEN_T_BF16, v, n, h);
        else
            for (unsigned j = 0; j < n; j++)
                h[j] = (uint16_t)gen_encode(p->type, v[j]);
        memcpy(dst, h + from, (to - from) * sizeof *h);
    } else if (bell) {
        for (unsigned j = from; j < to; j++)
            store_bits(dst + (j - from) * bytes, bytes, gen_encode(p->type, v[j]));
    } else {
        for (unsigned j = from; j < to; j++)
            store_bits(dst + (j - from) * bytes, bytes, gen_value(p, w[j], base + j));
    }
    for (unsigned j = from; (p->spec.every[0] || p->spec.every[1]) && j < to; j++) {
        int special = gen_special_of(&p->spec, w[j]);
        if (special >= 0)
            store_bits(dst + (j - from) * bytes, bytes, gen_entry_bits(p, special, w[j]));
    }
    for (unsigned j = from; p->spec.thin[0].places && j < to; j++)
        if (!gen_keeps(p, base + j))
            memset(dst + (j - from) * bytes, 0, bytes);
    for (unsigned j = from; p->spec.mask && j < to; j++)
        if (gen_masked(p, base + j))
            store_bits(dst + (j - from) * bytes, bytes, gen_mask_bits(p));
}

static inline __attribute__((always_inline)) void fill_chunk(const struct gen_plan *p,
                                                             uint64_t base, unsigned n,
                                                             unsigned from, unsigned to, char *dst)
{
    uint32_t w[CHUNK];
    chunk_words(p->seed, p->stream, base / 4, n / 4, w);
    chunk_store(p, w, n, base, from, to, dst);
}

void gen_fill(const struct gen_spec *spec, enum dtype t, uint64_t seed, uint32_t stream,
              uint64_t first, uint64_t count, void *dst)
{
    struct gen_plan p = gen_prepare(spec, (int)t, seed, stream);
    char *out = dst;
    size_t bytes = dtype_bytes(t);
    for (uint64_t i = first, end = first + count; i < end;) {
        uint64_t base = i & ~(uint64_t)3;
        unsigned n = end - base >= CHUNK ? CHUNK : end - base >= MEDIUM ? MEDIUM : SMALL;
        unsigned from = (unsigned)(i - base), to = (unsigned)MIN(end - base, (uint64_t)n);
        if (n == CHUNK) /* each size has its own loops, with a constant length */
            fill_chunk(&p, base, CHUNK, from, to, out);
        else if (n == MEDIUM)
            fill_chunk(&p, base, MEDIUM, from, to, out);
        else
            fill_chunk(&p, base, SMALL, from, to, out);
        out += (to - from) * bytes;
        i = base + to;
    }
}

void gen_fill_perturbed(const struct gen_spec *spec, enum dtype t, uint64_t seed, uint32_t stream,
                        uint64_t elem, void *dst)
{
    struct gen_plan p = gen_prepare(spec, (int)t, seed, stream);
    store_bits(dst, dtype_bytes(t), gen_perturbed(&p, elem));
}

uint64_t gen_hash(const void *p, size_t n, uint64_t offset)
{
    const unsigned char *b = p;
    uint64_t sum = 0, index = offset / 8, whole = n / 8;
    for (uint64_t k = 0; k < whole; k++) {
        uint64_t w;
        memcpy(&w, b + 8 * k, sizeof w);
        sum += gen_hash_word(w, index + k);
    }
    if (n % 8)
        sum += gen_hash_word(gen_hash_load(b + 8 * whole, n % 8), index + whole);
    return sum;
}
