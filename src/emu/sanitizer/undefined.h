/*
 * undefined.h - two functions about undefined values: undef_result() of undefined_bits.c and
 * undef_follow() of undefined.c. state.h and core/machine.h declare the other functions of
 * undefined.c.
 */
#ifndef EMU_SANITIZER_UNDEFINED_H
#define EMU_SANITIZER_UNDEFINED_H

#include "emu/sanitizer/state.h"

enum { UNDEF_OPERANDS = 8 };

/* One lane's operands of an instruction. Bit i of u[k] is set if bit i of operand k is
 * undefined. */
struct undef_operands {
    const struct warp *w;
    const struct ptx_insn *p;
    const struct insn *in;
    uint32_t lane;
    uint64_t u[UNDEF_OPERANDS];
};

/* Returns the undefined bits of the result of an instruction that moves, computes or compares
 * values in registers. Bits beyond the width of the destination mean nothing. */
uint64_t undef_result(const struct undef_operands *x);

/* Call it when this lane loads n bytes, some of them from a suspect: a cell that is part of a race
 * (suspects.h). Bit k of `bytes`: byte k comes from a suspect. Follows these bytes like undefined
 * ones, and sets *used when the kernel first uses them. Returns false if we cannot follow them. */
bool undef_follow(struct warp *w, const struct insn *pc, uint32_t lane, uint32_t n, uint64_t bytes,
                  bool *used);

#endif
