/*
 * detail.h - writes the text that an author needs to repair a candidate: at most about 60 lines,
 * the most important first.
 *
 * People (`hone eval`) and prompts get the same text. It never names a held-out shape.
 */
#ifndef EVAL_DETAIL_H
#define EVAL_DETAIL_H

#include "compile/compile.h"
#include "task/task.h"
#include "verdict/verdict.h"

/* Returns the errors among the diagnostics, with the source lines that they name. Stops after about
 * `max_lines` lines. */
char *detail_diags(struct arena *a, const struct compiled *c, const char *source,
                   unsigned max_lines);
/* Returns the problems, one on each line. */
char *detail_problems(struct arena *a, const struct problem_vec *p);
/* Returns a text with three parts: the findings with their source lines; the first
 * VERDICT_TOLD_WORKLOADS wrong workloads in the given order (check/case_order.h); and how many
 * wrong workloads the text leaves out. */
char *detail_findings(struct verdict *v, const char *source, const uint32_t *order);

#endif
