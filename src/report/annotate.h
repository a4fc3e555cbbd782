/*
 * annotate.h - prints the emulator's counters for people: per kernel, and per source line.
 */
#ifndef REPORT_ANNOTATE_H
#define REPORT_ANNOTATE_H

#include "base/strbuf.h"
#include "verdict/verdict.h"

/* "kernel: name value unit", kernels in order. */
void counters_text(struct strbuf *sb, const struct verdict *v);
/* The source; each line has its counters in front of it and its findings below it. */
void annotate_text(struct strbuf *sb, const struct verdict *v, const char *source);

#endif
