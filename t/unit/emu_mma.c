/*
 * Compares matrix instructions with plain triple loops. This test takes the position of each
 * element from the tables of the PTX manual, and does not use the block structure of mma.c.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/dtype.h"
#include "base/util.h"
#include "emu/tensor/mma.h"

#include "rnd.h"

/* ---- the manual's tables ------------------------------------------------------------------- */

struct pos {
    unsigned row, col;
};

/* Returns the place in A of element i of a lane, for the shapes m16n8k... and m8n8k.... An element
 * has `bits` bits. */
static struct pos manual_a(unsigned bits, unsigned m, unsigned lane, unsigned i)
{
    unsigned g = lane >> 2, t = lane % 4;
    struct pos p = {g, 0};
    if (m == 8) { /* m8n8k16, m8n8k32, m8n8k128, f64 m8n8k4 */
        p.col = bits >= 32 ? t : t * (32 / bits) + i;
        return p;
    }
    switch (bits) {
    case 16:
        p.row = i < 2 || (i >= 4 && i < 6) ? g : g + 8;
        p.col = t * 2 + (i & 1) + (i >= 4 ? 8 : 0);
        break;
    case 8:
        p.row = i < 4 || (i >= 8 && i < 12) ? g : g + 8;
        p.col = t * 4 + (i & 3) + (i >= 8 ? 16 : 0);
        break;
    case 4:
        p.row = i < 8 || (i >= 16 && i < 24) ? g : g + 8;
        p.col = t * 8 + (i & 7) + (i >= 16 ? 32 : 0);
        break;
    case 1:
        p.row = i < 32 || (i >= 64 && i < 96) ? g : g + 8;
        p.col = t * 32 + (i & 31) + (i >= 64 ? 128 : 0);
        break;
    default: /* tf32, f64 */
        p.row = i % 2 == 0 ? g : g + 8;
        p.col = i / 2 * 4 + t;
    }
    return p;
}

static struct pos manual_b(unsigned bits, unsigned lane, unsigned i)
{
    unsigned g = lane >> 2, t = lane % 4;
    struct pos p = {0, g};
    switch (bits) {
    case 16:
        p.row = t * 2 + (i & 1) + i / 2 * 8;
        break;
    case 8:
        p.row = t * 4 + (i & 3) + i / 4 * 16;
        break;
    case 4:
        p.row = t * 8 + (i & 7) + i / 8 * 32;
        break;
    case 1:
        p.row = t * 32 + (i & 31) + i / 32 * 128;
        break;
    default:
        p.row = t + i * 4;
    }
    return p;
}

static struct pos manual_c(unsigned lane, unsigned i)
{
    return (struct pos){(lane >> 2) + (i < 2 ? 0 : 8), lane % 4 * 2 + (i & 1)};
}

static struct pos volta_a(bool col, unsigned lane, unsigned i)
{
    if (!col)
        return (struct pos){lane < 16 ? lane % 4 : lane % 4 + 4, i};
    return (struct pos){lane < 16 ? i % 4 : i % 4 + 4, lane % 4};
}

static struct pos volta_b(bool row, unsigned lane, unsigned i)
{
    if (row)
        return (struct pos){lane % 4, lane < 16 ? i : i + 4};
    return (struct pos){i, lane < 16 ? lane % 4 : lane % 4 + 4};
}

static struct pos volta_c(enum tc_type t, unsigned lane, unsigned i)
{
    if (t == TC_F16)
        return (struct pos){lane < 16 ? lane % 4 : lane % 4 + 4, i};
    unsigned x = (lane & 1) + (i & 2);
    return (struct pos){lane < 16 ? x : x + 4, (i & 4) + (lane & 2) + (i & 1)};
}

/* ---- putting values into registers --------------------------------------------------------- */

struct frag {
    uint64_t store[MMA_MAX_REGS][32];
    void *reg[MMA_MAX_REGS];
};

static void frag_init(struct frag *f)
{
    memset(f->store, 0, sizeof f->store);
    for (int i = 0; i < MMA_MAX_REGS; i++)
        f->reg[i] = f->store[i];
}

