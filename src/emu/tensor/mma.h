/*
 * mma.h - the matrix instructions of one warp: mma.sync, mma.sp and wmma.mma.
 *
 *     struct mma_op op;
 *     if (mma_decode(&op, "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", err) < 0) ...
 *     mma_exec(&op, a, b, c, NULL, 0, d);
 *
 * A register is an array with one uint32_t for each lane, or one uint64_t for f64. A fragment is an
 * array of pointers to registers, in the layouts of the PTX manual (mma_layout).
 *
 * Products are exact. Sums start from the accumulator and run over k in ascending order, in float
 * with fused multiply-add (f64: fma in double). f16 accumulators are rounded once, at the end.
 * Integer sums wrap, or clamp with .satfinite. A GPU shifts all products to one exponent and
 * truncates them before it adds; docs/emulator-tensor.md bounds the difference. A NaN result is
 * TC_NAN16 in f16 and TC_NAN32 in f32 (lowp.h).
 */
#ifndef EMU_TENSOR_MMA_H
#define EMU_TENSOR_MMA_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "emu/tensor/lowp.h"

/* The most registers of a fragment. A and B of an f16 wmma have 8, because they hold duplicates. */
#define MMA_MAX_REGS 8

enum mma_bitop { MMA_MUL, MMA_XOR_POPC, MMA_AND_POPC };
enum mma_round { MMA_RN, MMA_RZ, MMA_RM, MMA_RP };

struct mma_op {
    uint16_t m, n, k; /* k also counts the elements that a sparse A does not store */
    enum tc_type a, b, c, d;
    enum mma_bitop bitop;
    enum mma_round round; /* only for f64 */
    bool satfinite;
    bool sparse;
    bool wmma;         /* fragments as wmma.load returns them */
    bool quad4;        /* m8n8k4 f16: four products of 8 lanes each */
    bool a_col, b_row; /* A is column-major; B is row-major */
};

enum mma_operand { MMA_A, MMA_B, MMA_C, MMA_D };

/* Returns -1 if PTX has no such opcode for sm_90. */
int mma_decode(struct mma_op *op, const char *opcode, struct err *err);

/* Return the number of registers of one fragment, and the bytes of one lane's register. */
unsigned mma_regs(const struct mma_op *op, enum mma_operand which);
unsigned mma_reg_bytes(const struct mma_op *op);

/* Finds element j in register r of a lane: (m, k) in A, (k, n) in B, (m, n) in C and D. In a sparse
 * A, the column counts stored elements. */
void mma_layout(const struct mma_op *op, enum mma_operand which, unsigned lane, unsigned r,
                unsigned j, unsigned *row, unsigned *col);

/* Computes d = a * b + c; d may alias the other fragments. For a sparse A, meta holds one word for
 * each lane, and sel is the sparsity selector. */
void mma_exec(const struct mma_op *op, void *const *a, void *const *b, void *const *c,
              const uint32_t *meta, unsigned sel, void *const *d);

static inline uint64_t mma_macs(const struct mma_op *op)
{
    return (uint64_t)op->m * op->n * op->k * (op->quad4 ? 4 : 1);
}

/*
 * Works on 16 rows of a sparse A. Sets idx[row * k/2 + i] to the column that stored element i of
 * the row has in the full A. A row stores 1 of 2 neighbours for tf32, 2 of 4 neighbouring pairs for
 * 4-bit types, and 2 of 4 neighbours for other types. The product skips elements that A does not
 * store, even where B is infinite.
 */
void mma_sparse_index(uint16_t *idx, unsigned k, enum tc_type t, const uint32_t *meta,
                      unsigned sel);

#endif
