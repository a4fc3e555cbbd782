/*
 * diag.h - reads a compiler's log: errors with their place, short template backtraces, hints.
 */
#ifndef COMPILE_DIAG_H
#define COMPILE_DIAG_H

#include "base/strbuf.h"
#include "compile/compiled.h"

/* Reads the log of NVRTC or nvcc. `name` is the candidate's file name. Keeps only those frames of a
 * template backtrace that lie in the candidate's file. */
void diag_parse(const char *log, const char *name, struct diag_vec *out, struct arena *a);

void diag_add(struct diag_vec *out, struct arena *a, const char *name, uint32_t line,
              uint32_t column, const char *message, const char *hint);

/* A hint for the author, or "". */
const char *diag_hint(const char *message);

/* Writes at most max_lines lines for a person or a model. */
void diag_text(const struct diag_vec *diags, unsigned max_lines, struct strbuf *out);

#endif
