/*
 * annotate.h - prints the emulator's counters for people: per kernel, and per source line.
 */
#ifndef REPORT_ANNOTATE_H
#define REPORT_ANNOTATE_H

#include "base/strbuf.h"
#include "verdict/verdict.h"

/* Appends a heading for each kernel and workload, then a line "name value unit" for each
 * counter. */
void counters_text(struct strbuf *sb, const struct verdict *v);
/* Appends the source; each line has its counters in front of it and its findings below it. */
void annotate_text(struct strbuf *sb, const struct verdict *v, const char *source);

#endif
