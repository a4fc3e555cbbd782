/*
 * diag.h - a compiler's log as data: errors with their place, folded template backtraces, hints.
 */
#ifndef COMPILE_DIAG_H
#define COMPILE_DIAG_H

#include "base/strbuf.h"
#include "compile/compiled.h"

/* Reads NVRTC's or nvcc's log. `name` is the candidate's; frames elsewhere are folded away. */
void diag_parse(const char *log, const char *name, struct diag_vec *out, struct arena *a);

/* One diagnostic made by Hone itself. */
void diag_add(struct diag_vec *out, struct arena *a, const char *name, uint32_t line,
              uint32_t column, const char *message, const char *hint);

/* "" or what a CuTe author should look at. */
const char *diag_hint(const char *message);

/* All of them as text for a person or a model, at most max_lines lines. */
void diag_text(const struct diag_vec *diags, unsigned max_lines, struct strbuf *out);

#endif