static uint64_t encode(enum tc_type t, double v)
{
    float f = (float)v;
    uint32_t u;
    uint64_t q;
    memcpy(&u, &f, 4);
    memcpy(&q, &v, 8);
    switch (t) {
    case TC_F16:
        return f16_from_f64(v);
    case TC_BF16:
        return bf16_from_f64(v);
    case TC_E4M3:
        return f8e4m3_from_f64(v, true);
    case TC_E5M2:
        return f8e5m2_from_f64(v, true);
    case TC_TF32:
        return u | (rnd() & 0x1fff); /* the low bits must not matter */
    case TC_F32:
        return u;
    case TC_F64:
        return q;
    default:
        return (uint64_t)(int64_t)v & ((1ull << tc_bits(t)) - 1);
    }
}

static double decode(enum tc_type t, uint64_t bits)
{
    float f;
    double v;
    uint32_t u = (uint32_t)bits;
    switch (t) {
    case TC_F16:
        return (double)f16_to_f32((uint16_t)bits);
    case TC_F32:
        memcpy(&f, &u, 4);
        return (double)f;
    case TC_F64:
        memcpy(&v, &bits, 8);
        return v;
    default:
        return (double)(int32_t)u;
    }
}

static void put(struct frag *f, enum tc_type t, unsigned lane, unsigned i, double v)
{
    if (t == TC_F64) {
        f->store[i][lane] = encode(t, v);
        return;
    }
    unsigned bits = tc_bits(t), per = bits == 32 ? 1 : 32 / bits;
    uint32_t *reg = f->reg[i / per];
    reg[lane] |= (uint32_t)(encode(t, v) << (i % per * bits));
}

static double get(const struct frag *f, enum tc_type t, unsigned lane, unsigned i)
{
    if (t == TC_F64)
        return decode(t, f->store[i][lane]);
    unsigned bits = tc_bits(t), per = bits == 32 ? 1 : 32 / bits;
    const uint32_t *reg = f->reg[i / per];
    uint32_t w = reg[lane] >> (i % per * bits);
    return decode(t, bits == 16 ? w & 0xffff : w);
}

/* Returns a random small integer. Every product and sum of such integers is exact in every type, so
 * results must be equal. */
static double draw(enum tc_type t)
{
    switch (t) {
    case TC_U8:
        return rnd() % 256;
    case TC_S8:
        return (double)(rnd() % 256) - 128;
    case TC_U4:
        return rnd() % 16;
    case TC_S4:
        return (double)(rnd() % 16) - 8;
    case TC_B1:
        return rnd() % 2;
    case TC_S32:
        return (double)(rnd() % 2000000) - 1000000;
    default:
        return (double)(rnd() % 9) - 4;
    }
}

static double combine(const struct mma_op *op, double a, double b)
{
    if (op->bitop == MMA_XOR_POPC)
        return a != b;
    return a * b;
}

static double dense_a[16][256], dense_b[256][8], acc[16][8];

/* Draws a sparse matrix A. Each of its rows consists of chunks of `width` elements, and a random
 * half of each chunk is zero. Writes the whole matrix to dense_a, puts the other half of each chunk
 * into the registers of fa, and the places of these elements into the metadata. */
