/*
 * plan.h - the launch plan in a candidate's first comment, and its check against the kernels.
 *
 *     struct plan *p = plan_parse(source, len, task, &problems);  task may be NULL
 *     plan_check_signature(p, sigs, &problems);         after compiling
 *     plan_resolve(p, sigs, &shape, &c, &program, &arena, err);   per workload, for job.bin
 *
 * plan_parse reports ALL problems with line and column in the candidate's file. docs/plan.md
 * describes the language. A plan that fails to resolve is a `plan_error` verdict, never a crash.
 */
#ifndef PLAN_PLAN_H
#define PLAN_PLAN_H

#include "job/job.h"
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

/* What a case needs of the task at one shape, whoever runs in it: the tensors' buffers (in task
 * order, with room for JOB_MAX_BUFFERS), the oracle's phases, axes and scalars, flops and bytes.
 * Name, programs, calls and timing are the caller's. */
int plan_case(struct job_case *c, const struct shape *s, struct arena *a, struct err *err);

/* The program of this plan in that case, filled by plan_case before, or here if it has no buffers
 * yet. Workspace that a running launch uses is appended to the case's buffers. Numbers take their
 * size from the kernel's signature. An error names launch, argument and what was expected; it does
 * not name the axes of a held-out shape. */
int plan_resolve(const struct plan *p, const struct sig_vec *sigs, const struct shape *shape,
                 struct job_case *c, struct job_program *out, struct arena *a, struct err *err);

#endif
