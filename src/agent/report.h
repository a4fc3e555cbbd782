/*
 * report.h - a run as a Markdown page with its lineage and a plot of time per candidate.
 */
#ifndef AGENT_REPORT_H
#define AGENT_REPORT_H

#include "agent/summary.h"
#include "base/err.h"
#include "base/strbuf.h"

/* Writes DIR/report.md, DIR/time.svg and DIR/best.cu. */
int report_write(const struct summary *m, struct store *s, const char *dir, struct err *err);
/* Time of every passing candidate, and the best so far as a line; logarithmic if need be. */
void report_svg(const struct summary *m, struct strbuf *out);

#endif
