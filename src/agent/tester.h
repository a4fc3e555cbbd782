/*
 * tester.h - adds shapes to a task. The tester, an author, proposes them.
 *
 * The tester answers with JSON: {"cases": [{"axes": {"R": 3}, "align_bytes": 4, "offset_elems": 1,
 * "why": "..."}]}. Hone uses a case only if the task's loader and constraints accept it, and if it
 * is small enough to be verified for every candidate.
 */
#ifndef AGENT_TESTER_H
#define AGENT_TESTER_H

#include "base/strbuf.h"
#include "task/task.h"

#define TESTER_MAX_CASES 8
#define TESTER_MAX_ELEMS (4u << 20) /* elements of all tensors of one case together */

/* Returns a copy of the task with the accepted cases as `check` workloads, or NULL if none is
 * accepted. Free the copy with task_free(). For each case, appends a line to `notes` that says
 * whether the case was accepted, and if not, why. */
struct task *task_with_tester_cases(const struct task *t, const char *reply, struct strbuf *notes);

#endif
