/*
 * tester.h - adds shapes to a task. The tester, an author, proposes them.
 *
 * The tester answers with JSON: {"cases": [{"axes": {"R": 3}, "align_bytes": 4, "offset_elems": 1,
 * "why": "..."}]}. A case is used only if the task's loader accepts it, if it satisfies the task's
 * constraints, and if it is small enough to be verified for every candidate.
 */
#ifndef AGENT_TESTER_H
#define AGENT_TESTER_H

#include "base/strbuf.h"
#include "task/task.h"

#define TESTER_MAX_CASES 8
#define TESTER_MAX_ELEMS (4u << 20) /* elements of all tensors of one case together */

/* Returns a copy of the task that also has the accepted cases, as `check` workloads. Returns NULL
 * if no case is accepted. The caller frees the copy with task_free(). For each case, appends a line
 * to `notes`. The line says that the case was accepted, or why it was not. */
struct task *task_with_tester_cases(const struct task *t, const char *reply, struct strbuf *notes);

#endif
