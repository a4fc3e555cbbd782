/*
 * Compares wgmma with plain triple loops. The test lays out a whole tile of operands in shared
 * memory by the canonical layouts of the PTX manual, and then makes the descriptor.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/dtype.h"
#include "base/util.h"
#include "emu/tensor/wgmma.h"

#include "rnd.h"

#define SMEM (256 * 1024)
static uint8_t smem[SMEM];
static double draw(enum tc_type t)
{
    switch (t) {
    case TC_U8:
        return rnd() % 256;
    case TC_S8:
        return (double)(rnd() % 256) - 128;
    case TC_B1:
        return rnd() % 2;
    default:
        return (double)(rnd() % 9) - 4;
    }
}

static uint32_t encode(enum tc_type t, double v)
{
    float f = (float)v;
    uint32_t u;
    memcpy(&u, &f, 4);
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
    case TC_F32:
        return u;
    default:
        return (uint32_t)(int32_t)v & (tc_bits(t) == 32 ? ~0u : (1u << tc_bits(t)) - 1);
    }
}

static void put_bits(uint32_t bit_addr, unsigned bits, uint32_t v)
{
    if (bits >= 8) {
        memcpy(smem + bit_addr / 8, &v, bits / 8);
        return;
    }
    smem[bit_addr / 8] =
        (uint8_t)((smem[bit_addr / 8] & ~(1u << bit_addr % 8)) | v << bit_addr % 8);
}

/* Returns the byte address with the swizzle of `mode`:
 *   - a swizzle of 32 bytes (mode 3) xors bit 4 with bit 7;
 *   - a swizzle of 64 bytes (mode 2) xors bits 4-5 with bits 7-8;
 *   - a swizzle of 128 bytes (mode 1) xors bits 4-6 with bits 7-9. */
static uint32_t swizzle(uint32_t addr, int mode)
{
    static const uint32_t mask[] = {0, 0x70, 0x30, 0x10}; /* descriptor encoding: 1 = 128B */
    return addr ^ (addr >> 3 & mask[mode]);
}

static const unsigned row_bytes_of[] = {16, 128, 64, 32};

/* Places the matrix x[rows][k] in shared memory from byte `base` on: row after row, or with `mn`
 * column after column. Returns the descriptor. */
static uint64_t place(enum tc_type t, bool mn, int mode, uint32_t base, unsigned rows, unsigned k,
                      const double *x)
{
    unsigned bits = tc_bits(t), rb = row_bytes_of[mode];
    /* The descriptor's leading and stride offsets: distances in bytes. */
    uint32_t lbo, sbo;
    if (mode == 0) { /* 8x16-byte core matrices, one after the other */
        if (mn) {
            sbo = 128;                 /* between core matrices along mn */
            lbo = rows * 2 / 16 * 128; /* between core matrices along k */
        } else {
            lbo = 128;
            sbo = k * bits / 128 * 128;
        }
    } else if (mn) {
        lbo = k / 8 * rb * 8; /* between swizzle atoms along mn */
        sbo = rb * 8;         /* between swizzle atoms along k */
    } else {
        sbo = rb * 8;
        lbo = rows / 8 * rb * 8; /* used only when k is wider than the atom */
    }
    for (unsigned r = 0; r < rows; r++)
        for (unsigned c = 0; c < k; c++) {
            unsigned inner = (mn ? r : c) * bits; /* bits along the contiguous dimension */
            unsigned line = mn ? c : r;
            uint32_t off;
            if (mode == 0)
                off = line % 8 * 16 + line / 8 * (mn ? lbo : sbo) + inner / 128 * (mn ? sbo : lbo) +
                      inner % 128 / 8;
            else
                off =
                    line % 8 * rb + line / 8 * sbo + inner / (rb * 8) * lbo + inner % (rb * 8) / 8;
            put_bits(swizzle(base + off, mode) * 8 + inner % 8, bits, encode(t, x[r * k + c]));
        }
    return base >> 4 | (uint64_t)(lbo >> 4) << 16 | (uint64_t)(sbo >> 4) << 32 |
           (uint64_t)mode << 62;
}

struct setup {
    const char *opcode;
    bool a_mn, b_mn, a_regs, neg;
    int a_mode, b_mode;
    unsigned sel;
};

static double ma[64 * 256], mb[256 * 256], mc[64 * 256], mbt[256 * 256], stored[64 * 256];

/* Makes A sparse: draws half of the elements of `ma` and sets the others to 0. Copies the drawn
 * elements to `stored`. Fills meta[w] with the metadata of warp w's 16 rows, in the layout of the
 * PTX manual. */