static void sparse_a(const struct mma_op *op, struct frag *fa, uint32_t *meta, unsigned sel)
{
    static double stored[16][128];
    unsigned bits = tc_bits(op->a), width = bits == 32 ? 2 : bits == 4 ? 8 : 4;
    unsigned per_word = bits <= 8 ? 8 : 4; /* nibbles of one row in one word */
    memset(dense_a, 0, sizeof dense_a);
    for (unsigned lane = 0; lane < 32; lane++)
        /* The selector chooses the lanes whose metadata is used. The others keep this random
         * metadata, which must not matter. */
        meta[lane] = 0xdead0000u | rnd() % 65536;
    for (unsigned row = 0; row < 16; row++)
        for (unsigned c = 0; c < op->k / width; c++) {
            unsigned i0 = rnd() % 3, i1 = i0 + 1 + rnd() % (3 - i0), nib;
            if (width == 2) {
                unsigned which = rnd() % 2;
                nib = which ? 0xe : 0x4;
                stored[row][c] = dense_a[row][2 * c + which] = draw(op->a);
            } else {
                unsigned u = width / 4;
                nib = i0 | i1 << 2;
                for (unsigned e = 0; e < u; e++) {
                    stored[row][c * 2 * u + e] = dense_a[row][c * width + i0 * u + e] = draw(op->a);
                    stored[row][c * 2 * u + u + e] = dense_a[row][c * width + i1 * u + e] =
                        draw(op->a);
                }
            }
            /* The manual's figures say which lane holds the metadata of this chunk, and where. */
            unsigned chunks = op->k / width, lane = row % 8 * 4, shift;
            if (bits <= 8) {
                lane += (chunks == 8 ? sel : c / 8) * 2 + row / 8;
                shift = c % 8 * 4;
            } else {
                lane += chunks == 4 ? sel : sel * 2 + c / 4;
                shift = row / 8 * 16 + c % 4 * 4;
            }
            if (c % per_word == 0 && (bits <= 8 || row < 8))
                meta[lane] = 0;
            meta[lane] |= nib << shift;
        }
    unsigned n = 16 * op->k / 2 / 32;
    for (unsigned lane = 0; lane < 32; lane++)
        for (unsigned i = 0; i < n; i++) {
            struct pos p = manual_a(bits, 16, lane, i);
            put(fa, op->a, lane, i, stored[p.row][p.col]);
        }
}

static void check_form(const char *opcode, unsigned sel)
{
    struct mma_op op;
    struct err err = ERR_INIT;
    if (mma_decode(&op, opcode, &err) < 0)
        fail_msg("%s: %s", opcode, err.msg);
    struct frag fa, fb, fc, fd;
    frag_init(&fa);
    frag_init(&fb);
    frag_init(&fc);
    frag_init(&fd);
    uint32_t meta[32] = {0};
    unsigned na = op.m * op.k / 32u, nb = op.n * op.k / 32u, nc = op.m * op.n / 32u;
    if (op.sparse) {
        sparse_a(&op, &fa, meta, sel);
        na /= 2;
    } else {
        for (unsigned lane = 0; lane < 32; lane++)
            for (unsigned i = 0; i < na; i++) {
                struct pos p = manual_a(tc_bits(op.a), op.m, lane, i);
                dense_a[p.row][p.col] = draw(op.a);
                put(&fa, op.a, lane, i, dense_a[p.row][p.col]);
            }
    }
    for (unsigned lane = 0; lane < 32; lane++) {
        for (unsigned i = 0; i < nb; i++) {
            struct pos p = manual_b(tc_bits(op.b), lane, i);
            dense_b[p.row][p.col] = draw(op.b);
            put(&fb, op.b, lane, i, dense_b[p.row][p.col]);
        }
        for (unsigned i = 0; i < nc; i++) {
            struct pos p = manual_c(lane, i);
            acc[p.row][p.col] = draw(op.c);
            put(&fc, op.c, lane, i, acc[p.row][p.col]);
        }
    }
    for (unsigned i = 0; i < op.m; i++)
        for (unsigned j = 0; j < op.n; j++)
            for (unsigned k = 0; k < op.k; k++)
                acc[i][j] += combine(&op, dense_a[i][k], dense_b[k][j]);
    unsigned per = op.a == TC_F64 || tc_bits(op.c) == 32 ? 1 : 2;
    assert_int_equal(mma_regs(&op, MMA_C), nc / per);
    mma_exec(&op, fa.reg, fb.reg, fc.reg, meta, sel, fd.reg);
    for (unsigned lane = 0; lane < 32; lane++)
        for (unsigned i = 0; i < nc; i++) {
            struct pos p = manual_c(lane, i);
            double got = get(&fd, op.d, lane, i);
            if (got != acc[p.row][p.col])
                fail_msg("%s: lane %u element %u (%u,%u): %g, expected %g", opcode, lane, i, p.row,
                         p.col, got, acc[p.row][p.col]);
        }
}

