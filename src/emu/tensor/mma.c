/*
 * mma.c - matrix products of a warp: opcodes, fragment layouts, sparsity, arithmetic. See mma.h.
 *
 * A matrix is a grid of blocks. One register of an A or B fragment, in all 32 lanes together, holds
 * a block of 8 lines by 16 bytes. A line is a row of A or a column of B. Lane 4g+t (g = 0..7, t =
 * 0..3) holds bytes 4t..4t+3 of line g. A block of accumulators has 8 rows by 8 columns: lane 4g+t
 * holds columns 2t and 2t+1 of row g, in one register for f16 and in two for 32-bit types. The f64
 * forms and Volta's m8n8k4 differ.
 */
#include "emu/tensor/mma.h"

#include <fenv.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "emu/tensor/tile.h"

#define MAX_M 32
#define MAX_N 32
#define MAX_K 256

/* ---- decoding the opcode -------------------------------------------------------------------- */

struct form {
    uint16_t m, n, k;
    enum tc_type a;
    uint8_t dense, sparse, wmma;
};

/* The shapes (m, n, k) of each operand type, and whether mma, mma.sp and wmma.mma have them. In
 * sparse forms, k includes the zeros that A does not store. */
static const struct form forms[] = {
    {8, 8, 4, TC_F16, 1, 0, 0},    {16, 8, 8, TC_F16, 1, 0, 0},    {16, 8, 16, TC_F16, 1, 1, 0},
    {16, 8, 32, TC_F16, 0, 1, 0},  {16, 8, 8, TC_BF16, 1, 0, 0},   {16, 8, 16, TC_BF16, 1, 1, 0},
    {16, 8, 32, TC_BF16, 0, 1, 0}, {16, 8, 4, TC_TF32, 1, 0, 0},   {16, 8, 8, TC_TF32, 1, 1, 0},
    {16, 8, 16, TC_TF32, 0, 1, 0}, {8, 8, 4, TC_F64, 1, 0, 1},     {16, 8, 4, TC_F64, 1, 0, 0},
    {16, 8, 8, TC_F64, 1, 0, 0},   {16, 8, 16, TC_F64, 1, 0, 0},   {8, 8, 16, TC_S8, 1, 0, 0},
    {16, 8, 16, TC_S8, 1, 0, 0},   {16, 8, 32, TC_S8, 1, 1, 0},    {16, 8, 64, TC_S8, 0, 1, 0},
    {8, 8, 32, TC_S4, 1, 0, 1},    {16, 8, 32, TC_S4, 1, 0, 0},    {16, 8, 64, TC_S4, 1, 1, 0},
    {16, 8, 128, TC_S4, 0, 1, 0},  {8, 8, 128, TC_B1, 1, 0, 1},    {16, 8, 128, TC_B1, 1, 0, 0},
    {16, 8, 256, TC_B1, 1, 0, 0},  {16, 8, 16, TC_E4M3, 1, 0, 0},  {16, 8, 32, TC_E4M3, 1, 0, 0},
    {16, 8, 64, TC_E4M3, 0, 1, 0}, {16, 16, 16, TC_F16, 0, 0, 1},  {32, 8, 16, TC_F16, 0, 0, 1},
    {8, 32, 16, TC_F16, 0, 0, 1},  {16, 16, 16, TC_BF16, 0, 0, 1}, {32, 8, 16, TC_BF16, 0, 0, 1},
    {8, 32, 16, TC_BF16, 0, 0, 1}, {16, 16, 8, TC_TF32, 0, 0, 1},  {16, 16, 16, TC_S8, 0, 0, 1},
    {32, 8, 16, TC_S8, 0, 0, 1},   {8, 32, 16, TC_S8, 0, 0, 1},
};

static enum tc_type family(enum tc_type t)
{
    switch (t) {
    case TC_U8:
        return TC_S8;
    case TC_U4:
        return TC_S4;
    case TC_E5M2:
        return TC_E4M3;
    default:
        return t;
    }
}

