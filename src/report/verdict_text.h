/*
 * verdict_text.h - writes a verdict for people: its kind, the evidence, ratios with intervals.
 */
#ifndef REPORT_VERDICT_TEXT_H
#define REPORT_VERDICT_TEXT_H

#include "base/strbuf.h"
#include "verdict/verdict.h"

/* Appends the verdict as text. The verdict's detail describes only the first few wrong workloads;
 * if `all` is true, the text lists every wrong workload. */
void verdict_text(struct strbuf *sb, const struct verdict *v, bool all);
/* Appends the time, with more digits than strbuf_add_time(): "12.30 us", "1.800 ms". */
void time_text(struct strbuf *sb, double ns);

#endif
