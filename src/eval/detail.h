/*
 * detail.h - what an author needs to repair a candidate: folded, ordered, at most about 60 lines.
 *
 * The same text serves people (`hone eval`) and prompts. It never names a held-out shape.
 */
#ifndef EVAL_DETAIL_H
#define EVAL_DETAIL_H

#include "compile/compile.h"
#include "task/task.h"
#include "verdict/verdict.h"

/* Diagnostics, folded to `max_lines`, each with the line of the candidate's source it names. */
char *detail_diags(struct arena *a, const struct compiled *c, const char *source,
                   unsigned max_lines);
/* Plan or task problems, one per line. */
char *detail_problems(struct arena *a, const struct problem_vec *p);
/* Findings with their source lines, failing workloads, warnings. */
char *detail_run(struct verdict *v, const char *source);

#endif