static void test_dense(void **state)
{
    static const char *const ops[] = {
        "m16n8k8.row.col.f32.f16.f16.f32",
        "m16n8k8.row.col.f16.f16.f16.f16",
        "m16n8k16.row.col.f32.f16.f16.f32",
        "m16n8k16.row.col.f16.f16.f16.f16",
        "m16n8k8.row.col.f32.bf16.bf16.f32",
        "m16n8k16.row.col.f32.bf16.bf16.f32",
        "m16n8k4.row.col.f32.tf32.tf32.f32",
        "m16n8k8.row.col.f32.tf32.tf32.f32",
        "m8n8k4.row.col.f64.f64.f64.f64",
        "m16n8k4.row.col.f64.f64.f64.f64",
        "m16n8k8.row.col.f64.f64.f64.f64",
        "m16n8k16.row.col.f64.f64.f64.f64",
        "m8n8k16.row.col.s32.s8.s8.s32",
        "m8n8k16.row.col.s32.u8.s8.s32",
        "m16n8k16.row.col.s32.s8.u8.s32",
        "m16n8k32.row.col.s32.u8.u8.s32",
        "m16n8k32.row.col.satfinite.s32.s8.s8.s32",
        "m8n8k32.row.col.s32.s4.s4.s32",
        "m16n8k32.row.col.s32.u4.s4.s32",
        "m16n8k64.row.col.s32.s4.u4.s32",
        "m16n8k16.row.col.f32.e4m3.e5m2.f32",
        "m16n8k32.row.col.f32.e4m3.e4m3.f32",
        "m16n8k32.row.col.f16.e5m2.e4m3.f16",
        "m16n8k32.row.col.f32.e5m2.e5m2.f32",
    };
    for (size_t i = 0; i < ARRAY_LEN(ops); i++) {
        char *s = xasprintf("mma.sync.aligned.%s", ops[i]);
        check_form(s, 0);
        free(s);
    }
    check_form("mma.sync.aligned.m8n8k128.row.col.s32.b1.b1.s32.xor.popc", 0);
    check_form("mma.sync.aligned.m16n8k128.row.col.s32.b1.b1.s32.and.popc", 0);
    check_form("mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.xor.popc", 0);
}

static void test_sparse(void **state)
{
    static const struct {
        const char *op;
        unsigned nsel;
    } ops[] = {
        {"m16n8k16.row.col.f32.f16.f16.f32", 4},   {"m16n8k32.row.col.f16.f16.f16.f16", 2},
        {"m16n8k16.row.col.f32.bf16.bf16.f32", 4}, {"m16n8k32.row.col.f32.bf16.bf16.f32", 2},
        {"m16n8k8.row.col.f32.tf32.tf32.f32", 4},  {"m16n8k16.row.col.f32.tf32.tf32.f32", 2},
        {"m16n8k32.row.col.s32.s8.u8.s32", 2},     {"m16n8k64.row.col.s32.u8.s8.s32", 1},
        {"m16n8k64.row.col.s32.s4.s4.s32", 2},     {"m16n8k128.row.col.s32.s4.u4.s32", 1},
        {"m16n8k64.row.col.f32.e4m3.e5m2.f32", 1},
    };
    for (size_t i = 0; i < ARRAY_LEN(ops); i++)
        for (unsigned sel = 0; sel < ops[i].nsel; sel++) {
            char *s =
                xasprintf("mma.sp%s.sync.aligned.%s", i & 1 ? "::ordered_metadata" : "", ops[i].op);
            check_form(s, sel);
            free(s);
        }
    check_form("mma.sp::ordered_metadata.sync.aligned.m16n8k128.row.col.s32.s4.s4.s32.satfinite",
               0);
}

