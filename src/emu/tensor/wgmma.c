/* wgmma.c - warpgroup matrix products: opcodes, descriptors, operands, arithmetic (wgmma.h). */
#include "emu/tensor/wgmma.h"

#include <stdio.h>
#include <string.h>

#include "base/util.h"
#include "emu/tensor/tile.h"

/* ---- the opcode ----------------------------------------------------------------------------- */

/* Returns the k of a dense instruction: as many elements as fill 32 bytes. */
static unsigned dense_k(enum tc_type t)
{
    return 256 / tc_bits(t);
}

static bool types_fit(const struct wgmma_op *op)
{
    switch (op->a) {
    case TC_F16:
        return op->b == TC_F16 && (op->d == TC_F16 || op->d == TC_F32);
    case TC_BF16:
    case TC_TF32:
        return op->b == op->a && op->d == TC_F32;
    case TC_E4M3:
    case TC_E5M2:
        return (op->b == TC_E4M3 || op->b == TC_E5M2) && (op->d == TC_F16 || op->d == TC_F32);
    case TC_S8:
    case TC_U8:
        return (op->b == TC_S8 || op->b == TC_U8) && op->d == TC_S32;
    case TC_B1:
        return op->b == TC_B1 && op->d == TC_S32 && op->bitop == MMA_AND_POPC && !op->sparse;
    default:
        return false;
    }
}

static int take_part(struct wgmma_op *op, const char *s, unsigned *m, unsigned *ntypes,
                     enum tc_type *types)
{
    static const char *const ignored[] = {"wgmma", "mma_async", "sync", "aligned", "popc"};
    unsigned n, k;
    int end = 0;
    enum tc_type t = tc_from_name(s);
    if (t != TC_NONE) {
        if (*ntypes == 3)
            return -1;
        types[(*ntypes)++] = t;
    } else if (sscanf(s, "m%3un%3uk%3u%n", m, &n, &k, &end) == 3 && !s[end]) {
        op->n = (uint16_t)n;
        op->k = (uint16_t)k;
    } else if (str_eq(s, "sp")) {
        op->sparse = true;
    } else if (str_eq(s, "satfinite")) {
        op->satfinite = true;
    } else if (str_eq(s, "and")) {
        op->bitop = MMA_AND_POPC;
    } else {
        for (size_t i = 0; i < ARRAY_LEN(ignored); i++)
            if (str_eq(s, ignored[i]))
                return 0;
        return -1;
    }
    return 0;
}

/* Returns whether PTX has this n. It must be a multiple of 8; above 32, the n of an integer product
 * must be a multiple of 16. */
static bool n_fits(const struct wgmma_op *op)
{
    if (op->n < 8 || op->n > WGMMA_MAX_N || op->n % 8)
        return false;
    return !tc_is_int(op->a) || op->n <= 32 || op->n % 16 == 0;
}

int wgmma_decode(struct wgmma_op *op, const char *opcode, struct err *err)
{
    memset(op, 0, sizeof *op);
    enum tc_type types[3] = {TC_NONE, TC_NONE, TC_NONE};
    unsigned ntypes = 0, m = 0;
    for (const char *s = opcode; *s;) {
        char part[32];
        size_t len = strcspn(s, ".");
        if (len >= sizeof part)
            return err_set(err, ERR_INPUT, "unknown matrix instruction '%s'", opcode);
        memcpy(part, s, len);
        part[len] = 0;
        if (take_part(op, part, &m, &ntypes, types) < 0)
            return err_set(err, ERR_INPUT, "'.%s' of '%s' is not known", part, opcode);
        s += len + (s[len] == '.');
    }
    op->d = types[0];
    op->a = types[1];
    op->b = types[2];
    if (ntypes != 3 || m != 64 || !types_fit(op) || !n_fits(op) ||
        op->k != dense_k(op->a) * (op->sparse ? 2 : 1))
        return err_set(err, ERR_INPUT, "'%s' is not a wgmma instruction of sm_90a", opcode);
    return 0;
}

