/*
 * page.h - writes a run as a Markdown page, with its lineage and a plot of time per candidate.
 */
#ifndef REPORT_PAGE_H
#define REPORT_PAGE_H

#include "base/err.h"
#include "base/strbuf.h"
#include "report/run_summary.h"

/* Makes DIR if necessary. Writes DIR/report.md, DIR/time.svg and, if a kernel passes,
 * DIR/best.cu. */
int report_write(const struct run_summary *m, struct store *s, const char *dir, struct err *err);
/* Appends an SVG plot: the time of each candidate that passes, and the best so far as a line. The
 * time axis is logarithmic if the times differ much. */
void report_plot(const struct run_summary *m, struct strbuf *out);

#endif