static void sparsify(const struct wgmma_op *op, unsigned sel, uint32_t meta[4][32])
{
    unsigned bits = tc_bits(op->a), width = bits == 32 ? 2 : 4, chunks = op->k / width;
    memset(meta, 0, 4 * 32 * sizeof(uint32_t));
    for (unsigned row = 0; row < 64; row++)
        for (unsigned c = 0; c < chunks; c++) {
            unsigned i0 = rnd() % 3, i1 = i0 + 1 + rnd() % (3 - i0), nib;
            double *dense = ma + row * op->k + c * width, *s = stored + row * op->k / 2;
            memset(dense, 0, width * sizeof *dense);
            if (width == 2) {
                unsigned which = rnd() % 2;
                nib = which ? 0xe : 0x4;
                s[c] = dense[which] = draw(op->a);
            } else {
                nib = i0 | i1 << 2;
                s[2 * c] = dense[i0] = draw(op->a);
                s[2 * c + 1] = dense[i1] = draw(op->a);
            }
            unsigned r = row % 16, quad = r % 8 * 4;
            if (bits == 8)
                meta[row / 16][quad + c / 8 * 2 + r / 8] |= nib << c % 8 * 4;
            else
                meta[row / 16][quad + sel * 2 + c / 4] |= nib << (r / 8 * 16 + c % 4 * 4);
        }
}

/* Puts the 16 rows of A that belong to a warp into registers, in the layout of the PTX manual. A
 * row has 256 bits, for example 16 fp16 numbers. */
static void a_to_regs(const struct wgmma_op *op, unsigned warp, const double *x, unsigned k,
                      uint32_t regs[4][32])
{
    unsigned bits = tc_bits(op->a), e = 32 / bits;
    memset(regs, 0, 4 * 32 * sizeof(uint32_t));
    for (unsigned lane = 0; lane < 32; lane++)
        for (unsigned i = 0; i < 4 * e; i++) {
            unsigned row = warp * 16 + lane / 4 + (i / e % 2) * 8;
            unsigned col = i / (2 * e) * 4 * e + lane % 4 * e + i % e;
            regs[i / e][lane] |= encode(op->a, x[row * k + col]) << i % e * bits;
        }
}

static void run(const struct setup *s)
{
    struct wgmma_op op;
    struct err err = ERR_INIT;
    if (wgmma_decode(&op, s->opcode, &err) < 0)
        fail_msg("%s: %s", s->opcode, err.msg);
    op.a_mn = s->a_mn;
    op.b_mn = s->b_mn;
    op.a_neg = s->neg;
    unsigned n = op.n, k = op.k;
    uint32_t meta[4][32] = {{0}};
    memset(smem, 0xff, sizeof smem);
    for (unsigned i = 0; i < 64 * k; i++)
        ma[i] = stored[i] = draw(op.a);
    if (op.sparse)
        sparsify(&op, s->sel, meta);
    for (unsigned i = 0; i < k * n; i++)
        mb[i] = draw(op.b);
    for (unsigned i = 0; i < n; i++)
        for (unsigned j = 0; j < k; j++)
            mbt[i * k + j] = mb[j * n + i];
    unsigned sk = op.sparse ? k / 2 : k;
    uint64_t da = place(op.a, s->a_mn, s->a_mode, 2048, 64, sk, stored);
    uint64_t db = place(op.b, s->b_mn, s->b_mode, 65536, n, k, mbt);
    static uint32_t xa[16 * WGMMA_MAX_K], xb[WGMMA_MAX_K * WGMMA_MAX_N], acc[16 * WGMMA_MAX_N];
    static uint32_t regs[128][32];
    uint32_t *ptr[128], areg[4][32], *aptr[4];
    for (int i = 0; i < 128; i++)
        ptr[i] = regs[i];
    for (int i = 0; i < 4; i++)
        aptr[i] = areg[i];
    wgmma_load_b(&op, smem, SMEM, db, xb);
    for (unsigned w = 0; w < 4; w++) {
        memset(regs, 0, sizeof regs);
        for (unsigned lane = 0; lane < 32; lane++) /* D fragment, from the manual's figure */
            for (unsigned i = 0; i < n / 2; i++) {
                unsigned row = w * 16 + lane / 4 + 8 * (i / 2 % 2);
                unsigned col = 8 * (i / 4) + lane % 4 * 2 + i % 2;
                double v = mc[row * n + col] = (double)(rnd() % 64);
                if (op.d == TC_F16)
                    regs[i / 2][lane] |= encode(TC_F16, v) << i % 2 * 16;
                else
                    regs[i][lane] = encode(op.d == TC_S32 ? TC_S32 : TC_F32, v);
            }
        if (s->a_regs) {
            a_to_regs(&op, w, op.sparse ? stored : ma, sk, areg);
            wgmma_load_a_regs(&op, aptr, xa);
        } else {
            wgmma_load_a(&op, smem, SMEM, da, w, xa);
        }
        wgmma_acc_load(&op, ptr, acc);
        wgmma_product(&op, xa, xb, meta[w], s->sel, true, acc);
        wgmma_acc_store(&op, acc, ptr);
        for (unsigned lane = 0; lane < 32; lane++)
            for (unsigned i = 0; i < n / 2; i++) {
                unsigned row = w * 16 + lane / 4 + 8 * (i / 2 % 2);
                unsigned col = 8 * (i / 4) + lane % 4 * 2 + i % 2;
                double want = mc[row * n + col], got;
                for (unsigned p = 0; p < k; p++)
                    want += (s->neg ? -1 : 1) * ma[row * k + p] * mb[p * n + col];
                uint32_t bits = op.d == TC_F16 ? regs[i / 2][lane] >> i % 2 * 16 : regs[i][lane];
                float f;
                memcpy(&f, &bits, 4);
                got = op.d == TC_F16   ? (double)f16_to_f32((uint16_t)bits)
                      : op.d == TC_F32 ? (double)f
                                       : (double)(int32_t)bits;
                if (got != want)
                    fail_msg("%s: (%u,%u) is %g, expected %g", s->opcode, row, col, got, want);
            }
    }
}

