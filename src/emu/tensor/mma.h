/*
 * mma.h - one warp-wide matrix instruction: mma.sync, mma.sp and wmma.mma, from lane fragments.
 *
 *     struct mma_op op;
 *     if (mma_decode(&op, "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", err) < 0) ...
 *     mma_exec(&op, a, b, c, NULL, d);
 *
 * A register is an array of 32 lanes, uint32_t or (f64) uint64_t; a fragment is an array of
 * pointers to registers. Register layouts are those of the PTX manual; see mma_layout.
 *
 * Numbers: decoding and products are exact. Sums start from the accumulator and run over k in
 * ascending order, in float with fused multiply-add. f16 accumulators also add in float and round
 * to f16 once. f64 is a chain of IEEE fma. Integers wrap, or clamp with .satfinite. A GPU adds
 * aligned and truncated products; docs/emulator-tensor.md bounds the difference. NaN results are
 * the canonical NaN.
 */
#ifndef EMU_TENSOR_MMA_H
#define EMU_TENSOR_MMA_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "emu/tensor/lowp.h"

#define MMA_MAX_REGS 8 /* registers of one fragment; wmma's f16 fragments hold duplicates */

enum mma_bitop { MMA_MUL, MMA_XOR_POPC, MMA_AND_POPC };
enum mma_round { MMA_RN, MMA_RZ, MMA_RM, MMA_RP };

struct mma_op {
    uint16_t m, n, k; /* k counts logical (uncompressed) elements */
    enum tc_type a, b, c, d;
    enum mma_bitop bitop;
    enum mma_round round; /* f64 */
    bool satfinite;
    bool sparse;
    bool wmma;  /* fragments as wmma.load returns them */
    bool quad4; /* m8n8k4 f16: four independent products in quad pairs */
    bool a_col, b_row;
};

enum mma_operand { MMA_A, MMA_B, MMA_C, MMA_D };

/* Parses a full opcode: mma.sync..., mma.sp..., wmma.mma.... Returns -1 if PTX has no such form for
 * sm_90. */
int mma_decode(struct mma_op *op, const char *opcode, struct err *err);

/* Registers of one fragment, and the bytes of each (4, or 8 for f64). */
unsigned mma_regs(const struct mma_op *op, enum mma_operand which);
unsigned mma_reg_bytes(const struct mma_op *op);

/* The row and column of element j of register r of a lane (A: m,k; B: k,n; C,D: m,n). For sparse A,
 * col counts stored elements. */
void mma_layout(const struct mma_op *op, enum mma_operand which, unsigned lane, unsigned r,
                unsigned j, unsigned *row, unsigned *col);

/* Each of a, b, c, d is an array of pointers to registers. d may alias the others. meta: 32 lanes
 * of sparse metadata; sel: sparsity selector. */
void mma_exec(const struct mma_op *op, void *const *a, void *const *b, void *const *c,
              const uint32_t *meta, unsigned sel, void *const *d);

/* Multiply-adds of the instruction, for counters. */
static inline uint64_t mma_macs(const struct mma_op *op)
{
    return (uint64_t)op->m * op->n * op->k * (op->quad4 ? 4 : 1);
}

/*
 * The places of the stored elements in a 16-row slab of sparse A: idx[row * k/2 + i] is the logical
 * column of stored element i. The pattern is 2:4; 1:2 for tf32; 4:8 in pairs for 4-bit types. meta
 * has one word for each lane. The product skips the positions that A does not store, so an infinity
 * in B at such a position has no effect.
 */
void mma_sparse_index(uint16_t *idx, unsigned k, enum tc_type t, const uint32_t *meta,
                      unsigned sel);

#endif
