/*
 * verdict_text.h - writes a verdict for people: its kind, the evidence, ratios with intervals.
 */
#ifndef REPORT_VERDICT_TEXT_H
#define REPORT_VERDICT_TEXT_H

#include "base/strbuf.h"
#include "verdict/verdict.h"

/* The detail of a verdict tells of a few wrong workloads. `all` lists every one of them. */
void verdict_text(struct strbuf *sb, const struct verdict *v, bool all);
/* Appends the time: "12.30 us", "1.800 ms". */
void time_text(struct strbuf *sb, double ns);

#endif
