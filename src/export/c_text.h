/*
 * c_text.h - writes the C code that several export formats share: the launch plan and the functions
 * that it calls (templates/c_plan.h.in). The code is C11 and also C++17.
 */
#ifndef EXPORT_C_TEXT_H
#define EXPORT_C_TEXT_H

#include "base/strbuf.h"
#include "export/model.h"

/* Appends the members of struct NAME_args: the tensors, then the sizes and scalars that the caller
 * gives. */
void c_text_args(struct export_model *m, struct strbuf *out);
/* Appends the plan as C code. The file must first include <stdarg.h>, <stdint.h>, <stdio.h> and
 * <string.h>, and declare struct NAME_args. */
void c_text_plan(struct export_model *m, struct strbuf *out);
/* Returns how many different kernels the plan launches, as text. */
const char *c_text_kernel_count(struct export_model *m);
/* Calls fn for each different kernel that the plan launches; i counts them from 0. */
void c_text_each_kernel(const struct export_model *m,
                        void (*fn)(void *ctx, size_t i, const struct sig *kernel), void *ctx);

#endif
