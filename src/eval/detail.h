/*
 * detail.h - writes the text that an author needs to repair a candidate: at most about 60 lines,
 * the most important first.
 *
 * People (`hone eval`) and prompts get the same text. The text never names a held-out shape,
 * because authors must not know those shapes.
 */
#ifndef EVAL_DETAIL_H
#define EVAL_DETAIL_H

#include "compile/compile.h"
#include "task/task.h"
#include "verdict/verdict.h"

/* Returns the errors among the diagnostics, each with the line of the candidate's source that it
 * names. Stops when the text has about `max_lines` lines. */
char *detail_diags(struct arena *a, const struct compiled *c, const char *source,
                   unsigned max_lines);
/* Returns the problems of a plan or a task, one per line. */
char *detail_problems(struct arena *a, const struct problem_vec *p);
/* Returns a text with three parts: the findings with their source lines; the first
 * VERDICT_TOLD_WORKLOADS wrong workloads in the given order (check/case_order.h); how many wrong
 * workloads are left out. */
char *detail_findings(struct verdict *v, const char *source, const uint32_t *order);

#endif