static bool shape_known(const struct mma_op *op)
{
    for (size_t i = 0; i < ARRAY_LEN(forms); i++) {
        const struct form *f = &forms[i];
        if (f->m == op->m && f->n == op->n && f->k == op->k && f->a == family(op->a))
            return op->wmma ? f->wmma : op->sparse ? f->sparse : f->dense;
    }
    return false;
}

static bool types_fit(const struct mma_op *op)
{
    enum tc_type f = family(op->a);
    if (family(op->b) != f)
        return false;
    switch (f) {
    case TC_F16:
    case TC_E4M3:
        if (op->quad4 || op->wmma)
            return (op->c == TC_F16 || op->c == TC_F32) && (op->d == TC_F16 || op->d == TC_F32);
        return op->c == op->d && (op->c == TC_F16 || op->c == TC_F32);
    case TC_BF16:
    case TC_TF32:
        return op->c == TC_F32 && op->d == TC_F32;
    case TC_F64:
        return op->c == TC_F64 && op->d == TC_F64;
    default:
        return op->c == TC_S32 && op->d == TC_S32;
    }
}

static bool parse_shape(struct mma_op *op, const char *s)
{
    unsigned m, n, k;
    int end = 0;
    if (sscanf(s, "m%3un%3uk%3u%n", &m, &n, &k, &end) != 3 || s[end])
        return false;
    op->m = (uint16_t)m;
    op->n = (uint16_t)n;
    op->k = (uint16_t)k;
    return true;
}

/* The parts of an opcode that were read so far. */
struct parts {
    enum tc_type types[4];
    unsigned ntypes, nlayouts;
    bool shape; /* one of them was a shape */
};

static int take_part(struct mma_op *op, struct parts *p, const char *s)
{
    static const char *const ignored[] = {"sync", "aligned", "popc", "kind::f8f6f4",
                                          "mma",  "wmma",    ""};
    enum tc_type t = tc_from_name(s);
    if (t != TC_NONE) {
        if (p->ntypes == 4)
            return -1;
        p->types[p->ntypes++] = t;
        return 0;
    }
    if (parse_shape(op, s)) {
        p->shape = true;
    } else if (str_eq(s, "row") || str_eq(s, "col")) {
        if (p->nlayouts == 0)
            op->a_col = s[0] == 'c';
        else
            op->b_row = s[0] == 'r';
        p->nlayouts++;
    } else if (str_eq(s, "satfinite")) {
        op->satfinite = true;
    } else if (str_eq(s, "sp") || str_eq(s, "sp::ordered_metadata")) {
        op->sparse = true;
    } else if (str_eq(s, "xor") || str_eq(s, "and")) {
        op->bitop = s[0] == 'x' ? MMA_XOR_POPC : MMA_AND_POPC;
    } else if (str_eq(s, "rn") || str_eq(s, "rz") || str_eq(s, "rm") || str_eq(s, "rp")) {
        op->round = s[1] == 'n' ? MMA_RN : s[1] == 'z' ? MMA_RZ : s[1] == 'm' ? MMA_RM : MMA_RP;
    } else {
        for (size_t i = 0; i < ARRAY_LEN(ignored); i++)
            if (str_eq(s, ignored[i]))
                return 0;
        return -1;
    }
    return 0;
}