#define OP "wgmma.mma_async.sync.aligned."
#define SP "wgmma.mma_async.sp.sync.aligned."

static void test_forms(void **state)
{
    for (int mode = 0; mode < 4; mode++) {
        const struct setup all[] = {
            {.opcode = OP "m64n128k16.f32.f16.f16"},
            {.opcode = OP "m64n8k16.f16.f16.f16", .a_regs = true},
            {.opcode = OP "m64n256k16.f32.bf16.bf16", .neg = true},
            {.opcode = OP "m64n64k16.f32.bf16.bf16", .a_mn = true},
            {.opcode = OP "m64n192k16.f32.f16.f16", .b_mn = true},
            {.opcode = OP "m64n24k16.f16.f16.f16", .a_mn = true, .b_mn = true},
            {.opcode = OP "m64n40k8.f32.tf32.tf32"},
            {.opcode = OP "m64n96k8.f32.tf32.tf32", .a_regs = true},
            {.opcode = OP "m64n88k32.f32.e4m3.e5m2"},
            {.opcode = OP "m64n128k32.f16.e5m2.e5m2", .a_regs = true},
            {.opcode = OP "m64n48k32.s32.s8.u8"},
            {.opcode = OP "m64n256k32.s32.u8.u8.satfinite", .a_regs = true},
            {.opcode = OP "m64n32k256.s32.b1.b1.and.popc"},
            {.opcode = OP "m64n32k256.s32.b1.b1.and.popc", .a_regs = true},
            {.opcode = SP "m64n64k32.f32.f16.f16", .sel = 1},
            {.opcode = SP "m64n64k32.f32.bf16.bf16", .a_regs = true},
            {.opcode = SP "m64n32k32.f32.f16.f16", .b_mn = true},
            {.opcode = SP "m64n16k16.f32.tf32.tf32", .sel = 1},
            {.opcode = SP "m64n128k64.f32.e4m3.e4m3"},
            {.opcode = SP "m64n32k64.s32.s8.s8", .a_regs = true},
        };
        for (size_t i = 0; i < ARRAY_LEN(all); i++) {
            struct setup s = all[i];
            s.a_mode = mode;
            s.b_mode = s.b_mn && strstr(s.opcode, "n24") ? 0 : mode;
            run(&s);
        }
    }
}

static void test_scale_d(void **state)
{
    struct wgmma_op op;
    assert_int_equal(wgmma_decode(&op, OP "m64n8k16.f32.f16.f16", NULL), 0);
    static float a[16 * 16], b[16 * 8], acc[16 * 8];
    for (int i = 0; i < 16 * 8; i++)
        acc[i] = 100;
    wgmma_product(&op, (uint32_t *)a, (uint32_t *)b, NULL, 0, false, (uint32_t *)acc);
    assert_true(acc[5] == 0);
}

static void test_refused(void **state)
{
    static const char *const bad[] = {
        OP "m64n12k16.f32.f16.f16",   OP "m64n264k16.f32.f16.f16", OP "m64n64k8.f32.f16.f16",
        OP "m32n64k16.f32.f16.f16",   OP "m64n64k32.s32.s8.e4m3",  OP "m64n40k32.s32.s8.s8",
        OP "m64n64k256.s32.b1.b1",    OP "m64n64k16.f32.f16",      SP "m64n64k16.f32.f16.f16",
        OP "m64n64k16.f16.bf16.bf16",
    };
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct wgmma_op op;
        if (wgmma_decode(&op, bad[i], NULL) == 0)
            fail_msg("accepted: %s", bad[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_forms),
        cmocka_unit_test(test_scale_d),
        cmocka_unit_test(test_refused),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
