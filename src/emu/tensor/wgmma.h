/*
 * wgmma.h - computes the matrix products of warpgroups (wgmma): D = A * B, or D = A * B + D. B is
 * in shared memory, A in shared memory or in registers. A descriptor says where in shared memory an
 * operand is.
 *
 * Each of the four warps computes its own 16 rows of D; warpgroup.c decides when. acc[16][n] is a
 * plain array of these rows. Load it once for a chain of products:
 *
 *     wgmma_acc_load(&op, regs, acc);
 *     wgmma_load_b(&op, smem, smem_bytes, descb, xb);
 *     wgmma_load_a(&op, smem, smem_bytes, desca, warp, xa);
 *     wgmma_product(&op, xa, xb, meta, sel, scale_d, acc);
 *     wgmma_acc_store(&op, acc, regs);
 */
#ifndef EMU_TENSOR_WGMMA_H
#define EMU_TENSOR_WGMMA_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "emu/tensor/lowp.h"
#include "emu/tensor/mma.h"

#define WGMMA_MAX_N 256
#define WGMMA_MAX_K 256 /* the k of b1 */

struct wgmma_op {
    uint16_t n, k; /* m is 64; k also counts the elements that a sparse A does not store */
    enum tc_type a, b, d;
    enum mma_bitop bitop;
    bool sparse, satfinite;
    bool a_mn, b_mn; /* transposed (MN-major); only for 16-bit types */
    bool a_neg, b_neg;
};

/* Parses for example wgmma.mma_async.sync.aligned.m64n128k16.... */
int wgmma_decode(struct wgmma_op *op, const char *opcode, struct err *err);
/* Returns the number of 32-bit registers of a lane's accumulator. */
unsigned wgmma_d_regs(const struct wgmma_op *op);

struct wgmma_desc {
    uint32_t start, lbo, sbo; /* start address, leading and stride offsets, in bytes */
    uint8_t base;             /* phase of the swizzle pattern */
    uint8_t swizzle; /* log2 of the 16-byte chunks in a row: 0 = no swizzle, 3 = 128 bytes */
};
struct wgmma_desc wgmma_desc(uint64_t bits);

/*
 * Returns the shared address of a chunk of 16 bytes. K-major: `line` is a row (m or n), and `chunk`
 * counts along k. MN-major: `line` is k, and `chunk` counts along m or n.
 */
uint32_t wgmma_chunk(const struct wgmma_desc *d, bool mn, unsigned line, unsigned chunk);

/* The lines and chunks that hold an operand. For A, those that hold one warp's rows. */
struct wgmma_span {
    unsigned line0, lines, chunk0, chunks;
};
struct wgmma_span wgmma_span_a(const struct wgmma_op *op, unsigned warp);
struct wgmma_span wgmma_span_b(const struct wgmma_op *op);

/* Decode an operand to x: A to [16][k] (sparse: [16][k/2]), B to [k][n]. Chunks outside `smem` read
 * as zero. */
void wgmma_load_a(const struct wgmma_op *op, const uint8_t *smem, uint32_t smem_bytes,
                  uint64_t desc, unsigned warp, uint32_t *x);
void wgmma_load_a_regs(const struct wgmma_op *op, uint32_t *const *regs, uint32_t *x);
void wgmma_load_b(const struct wgmma_op *op, const uint8_t *smem, uint32_t smem_bytes,
                  uint64_t desc, uint32_t *x);

/* Computes acc[16][n] = A*B (+ acc if scale_d). A sparse A needs meta and sel. */
void wgmma_product(const struct wgmma_op *op, const uint32_t *a, const uint32_t *b,
                   const uint32_t *meta, unsigned sel, bool scale_d, uint32_t *acc);

void wgmma_acc_load(const struct wgmma_op *op, uint32_t *const *regs, uint32_t *acc);
void wgmma_acc_store(const struct wgmma_op *op, const uint32_t *acc, uint32_t *const *regs);
/* Rounds an f16 accumulator as wgmma_acc_store() does. Call it between chained products. */
void wgmma_acc_round(const struct wgmma_op *op, uint32_t *acc);

#endif