int mma_decode(struct mma_op *op, const char *opcode, struct err *err)
{
    memset(op, 0, sizeof *op);
    struct parts p = {0};
    op->wmma = str_starts(opcode, "wmma.");
    for (const char *s = opcode; *s;) {
        char part[32];
        size_t n = strcspn(s, ".");
        if (n >= sizeof part)
            return err_set(err, ERR_INPUT, "unknown matrix instruction '%s'", opcode);
        memcpy(part, s, n);
        part[n] = 0;
        if (take_part(op, &p, part) < 0)
            return err_set(err, ERR_INPUT, "'.%s' of '%s' is not known", part, opcode);
        s += n + (s[n] == '.');
    }
    if (p.ntypes == 4) {
        op->d = p.types[0];
        op->a = p.types[1];
        op->b = p.types[2];
        op->c = p.types[3];
    } else if (p.ntypes == 2 && op->wmma) { /* wmma.mma of f16 names only d and c */
        op->d = p.types[0];
        op->c = p.types[1];
        op->a = op->b = TC_F16;
    } else {
        p.shape = false;
    }
    op->quad4 = p.shape && !op->wmma && op->m == 8 && op->k == 4 && op->a == TC_F16;
    if (!p.shape || !shape_known(op) || !types_fit(op) ||
        (!op->wmma && !op->quad4 && (op->a_col || op->b_row)) ||
        (op->a == TC_B1) != (op->bitop != MMA_MUL))
        return err_set(err, ERR_INPUT, "'%s' is not a matrix instruction of sm_80 to sm_90",
                       opcode);
    return 0;
}

/* ---- layouts -------------------------------------------------------------------------------- */

static unsigned stored_k(const struct mma_op *op, enum mma_operand which)
{
    return op->sparse && which == MMA_A ? op->k / 2u : op->k;
}

static unsigned per_reg(enum tc_type t)
{
    return tc_bits(t) >= 32 ? 1 : 32 / tc_bits(t);
}

/* Returns the number of registers of a fragment. If wmma holds an element in two registers, only
 * one of the two counts. */
static unsigned real_regs(const struct mma_op *op, enum mma_operand which)
{
    if (op->quad4)
        return which <= MMA_B ? 2 : (which == MMA_C ? op->c : op->d) == TC_F16 ? 4 : 8;
    switch (which) {
    case MMA_A:
        return op->m * stored_k(op, MMA_A) / 32 / per_reg(op->a);
    case MMA_B:
        return op->n * op->k / 32u / per_reg(op->b);
    case MMA_C:
        return op->m * op->n / 32u / per_reg(op->c);
    default:
        return op->m * op->n / 32u / per_reg(op->d);
    }
}

unsigned mma_regs(const struct mma_op *op, enum mma_operand which)
{
    if (op->wmma && which <= MMA_B && op->a == TC_F16)
        return 8;
    return real_regs(op, which);
}

unsigned mma_reg_bytes(const struct mma_op *op)
{
    return op->a == TC_F64 ? 8 : 4;
}

static void quad4_layout(const struct mma_op *op, enum mma_operand which, unsigned lane, unsigned i,
                         unsigned *row, unsigned *col)
{
    unsigned hi = lane >= 16 ? 4 : 0, l4 = lane & 3;
    enum tc_type t = which == MMA_C ? op->c : op->d;
    if (which == MMA_A) {
        *row = (op->a_col ? i : l4) + hi;
        *col = op->a_col ? l4 : i;
    } else if (which == MMA_B) {
        *row = op->b_row ? l4 : i;
        *col = (op->b_row ? i : l4) + hi;
    } else if (t == TC_F16) {
        *row = l4 + hi;
        *col = i;
    } else {
        *row = (lane & 1) + (i & 2) + hi;
        *col = (i & 4) + (lane & 2) + (i & 1);
    }
}

/* Finds the row and the column of block r among the blocks. Block r is the block in register r of
 * A, or in pair r of accumulators. With 16 or 32 rows, each 16 rows are a slab. In a slab, even
 * blocks are in the upper row of blocks, and odd blocks below them. */
static void block_of(unsigned rows, unsigned colblocks, unsigned r, unsigned *rb, unsigned *cb)
{
    if (rows == 8) {
        *rb = 0;
        *cb = r;
        return;
    }
    unsigned slab = r / (2 * colblocks), in = r % (2 * colblocks);
    *rb = slab * 2 + (in & 1);
    *cb = in >> 1;
}