static void check_volta(const char *opcode)
{
    struct mma_op op;
    struct err err = ERR_INIT;
    assert_int_equal(mma_decode(&op, opcode, &err), 0);
    struct frag fa, fb, fc, fd;
    frag_init(&fa);
    frag_init(&fb);
    frag_init(&fc);
    frag_init(&fd);
    double a[4][8][4], b[4][4][8], c[4][8][8];
    for (unsigned lane = 0; lane < 32; lane++) {
        unsigned q = lane % 16 / 4;
        for (unsigned i = 0; i < 4; i++) {
            struct pos p = volta_a(op.a_col, lane, i);
            put(&fa, TC_F16, lane, i, a[q][p.row][p.col] = draw(TC_F16));
            p = volta_b(op.b_row, lane, i);
            put(&fb, TC_F16, lane, i, b[q][p.row][p.col] = draw(TC_F16));
        }
        for (unsigned i = 0; i < 8; i++) {
            struct pos p = volta_c(op.c, lane, i);
            put(&fc, op.c, lane, i, c[q][p.row][p.col] = draw(op.c));
        }
    }
    mma_exec(&op, fa.reg, fb.reg, fc.reg, NULL, 0, fd.reg);
    for (unsigned lane = 0; lane < 32; lane++)
        for (unsigned i = 0; i < 8; i++) {
            unsigned q = lane % 16 / 4;
            struct pos p = volta_c(op.d, lane, i);
            double want = c[q][p.row][p.col];
            for (unsigned k = 0; k < 4; k++)
                want += a[q][p.row][k] * b[q][k][p.col];
            assert_true(get(&fd, op.d, lane, i) == want);
        }
}

static void test_volta(void **state)
{
    check_volta("mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32");
    check_volta("mma.sync.aligned.m8n8k4.col.row.f16.f16.f16.f16");
    check_volta("mma.sync.aligned.m8n8k4.row.row.f32.f16.f16.f16");
    check_volta("mma.sync.aligned.m8n8k4.col.col.f16.f16.f16.f16");
}

static void test_layout_agrees(void **state)
{
    struct mma_op op;
    struct err err = ERR_INIT;
    assert_int_equal(mma_decode(&op, "mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16", &err), 0);
    for (unsigned lane = 0; lane < 32; lane++)
        for (unsigned i = 0; i < 8; i++) {
            unsigned row, col;
            struct pos p = manual_a(16, 16, lane, i);
            mma_layout(&op, MMA_A, lane, i / 2, i % 2, &row, &col);
            assert_int_equal(row, p.row);
            assert_int_equal(col, p.col);
            if (i < 4) {
                p = manual_c(lane, i);
                mma_layout(&op, MMA_D, lane, i / 2, i % 2, &row, &col);
                assert_int_equal(row, p.row);
                assert_int_equal(col, p.col);
                p = manual_b(16, lane, i);
                mma_layout(&op, MMA_B, lane, i / 2, i % 2, &row, &col);
                assert_int_equal(row, p.row);
                assert_int_equal(col, p.col);
            }
        }
}

/* Puts the word w into every register of an operand. */
static void splat(struct frag *f, uint32_t w)
{
    frag_init(f);
    for (int r = 0; r < MMA_MAX_REGS; r++)
        for (int l = 0; l < 32; l++)
            ((uint32_t *)f->reg[r])[l] = w;
}