unsigned wgmma_d_regs(const struct wgmma_op *op)
{
    return op->n / (op->d == TC_F16 ? 4u : 2u);
}

/* ---- descriptors ---------------------------------------------------------------------------- */

struct wgmma_desc wgmma_desc(uint64_t bits)
{
    static const uint8_t chunks_log2[4] = {0, 3, 2, 1};
    return (struct wgmma_desc){
        .start = (uint32_t)(bits & 0x3fff) << 4,
        .lbo = (uint32_t)(bits >> 16 & 0x3fff) << 4,
        .sbo = (uint32_t)(bits >> 32 & 0x3fff) << 4,
        .base = (uint8_t)(bits >> 49 & 7),
        .swizzle = chunks_log2[bits >> 62],
    };
}

uint32_t wgmma_chunk(const struct wgmma_desc *d, bool mn, unsigned line, unsigned chunk)
{
    unsigned per_row = 1u << d->swizzle; /* chunks (16 bytes) of a line in a swizzle atom */
    uint32_t addr = d->start;
    if (d->swizzle == 0 && mn)
        addr += line % 8 * 16 + line / 8 * d->lbo + chunk * d->sbo;
    else if (d->swizzle == 0)
        addr += line % 8 * 16 + line / 8 * d->sbo + chunk * d->lbo;
    else
        addr += line % 8 * per_row * 16 + line / 8 * d->sbo + chunk % per_row * 16 +
                chunk / per_row * d->lbo;
    uint32_t phase = ((addr >> 7) - d->base) & (per_row - 1);
    return addr ^ phase << 4;
}

struct wgmma_span wgmma_span_a(const struct wgmma_op *op, unsigned warp)
{
    unsigned k = op->sparse ? op->k / 2u : op->k;
    if (op->a_mn)
        return (struct wgmma_span){0, k, warp * 2, 2};
    return (struct wgmma_span){warp * 16, 16, 0, k * tc_bits(op->a) / 128};
}

struct wgmma_span wgmma_span_b(const struct wgmma_op *op)
{
    if (op->b_mn)
        return (struct wgmma_span){0, op->k, 0, op->n / 8u};
    return (struct wgmma_span){0, op->n, 0, op->k * tc_bits(op->b) / 128};
}

/* ---- operands ------------------------------------------------------------------------------- */

static void decode(enum tc_type t, const void *src, uint32_t *dst, size_t n)
{
    if (t == TC_B1)
        memcpy(dst, src, n / 8); /* bits stay packed: n bits in n/32 cells */
    else if (tc_is_int(t))
        tc_to_i32(t, src, (int32_t *)dst, n);
    else
        tc_to_f32(t, src, (float *)dst, n);
}

static void read_chunk(const uint8_t *smem, uint32_t smem_bytes, uint32_t addr, uint8_t out[16])
{
    if (addr <= smem_bytes && smem_bytes - addr >= 16)
        memcpy(out, smem + addr, 16);
    else
        memset(out, 0, 16);
}

/* Returns the number of cells in a row of A: k (sparse: k/2) floats or integers, or k/32 words of
 * bits. */
static unsigned a_ld(const struct wgmma_op *op)
{
    return op->a == TC_B1 ? op->k / 32u : op->sparse ? op->k / 2u : op->k;
}

static void negate(uint32_t *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        x[i] ^= 0x80000000u;
}

void wgmma_load_a(const struct wgmma_op *op, const uint8_t *smem, uint32_t smem_bytes,
                  uint64_t desc, unsigned warp, uint32_t *x)
{
    struct wgmma_desc d = wgmma_desc(desc);
    struct wgmma_span s = wgmma_span_a(op, warp);
    unsigned ld = a_ld(op), cells = op->a == TC_B1 ? 4 : 128 / tc_bits(op->a);
    uint8_t raw[16];
    for (unsigned l = 0; l < s.lines; l++)
        for (unsigned c = 0; c < s.chunks; c++) {
            read_chunk(smem, smem_bytes, wgmma_chunk(&d, op->a_mn, s.line0 + l, s.chunk0 + c), raw);
            if (!op->a_mn) {
                decode(op->a, raw, x + l * ld + c * cells, 128 / tc_bits(op->a));
                continue;
            }
            uint32_t col[8]; /* eight rows at one k */
            decode(op->a, raw, col, 8);
            for (unsigned i = 0; i < 8; i++)
                x[(c * 8 + i) * ld + l] = col[i];
        }
    if (op->a_neg)
        negate(x, 16u * ld);
}