void mma_layout(const struct mma_op *op, enum mma_operand which, unsigned lane, unsigned r,
                unsigned j, unsigned *row, unsigned *col)
{
    unsigned g = lane >> 2, t = lane & 3, rb, cb;
    enum tc_type ty = which == MMA_A   ? op->a
                      : which == MMA_B ? op->b
                      : which == MMA_C ? op->c
                                       : op->d;
    unsigned e = per_reg(ty);
    if (op->quad4) {
        quad4_layout(op, which, lane, r * e + j, row, col);
        return;
    }
    if (which <= MMA_B)
        r %= real_regs(op, which);
    if (which == MMA_A) {
        block_of(op->m, stored_k(op, MMA_A) / (4 * e), r, &rb, &cb);
        *row = rb * 8 + g;
        *col = cb * 4 * e + t * e + j;
    } else if (which == MMA_B) {
        unsigned kblocks = op->k / (4 * e);
        *row = r % kblocks * 4 * e + t * e + j;
        *col = r / kblocks * 8 + g;
    } else {
        /* for any type, a lane holds accumulators in pairs of columns */
        unsigned i = r * e + j, pair = i >> 1;
        block_of(op->m, op->n / 8u, pair, &rb, &cb);
        *row = rb * 8 + g;
        *col = cb * 8 + t * 2 + (i & 1);
    }
}

/* ---- sparsity ------------------------------------------------------------------------------- */

/* Returns the 4 bits of metadata for a chunk of a row. A chunk is the elements of the full A that 4
 * bits of metadata describe; a row has `chunks` of them. `narrow`: elements of at most 8 bits. */
static uint32_t meta_nibble(const uint32_t *meta, unsigned sel, bool narrow, unsigned chunks,
                            unsigned row, unsigned chunk)
{
    unsigned g = row & 7, h = row >> 3;
    unsigned lane, bit;
    if (narrow) { /* lanes 4g and 4g+1 have 8 chunks of rows g and g+8; lanes 4g+2 and 4g+3 the next
                     8 */
        unsigned pair = chunks > 8 ? chunk / 8 : sel;
        lane = g * 4 + pair * 2 + h;
        bit = (chunk & 7) * 4;
    } else { /* a lane's low half word has 4 chunks of row g, its high half 4 of row g+8 */
        lane = g * 4 + (chunks > 4 ? sel * 2 + chunk / 4 : sel);
        bit = h * 16 + (chunk & 3) * 4;
    }
    return meta[lane & 31] >> bit & 15;
}

void mma_sparse_index(uint16_t *idx, unsigned k, enum tc_type t, const uint32_t *meta, unsigned sel)
{
    unsigned bits = tc_bits(t);
    unsigned unit = bits == 4 ? 2 : 1;          /* elements that one index selects */
    unsigned width = bits == 32 ? 2 : 4 * unit; /* logical elements of a nibble */
    unsigned chunks = k / width;
    for (unsigned row = 0; row < 16; row++)
        for (unsigned c = 0; c < chunks; c++) {
            uint32_t nib = meta_nibble(meta, sel, bits <= 8, chunks, row, c);
            uint16_t *o = idx + (size_t)row * k / 2 + c * width / 2;
            unsigned at = c * width;
            if (bits == 32) { /* nibble 0100 selects the first of two elements, 1110 the second */
                o[0] = (uint16_t)(at + ((nib & 3) >> 1));
                continue;
            }
            for (unsigned u = 0; u < unit; u++) {
                o[u] = (uint16_t)(at + (nib & 3) * unit + u);
                o[unit + u] = (uint16_t)(at + (nib >> 2) * unit + u);
            }
        }
}

/* ---- 32-bit cells --------------------------------------------------------------------------- */

/* A decoded matrix. */
union cells {
    float f[MAX_M * MAX_K];
    int32_t i[MAX_M * MAX_K];
    uint32_t u[MAX_M * MAX_K];
};

static void decode(enum tc_type t, const void *src, void *dst, size_t n)
{
    if (tc_is_int(t))
        tc_to_i32(t, src, dst, n);
    else
        tc_to_f32(t, src, dst, n);
}

