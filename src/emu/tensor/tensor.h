/* tensor.h - declarations shared by tensor.c and warpgroup.c. */
#ifndef EMU_TENSOR_TENSOR_H
#define EMU_TENSOR_TENSOR_H

#include <stddef.h>

#include "emu/core/core.h"

/* Writes the opcode of a parsed instruction with its modifiers, "op.mod.mod", to out. */
void ptx_opcode(const struct ptx_insn *p, char *out, size_t cap);

int decode_wgmma(struct decoder *d, const struct ptx_insn *p, struct insn *in);

#endif
