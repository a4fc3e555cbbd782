/*
 * mma.h - the matrix instructions of one warp: mma.sync, mma.sp and wmma.mma.
 *
 *     struct mma_op op;
 *     if (mma_decode(&op, "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", err) < 0) ...
 *     mma_exec(&op, a, b, c, NULL, 0, d);
 *
 * A register is an array with one element for each of the 32 lanes: a uint32_t, or a uint64_t for
 * f64. A fragment is an array of pointers to registers. Register layouts are those of the PTX
 * manual; see mma_layout.
 *
 * Numbers: decoding and products are exact. Sums start from the accumulator and run over k in
 * ascending order, in float with fused multiply-add. With f16 accumulators the sums are also in
 * float, and are rounded to f16 once. A sum of f64 is a chain of IEEE fma operations. Integer sums
 * wrap, or clamp with .satfinite. A GPU shifts all products to one exponent and truncates them
 * before it adds them; docs/emulator-tensor.md bounds the difference. NaN results of f16 and f32
 * are the canonical NaN.
 */
#ifndef EMU_TENSOR_MMA_H
#define EMU_TENSOR_MMA_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "emu/tensor/lowp.h"

/* The most registers that a fragment has. In wmma, A and B of type f16 have 8 registers, because
 * they hold duplicates. */
#define MMA_MAX_REGS 8

enum mma_bitop { MMA_MUL, MMA_XOR_POPC, MMA_AND_POPC };
enum mma_round { MMA_RN, MMA_RZ, MMA_RM, MMA_RP };

struct mma_op {
    uint16_t m, n, k; /* k counts logical (uncompressed) elements */
    enum tc_type a, b, c, d;
    enum mma_bitop bitop;
    enum mma_round round; /* only for f64 */
    bool satfinite;
    bool sparse;
    bool wmma;  /* whether the fragments have the form that wmma.load returns */
    bool quad4; /* m8n8k4 f16: four independent products; each is made by 8 lanes (two quads) */
    bool a_col, b_row; /* A is column-major; B is row-major */
};

enum mma_operand { MMA_A, MMA_B, MMA_C, MMA_D };

/* Parses a full opcode: mma.sync..., mma.sp..., wmma.mma.... Returns -1 if PTX has no such form for
 * sm_90. */
int mma_decode(struct mma_op *op, const char *opcode, struct err *err);

/* mma_regs() returns the number of registers of one fragment, mma_reg_bytes() the bytes of one
 * lane's register (4, or 8 for f64). */
unsigned mma_regs(const struct mma_op *op, enum mma_operand which);
unsigned mma_reg_bytes(const struct mma_op *op);

/* Finds the row and column of element j of register r of a lane. They are (m, k) for A, (k, n) for
 * B, (m, n) for C and D. For a sparse A, the column counts stored elements. */
void mma_layout(const struct mma_op *op, enum mma_operand which, unsigned lane, unsigned r,
                unsigned j, unsigned *row, unsigned *col);

/* Computes d = a * b + c. Each of them is an array of pointers to registers, and d may alias the
 * others. For a sparse A, meta has the metadata of 32 lanes and sel is the sparsity selector. */
void mma_exec(const struct mma_op *op, void *const *a, void *const *b, void *const *c,
              const uint32_t *meta, unsigned sel, void *const *d);

/* Returns how many multiply-adds the instruction does, for counters. */
static inline uint64_t mma_macs(const struct mma_op *op)
{
    return (uint64_t)op->m * op->n * op->k * (op->quad4 ? 4 : 1);
}

/*
 * Finds the places of the stored elements in a slab of 16 rows of a sparse A. idx[row * k/2 + i]
 * becomes the column that the row's stored element i has in the uncompressed A. A row of A stores 1
 * of 2 neighbouring elements for tf32, 2 pairs of 4 neighbouring pairs for 4-bit types, and 2 of 4
 * neighbouring elements for other types. meta has one word for each lane. The product skips the
 * positions that A does not store, so an infinity in B at such a position has no effect.
 */
void mma_sparse_index(uint16_t *idx, unsigned k, enum tc_type t, const uint32_t *meta,
                      unsigned sel);

#endif