static void load_a(const struct mma_op *op, uint32_t *const *a, uint32_t *x)
{
    unsigned e = per_reg(op->a), ld = stored_k(op, MMA_A), blocks = ld / (4 * e);
    unsigned n = real_regs(op, MMA_A);
    uint32_t block[8 * 32];
    for (unsigned r = 0; r < n; r++) {
        unsigned rb, cb;
        block_of(op->m, blocks, r, &rb, &cb);
        decode(op->a, a[r], block, 32 * e);
        for (unsigned g = 0; g < 8; g++)
            memcpy(x + (size_t)(rb * 8 + g) * ld + cb * 4 * e, block + (size_t)g * 4 * e,
                   4 * e * sizeof *x);
    }
}

static void load_b(const struct mma_op *op, uint32_t *const *b, uint32_t *x)
{
    unsigned e = per_reg(op->b), blocks = op->k / (4 * e), n = real_regs(op, MMA_B);
    uint32_t block[8 * 32];
    for (unsigned r = 0; r < n; r++) {
        unsigned k0 = r % blocks * 4 * e, n0 = r / blocks * 8;
        decode(op->b, b[r], block, 32 * e);
        tile_transpose(block, 4 * e, 8, 4 * e, x + (size_t)k0 * op->n + n0, op->n);
    }
}

static void load_c(const struct mma_op *op, uint32_t *const *c, uint32_t *x)
{
    unsigned pairs = op->m * op->n / 64u;
    for (unsigned p = 0; p < pairs; p++) {
        unsigned rb, cb;
        block_of(op->m, op->n / 8u, p, &rb, &cb);
        uint32_t *o = x + (size_t)rb * 8 * op->n + cb * 8;
        for (unsigned g = 0; g < 8; g++, o += op->n) {
            if (op->c == TC_F16) {
                tc_to_f32(TC_F16, &c[p][4 * g], (float *)o, 8);
                continue;
            }
            const uint32_t *lo = c[2 * p] + 4 * g, *hi = c[2 * p + 1] + 4 * g;
            for (unsigned t = 0; t < 4; t++) {
                o[2 * t] = lo[t];
                o[2 * t + 1] = hi[t];
            }
        }
    }
}

static inline uint32_t canonical(uint32_t u)
{
    return (u & 0x7fffffffu) > 0x7f800000u ? TC_NAN32 : u;
}

static void store_d(const struct mma_op *op, const uint32_t *x, uint32_t *const *d)
{
    unsigned pairs = op->m * op->n / 64u;
    /* Only floats have NaNs. */
    uint32_t nan_above = op->d == TC_F32 ? 0x7f800000u : 0x7fffffffu;
    for (unsigned p = 0; p < pairs; p++) {
        unsigned rb, cb;
        block_of(op->m, op->n / 8u, p, &rb, &cb);
        const uint32_t *o = x + (size_t)rb * 8 * op->n + cb * 8;
        for (unsigned g = 0; g < 8; g++, o += op->n) {
            if (op->d == TC_F16) {
                for (unsigned t = 0; t < 4; t++) {
                    float v[2];
                    memcpy(v, o + 2 * t, 8);
                    d[p][4 * g + t] = tc_f16_round(v[0]) | (uint32_t)tc_f16_round(v[1]) << 16;
                }
                continue;
            }
            uint32_t *lo = d[2 * p] + 4 * g, *hi = d[2 * p + 1] + 4 * g;
            for (unsigned t = 0; t < 4; t++) {
                uint32_t u = o[2 * t], v = o[2 * t + 1];
                lo[t] = (u & 0x7fffffffu) > nan_above ? TC_NAN32 : u;
                hi[t] = (v & 0x7fffffffu) > nan_above ? TC_NAN32 : v;
            }
        }
    }
}

