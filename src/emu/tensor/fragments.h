/*
 * fragments.h - passes undefined bits through the matrix instructions of a warp.
 *
 * A matrix fragment is the part of a matrix that a lane holds in its registers. (In core.h a
 * fragment is some lanes of a warp.) sanitizer/undefined.c marks the undefined bits of registers.
 * These functions find out which bits of the results of matrix instructions are undefined.
 */
#ifndef EMU_TENSOR_FRAGMENTS_H
#define EMU_TENSOR_FRAGMENTS_H

#include "emu/core/core.h"
#include "emu/core/mem.h"
#include "emu/tensor/mma.h"

/* How an instruction moves a fragment between registers and a matrix in memory. A line is a row of
 * the matrix, or a column if the matrix is column-major in memory. */
struct fragment_move {
    uint32_t operand;   /* number of the operand that is the fragment */
    uint32_t bits, per; /* bits of an element; elements in one register */
    /* Sets *line and *bit to the place of element e of register r: its line, and its first bit in
     * the line. */
    void (*place)(const struct insn *in, unsigned lane, unsigned r, unsigned e, unsigned *line,
                  unsigned *bit);
};

/* A line is accessed in at most two segments of FRAGMENT_SEGMENT bytes. fragment_segment() numbers
 * them for matrix_access.segment. */
enum { FRAGMENT_SEGMENT = 64 };
static inline uint32_t fragment_segment(uint32_t line, uint32_t byte)
{
    return line * 2 + byte / FRAGMENT_SEGMENT;
}

/* Call it after a load whose memory had undefined bytes (w->matrix->undefined). */
void fragment_loaded(struct warp *w, const struct insn *in, const struct fragment_move *f);
/* Call it before a store if the warp has marked registers. addr[i] is the address of line i. */
void fragment_stores(struct warp *w, const struct insn *in, const struct fragment_move *f,
                     enum ptx_space sp, const uint64_t *addr);
/* If the warp has marked registers, call fragment_product() before mma and wmma.mma, and
 * fragment_transpose() before movmatrix. */
void fragment_product(struct warp *w, const struct insn *in, const struct mma_op *op);
void fragment_transpose(struct warp *w, const struct insn *in);

#endif
