/*
 * check.h - checks everything about a loaded task that can be checked without a GPU.
 *
 *     struct task_check_result r = TASK_CHECK_RESULT_INIT;
 *     task_check(t, &r);
 *     if (r.problems.n) ...      must be fixed
 *     r.notes                    checks that were left out, and why
 *     task_check_result_release(&r);
 *
 * It checks the workloads, compiles reference.c as C17 and as C++17 without warnings, and runs it
 * (task/check_oracle.h). docs/task.md lists the checks.
 */
#ifndef TASK_CHECK_H
#define TASK_CHECK_H

#include "task/check_result.h"

void task_check(const struct task *t, struct task_check_result *r);

#endif
