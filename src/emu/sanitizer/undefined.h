/*
 * undefined.h - declares the functions about undefined values that undefined.c needs from
 * undefined_bits.c, and suspects.c from undefined.c. state.h and core/machine.h declare the rest of
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

/* Returns the undefined bits of the result of plain arithmetic. The caller must ignore bits beyond
 * the width of the destination. */
uint64_t undef_result(const struct undef_operands *x);

/* Follows bytes that this lane loads from a suspect (a cell that is part of a race, suspects.h), as
 * if they were undefined. Sets *used at their first use. Returns false if we cannot follow them. */
bool undef_follow(struct warp *w, const struct insn *pc, uint32_t lane, uint32_t n, uint64_t bytes,
                  bool *used);

#endif
