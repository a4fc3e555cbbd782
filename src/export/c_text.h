/*
 * c_text.h - writes the parts of C text that several formats share: the plan with its helpers
 * (templates/c_plan.h.in), in C11 that is also C++17.
 */
#ifndef EXPORT_C_TEXT_H
#define EXPORT_C_TEXT_H

#include "base/strbuf.h"
#include "export/model.h"

/* The members of struct NAME_args: tensors, then the sizes and scalars that the caller gives. */
void c_text_args(struct export_model *m, struct strbuf *out);
/* The plan as C code. The file must first include <stdarg.h>, <stdint.h>, <stdio.h> and <string.h>,
 * and declare struct NAME_args. */
void c_text_plan(struct export_model *m, struct strbuf *out);
/* How many different kernels the plan launches, as text. */
const char *c_text_kernel_count(struct export_model *m);
void c_text_each_kernel(const struct export_model *m,
                        void (*fn)(void *ctx, size_t i, const struct sig *kernel), void *ctx);

#endif