void wgmma_load_a_regs(const struct wgmma_op *op, uint32_t *const *regs, uint32_t *x)
{
    unsigned ld = a_ld(op), e = 32 / tc_bits(op->a), cells = op->a == TC_B1 ? 4 : 4 * e;
    for (unsigned r = 0; r < 4; r++)
        for (unsigned g = 0; g < 8; g++)
            decode(op->a, &regs[r][4 * g], x + (size_t)((r & 1) * 8 + g) * ld + (r >> 1) * cells,
                   4 * e);
    if (op->a_neg)
        negate(x, 16u * ld);
}

/* In shared memory, a K-major B has a line for each n. *x has a line for each k. So we gather the
 * packed lines, decode them and transpose them. */
static void load_b_kmajor(const struct wgmma_op *op, const uint8_t *smem, uint32_t smem_bytes,
                          const struct wgmma_desc *d, uint32_t *x)
{
    static _Thread_local uint8_t raw[WGMMA_MAX_N * 64];
    static _Thread_local uint32_t rows[WGMMA_MAX_N * 64];
    unsigned chunks = op->k * tc_bits(op->b) / 128;
    for (unsigned n = 0; n < op->n; n++)
        for (unsigned c = 0; c < chunks; c++)
            read_chunk(smem, smem_bytes, wgmma_chunk(d, false, n, c),
                       raw + (size_t)(n * chunks + c) * 16);
    decode(op->b, raw, rows, (size_t)op->n * op->k);
    unsigned k = op->b == TC_B1 ? op->k / 32u : op->k;
    tile_transpose(rows, k, op->n, k, x, op->n);
}

void wgmma_load_b(const struct wgmma_op *op, const uint8_t *smem, uint32_t smem_bytes,
                  uint64_t desc, uint32_t *x)
{
    struct wgmma_desc d = wgmma_desc(desc);
    if (!op->b_mn) {
        load_b_kmajor(op, smem, smem_bytes, &d, x);
    } else {
        for (unsigned k = 0; k < op->k; k++)
            for (unsigned c = 0; c < op->n / 8u; c++) {
                uint8_t raw[16];
                read_chunk(smem, smem_bytes, wgmma_chunk(&d, true, k, c), raw);
                decode(op->b, raw, x + (size_t)k * op->n + c * 8, 8);
            }
    }
    if (op->b_neg)
        negate(x, (size_t)op->k * op->n);
}

/* ---- the product ---------------------------------------------------------------------------- */

static void bit_product(const struct wgmma_op *op, const uint32_t *a, const uint32_t *b,
                        uint32_t *acc)
{
    unsigned words = op->k / 32u;
    for (unsigned i = 0; i < 16; i++)
        for (unsigned w = 0; w < words; w++)
            for (unsigned j = 0; j < op->n; j++)
                acc[i * op->n + j] +=
                    (uint32_t)__builtin_popcount(a[i * words + w] & b[(size_t)w * op->n + j]);
}

static void int_product(const struct wgmma_op *op, const int32_t *a, const uint16_t *idx,
                        const int32_t *b, int32_t *acc)
{
    int32_t sum[16 * WGMMA_MAX_N] = {0};
    int32_t *to = op->satfinite ? sum : acc;
    if (op->sparse)
        tile_i32_sparse(to, op->n, a, idx, b, op->n, 16, op->n, op->k / 2u);
    else
        tile_i32(to, op->n, a, op->k, b, op->n, 16, op->n, op->k);
    for (unsigned i = 0; op->satfinite && i < 16u * op->n; i++) {
        int64_t v = (int64_t)acc[i] + sum[i];
        acc[i] = v > INT32_MAX ? INT32_MAX : v < INT32_MIN ? INT32_MIN : (int32_t)v;
    }
}

