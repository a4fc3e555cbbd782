/*
 * detail.h - the text that an author needs to repair a candidate: at most about 60 lines, the most
 * important first.
 *
 * People (`hone eval`) and prompts get the same text. It never names a held-out shape.
 */
#ifndef EVAL_DETAIL_H
#define EVAL_DETAIL_H

#include "compile/compile.h"
#include "task/task.h"
#include "verdict/verdict.h"

/* The errors among the diagnostics, each with the line of the candidate's source that it names.
 * Takes about three lines for each, and stops when there are about `max_lines`. */
char *detail_diags(struct arena *a, const struct compiled *c, const char *source,
                   unsigned max_lines);
/* Problems of the plan or the task, one per line. */
char *detail_problems(struct arena *a, const struct problem_vec *p);
/* Findings with their source lines, and workloads that are not right. */
char *detail_findings(struct verdict *v, const char *source);

#endif
