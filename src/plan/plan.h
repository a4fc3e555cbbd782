/*
 * plan.h - the launch plan in a candidate's first comment, and its check against the kernels.
 *
 *     struct plan *p = plan_parse(source, len, &task_or_null, &problems);
 *     plan_check_signature(p, sigs, &problems);         after compiling
 *     plan_resolve(p, shape, &program, &arena, err);    per workload: numbers for job.bin
 *
 * plan_parse reports ALL problems with line and column in the candidate's file. docs/plan.md
 * describes the language. A plan that fails to resolve is a `plan_error` verdict, never a crash.
 */
#ifndef PLAN_PLAN_H
#define PLAN_PLAN_H

#include "base/job.h"
#include "plan/sig.h"
#include "task/task.h"

struct plan;

struct plan *plan_parse(const char *source, size_t len, const struct task *task,
                        struct problem_vec *problems);
void plan_free(struct plan *p);

size_t plan_launch_count(const struct plan *p);
const char *plan_launch_kernel(const struct plan *p, size_t i);

/* Count, size, kind and constness of every argument; NULL-safe on kernels the plan never names. */
int plan_check_signature(const struct plan *p, const struct sig_vec *sigs,
                         struct problem_vec *problems);

/* Workspace buffers are appended to `buffers` (task tensors first, in task order), then the
 * program's launches and tensor maps are filled in. Scalar arguments take their size from the
 * kernel's signature. `align` gives each tensor's address alignment in bytes in this workload. */
int plan_resolve(const struct plan *p, const struct sig_vec *sigs, const struct shape *shape,
                 struct job_case *c, struct job_program *out, struct arena *a, struct err *err);

#endif