void wgmma_product(const struct wgmma_op *op, const uint32_t *a, const uint32_t *b,
                   const uint32_t *meta, unsigned sel, bool scale_d, uint32_t *acc)
{
    uint16_t idx[16 * WGMMA_MAX_K / 2];
    if (!scale_d)
        memset(acc, 0, 16u * op->n * sizeof *acc);
    if (op->sparse)
        mma_sparse_index(idx, op->k, op->a, meta, sel);
    if (op->a == TC_B1)
        bit_product(op, a, b, acc);
    else if (tc_is_int(op->a))
        int_product(op, (const int32_t *)a, idx, (const int32_t *)b, (int32_t *)acc);
    else if (op->sparse)
        tile_f32_sparse((float *)acc, op->n, (const float *)a, idx, (const float *)b, op->n, 16,
                        op->n, op->k / 2u);
    else
        tile_f32((float *)acc, op->n, (const float *)a, op->k, (const float *)b, op->n, 16, op->n,
                 op->k);
}

/* ---- accumulators --------------------------------------------------------------------------- */

/* Copies the accumulator from registers to its dense form. Four registers (two with pairs of f16)
 * hold eight columns of D: lane 4g+t has rows g and g+8 of columns 2t and 2t+1. */
void wgmma_acc_load(const struct wgmma_op *op, uint32_t *const *regs, uint32_t *acc)
{
    for (unsigned nb = 0; nb < op->n / 8u; nb++)
        for (unsigned h = 0; h < 2; h++)
            for (unsigned g = 0; g < 8; g++) {
                uint32_t *o = acc + (size_t)(h * 8 + g) * op->n + nb * 8;
                if (op->d == TC_F16) {
                    tc_to_f32(TC_F16, &regs[nb * 2 + h][4 * g], (float *)o, 8);
                    continue;
                }
                const uint32_t *lo = &regs[nb * 4 + h * 2][4 * g];
                const uint32_t *hi = &regs[nb * 4 + h * 2 + 1][4 * g];
                for (unsigned t = 0; t < 4; t++) {
                    o[2 * t] = lo[t];
                    o[2 * t + 1] = hi[t];
                }
            }
}

static inline uint32_t canonical(uint32_t u)
{
    return (u & 0x7fffffffu) > 0x7f800000u ? TC_NAN32 : u;
}

void wgmma_acc_round(const struct wgmma_op *op, uint32_t *acc)
{
    if (op->d != TC_F16)
        return;
    for (unsigned i = 0; i < 16u * op->n; i++) {
        float f;
        memcpy(&f, &acc[i], 4);
        uint16_t h = tc_f16_round(f);
        tc_to_f32(TC_F16, &h, (float *)&acc[i], 1);
    }
}

void wgmma_acc_store(const struct wgmma_op *op, const uint32_t *acc, uint32_t *const *regs)
{
    bool is_float = op->d == TC_F32;
    for (unsigned nb = 0; nb < op->n / 8u; nb++)
        for (unsigned h = 0; h < 2; h++)
            for (unsigned g = 0; g < 8; g++) {
                const uint32_t *o = acc + (size_t)(h * 8 + g) * op->n + nb * 8;
                if (op->d == TC_F16) {
                    for (unsigned t = 0; t < 4; t++) {
                        float x[2];
                        memcpy(x, o + 2 * t, 8);
                        regs[nb * 2 + h][4 * g + t] =
                            tc_f16_round(x[0]) | (uint32_t)tc_f16_round(x[1]) << 16;
                    }
                    continue;
                }
                uint32_t *lo = &regs[nb * 4 + h * 2][4 * g];
                uint32_t *hi = &regs[nb * 4 + h * 2 + 1][4 * g];
                for (unsigned t = 0; t < 4; t++) {
                    lo[t] = is_float ? canonical(o[2 * t]) : o[2 * t];
                    hi[t] = is_float ? canonical(o[2 * t + 1]) : o[2 * t + 1];
                }
            }
}