static void bit_product(const struct mma_op *op, uint32_t *const *a, uint32_t *const *b,
                        int32_t *acc)
{
    unsigned kregs = op->k / 128u;
    for (unsigned i = 0; i < op->m; i++)
        for (unsigned j = 0; j < op->n; j++) {
            uint32_t sum = 0;
            for (unsigned kb = 0; kb < kregs; kb++)
                for (unsigned t = 0; t < 4; t++) {
                    uint32_t x = a[op->m == 8 ? kb : kb * 2 + (i >> 3)][(i & 7) * 4 + t];
                    uint32_t y = b[kb][j * 4 + t];
                    sum += (uint32_t)__builtin_popcount(op->bitop == MMA_XOR_POPC ? x ^ y : x & y);
                }
            acc[i * op->n + j] = (int32_t)((uint32_t)acc[i * op->n + j] + sum);
        }
}

static void int_product(const struct mma_op *op, const int32_t *a, const uint16_t *idx,
                        const int32_t *b, int32_t *acc)
{
    int32_t sum[MAX_M * MAX_N] = {0}; /* at most k * 255 * 255, which fits */
    int32_t *to = op->satfinite ? sum : acc;
    if (op->sparse)
        tile_i32_sparse(to, op->n, a, idx, b, op->n, op->m, op->n, op->k / 2u);
    else
        tile_i32(to, op->n, a, op->k, b, op->n, op->m, op->n, op->k);
    for (unsigned i = 0; op->satfinite && i < (unsigned)op->m * op->n; i++) {
        int64_t v = (int64_t)acc[i] + sum[i];
        acc[i] = v > INT32_MAX ? INT32_MAX : v < INT32_MIN ? INT32_MIN : (int32_t)v;
    }
}

static void exec_blocks(const struct mma_op *op, uint32_t *const *a, uint32_t *const *b,
                        uint32_t *const *c, const uint32_t *meta, unsigned sel, uint32_t *const *d)
{
    static _Thread_local union cells xa, xb, acc;
    uint16_t idx[16 * MAX_K / 2];
    load_c(op, c, acc.u);
    if (op->a == TC_B1) {
        bit_product(op, a, b, acc.i);
    } else {
        load_a(op, a, xa.u);
        load_b(op, b, xb.u);
        if (op->sparse)
            mma_sparse_index(idx, op->k, op->a, meta, sel);
        if (tc_is_int(op->a))
            int_product(op, xa.i, idx, xb.i, acc.i);
        else if (op->sparse)
            tile_f32_sparse(acc.f, op->n, xa.f, idx, xb.f, op->n, op->m, op->n, op->k / 2u);
        else
            tile_f32(acc.f, op->n, xa.f, op->k, xb.f, op->n, op->m, op->n, op->k);
    }
    store_d(op, acc.u, d);
}

/* ---- m8n8k4 and f64 ----------------------------------------------------------------------- */

static void exec_quad4(const struct mma_op *op, uint32_t *const *a, uint32_t *const *b,
                       uint32_t *const *c, uint32_t *const *d)
{
    for (unsigned q = 0; q < 4; q++) { /* lanes 4q..4q+3 and 16+4q..16+4q+3 compute product q */
        float x[8][4], y[4][8], acc[8][8];
        unsigned row, col;
        for (unsigned l = 0; l < 8; l++) {
            unsigned lane = 4 * q + (l & 3) + (l >> 2) * 16;
            for (unsigned i = 0; i < 4; i++) {
                uint16_t h = (uint16_t)(a[i >> 1][lane] >> (i & 1) * 16);
                quad4_layout(op, MMA_A, lane, i, &row, &col);
                tc_to_f32(TC_F16, &h, &x[row][col], 1);
                h = (uint16_t)(b[i >> 1][lane] >> (i & 1) * 16);
                quad4_layout(op, MMA_B, lane, i, &row, &col);
                tc_to_f32(TC_F16, &h, &y[row][col], 1);
            }
            for (unsigned i = 0; i < 8; i++) {
                quad4_layout(op, MMA_C, lane, i, &row, &col);
                if (op->c == TC_F16) {
                    uint16_t h = (uint16_t)(c[i >> 1][lane] >> (i & 1) * 16);
                    tc_to_f32(TC_F16, &h, &acc[row][col], 1);
                } else {
                    memcpy(&acc[row][col], &c[i][lane], 4);
                }
            }
        }
        tile_f32(&acc[0][0], 8, &x[0][0], 4, &y[0][0], 8, 8, 8, 4);
        for (unsigned l = 0; l < 8; l++) {
            unsigned lane = 4 * q + (l & 3) + (l >> 2) * 16;
            for (unsigned i = 0; i < 8; i++) {
                quad4_layout(op, MMA_D, lane, i, &row, &col);
                if (op->d == TC_F16) {
                    uint32_t h = tc_f16_round(acc[row][col]);
                    uint32_t keep = i & 1 ? d[i >> 1][lane] & 0xffffu : 0;
                    d[i >> 1][lane] = keep | h << (i & 1) * 16;
                } else {
                    uint32_t u;
                    memcpy(&u, &acc[row][col], 4);
                    d[i][lane] = canonical(u);
                }
            }
        }
    }
}

