/*
 * page.h - writes a run as a Markdown page, with the tree of its candidates and a plot of their
 * times.
 */
#ifndef REPORT_PAGE_H
#define REPORT_PAGE_H

#include "base/err.h"
#include "base/strbuf.h"
#include "report/run_summary.h"

/* Creates `dir` if necessary. Writes report.md, time.svg and, if a kernel passes, best.cu. The
 * commands in report.md work from the current working directory. */
int report_write(const struct run_summary *m, struct store *s, const char *dir, struct err *err);
/* In plot.c: appends an SVG plot with a dot for each candidate and a line for the best time so far.
 * The time axis is logarithmic if the longest time is more than 6 times the shortest. */
void report_plot(const struct run_summary *m, struct strbuf *out);

#endif