static void test_edges(void **state)
{
    struct mma_op op;
    struct err err = ERR_INIT;
    struct frag a, b, c, d;
    frag_init(&d);
    const uint32_t *d0 = d.reg[0];

    assert_int_equal(
        mma_decode(&op, "mma.sync.aligned.m16n8k32.row.col.satfinite.s32.s8.s8.s32", &err), 0);
    splat(&a, 0x7f7f7f7f);
    splat(&b, 0x7f7f7f7f);
    splat(&c, 0x7fffff00);
    mma_exec(&op, a.reg, b.reg, c.reg, NULL, 0, d.reg);
    assert_int_equal(d0[5], 0x7fffffff);
    op.satfinite = false;
    mma_exec(&op, a.reg, b.reg, c.reg, NULL, 0, d.reg);
    assert_int_equal(d0[5], 0x7fffff00u + 32 * 127 * 127); /* wraps */

    assert_int_equal(mma_decode(&op, "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", &err), 0);
    splat(&a, 0x7c007c00); /* inf */
    splat(&b, 0x00000000); /* inf * 0 */
    splat(&c, 0);
    mma_exec(&op, a.reg, b.reg, c.reg, NULL, 0, d.reg);
    assert_int_equal(d0[0], 0x7fffffff);
    splat(&b, 0x3c003c00);
    mma_exec(&op, a.reg, b.reg, c.reg, NULL, 0, d.reg);
    assert_int_equal(d0[0], 0x7f800000);
    splat(&a, 0x00010001); /* f16 denormals are not rounded to zero */
    splat(&b, 0x3c003c00);
    mma_exec(&op, a.reg, b.reg, c.reg, NULL, 0, d.reg);
    float f;
    memcpy(&f, &d0[0], 4);
    assert_true(f == 16 * 0x1p-24f);

    assert_int_equal(mma_decode(&op, "mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16", &err), 0);
    splat(&a, 0x7bff7bff); /* 65504 */
    mma_exec(&op, a.reg, b.reg, c.reg, NULL, 0, d.reg);
    assert_int_equal(d0[0], 0x7c007c00);
}

static void test_refused(void **state)
{
    static const char *const bad[] = {
        "mma.sync.aligned.m16n8k16.col.row.f32.f16.f16.f32",
        "mma.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32",
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.bf16.f32",
        "mma.sync.aligned.m16n8k16.row.col.s32.f16.f16.s32",
        "mma.sync.aligned.m16n8k8.row.col.f16.tf32.tf32.f16",
        "mma.sync.aligned.m16n8k128.row.col.s32.b1.b1.s32",
        "mma.sync.aligned.m99999n8k16.row.col.f32.f16.f16.f32",
        "mma.sync.aligned.row.col.f32.f16.f16.f32",
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32.f32.f32",
        "mma.sp.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32",
        "mma.sync.aligned.m16n8k16.row.col.what.f32.f16.f16.f32",
        "wmma.mma.sync.aligned.row.col.m8n8k4.f32.f32",
        "mma.sync.aligned.m16n8k32.kind::mxf8f6f4.row.col.f32.e4m3.e4m3.f32",
    };
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct mma_op op;
        struct err err = ERR_INIT;
        if (mma_decode(&op, bad[i], &err) == 0)
            fail_msg("accepted: %s", bad[i]);
        assert_true(strlen(err.msg) > 0);
    }
}

/* Compares the conversions between float and float16, and from float8 e5m2, with those of
 * base/dtype. */
static void test_conversions(void **state)
{
    for (uint32_t h = 0; h < 65536; h++) {
        uint16_t x = (uint16_t)h;
        float f, want = f16_to_f32(x);
        tc_to_f32(TC_F16, &x, &f, 1);
        assert_true(memcmp(&f, &want, 4) == 0 || (isnan(f) && isnan(want)));
        if (!isnan(f))
            assert_int_equal(tc_f16_round(f), x);
    }
    for (int i = 0; i < 2000000; i++) {
        uint32_t u = rnd();
        float f;
        memcpy(&f, &u, 4);
        if (i & 1)
            f = ldexpf((float)(int)rnd(), -(int)(rnd() % 64) - 8);
        assert_int_equal(tc_f16_round(f), f16_from_f64((double)f));
    }
    for (int i = 0; i < 256; i++) {
        uint8_t x = (uint8_t)i;
        float f, want = f8e5m2_to_f32(x);
        tc_to_f32(TC_E5M2, &x, &f, 1);
        assert_true(f == want || (isnan(f) && isnan(want)));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_dense),       cmocka_unit_test(test_sparse),
        cmocka_unit_test(test_volta),       cmocka_unit_test(test_layout_agrees),
        cmocka_unit_test(test_edges),       cmocka_unit_test(test_refused),
        cmocka_unit_test(test_conversions),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