/* Not inlined: the arithmetic must stay between the two changes of the rounding mode. */
static __attribute__((noinline)) void f64_product(const struct mma_op *op, const double *a,
                                                  const double *b, double *acc)
{
    for (unsigned i = 0; i < op->m; i++)
        for (unsigned j = 0; j < op->n; j++)
            for (unsigned k = 0; k < op->k; k++)
                acc[i * op->n + j] = fma(a[i * op->k + k], b[k * op->n + j], acc[i * op->n + j]);
}

static void exec_f64(const struct mma_op *op, uint64_t *const *a, uint64_t *const *b,
                     uint64_t *const *c, uint64_t *const *d)
{
    static const int modes[] = {FE_TONEAREST, FE_TOWARDZERO, FE_DOWNWARD, FE_UPWARD};
    double x[16 * 16], y[16 * 8], acc[16 * 8];
    unsigned row, col;
    for (unsigned lane = 0; lane < 32; lane++) {
        for (unsigned r = 0; r < real_regs(op, MMA_A); r++) {
            mma_layout(op, MMA_A, lane, r, 0, &row, &col);
            memcpy(&x[row * op->k + col], &a[r][lane], 8);
        }
        for (unsigned r = 0; r < real_regs(op, MMA_B); r++) {
            mma_layout(op, MMA_B, lane, r, 0, &row, &col);
            memcpy(&y[row * op->n + col], &b[r][lane], 8);
        }
        for (unsigned r = 0; r < real_regs(op, MMA_C); r++) {
            mma_layout(op, MMA_C, lane, r, 0, &row, &col);
            memcpy(&acc[row * op->n + col], &c[r][lane], 8);
        }
    }
    int old = fegetround();
    if (op->round != MMA_RN)
        fesetround(modes[op->round]);
    f64_product(op, x, y, acc);
    fesetround(old);
    for (unsigned lane = 0; lane < 32; lane++)
        for (unsigned r = 0; r < real_regs(op, MMA_D); r++) {
            mma_layout(op, MMA_D, lane, r, 0, &row, &col);
            memcpy(&d[r][lane], &acc[row * op->n + col], 8);
        }
}

void mma_exec(const struct mma_op *op, void *const *a, void *const *b, void *const *c,
              const uint32_t *meta, unsigned sel, void *const *d)
{
    if (op->a == TC_F64)
        exec_f64(op, (uint64_t *const *)a, (uint64_t *const *)b, (uint64_t *const *)c,
                 (uint64_t *const *)d);
    else if (op->quad4)
        exec_quad4(op, (uint32_t *const *)a, (uint32_t *const *)b, (uint32_t *const *)c,
                   (uint32_t *const *)d);
    else
        exec_blocks(op, (uint32_t *const *)a, (uint32_t *const *)b, (uint32_t *const *)c, meta, sel,
                    (uint32_t *const *)d);
}
