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

/* Diagnostics in at most `max_lines` lines, each with the line of the candidate's source that
 * it names. */
char *detail_diags(struct arena *a, const struct compiled *c, const char *source,
                   unsigned max_lines);
/* Problems of the plan or the task, one per line. */
char *detail_problems(struct arena *a, const struct problem_vec *p);
/* Findings with their source lines, failing workloads, warnings. */
char *detail_findings(struct verdict *v, const char *source);

#endif
