/*
 * diag.h - reads a compiler's log: errors with their place, short template backtraces, hints.
 */
#ifndef COMPILE_DIAG_H
#define COMPILE_DIAG_H

#include "base/strbuf.h"
#include "compile/compiled.h"

/* Reads the log of NVRTC or nvcc. `name` is the file name of the candidate, the .cu file that was
 * compiled. Of a template backtrace, keeps only the frames in this file. */
void diag_parse(const char *log, const char *name, struct diag_vec *out, struct arena *a);

/* Adds a diagnostic that Hone itself makes. */
void diag_add(struct diag_vec *out, struct arena *a, const char *name, uint32_t line,
              uint32_t column, const char *message, const char *hint);

/* Returns a hint for the author about this message, or "". */
const char *diag_hint(const char *message);

/* Writes the diagnostics as text for a person or a model. Stops after at most max_lines lines. */
void diag_text(const struct diag_vec *diags, unsigned max_lines, struct strbuf *out);

#endif
