/*
 * plan.h - parses the plan in the first comment of a candidate (a kernel file), and checks it
 * against the file's kernels. A plan says which kernels to launch, with which grid, block and
 * arguments.
 *
 *     struct plan *p = plan_parse(source, len, task, &problems);  task may be NULL
 *     plan_check_signature(p, sigs, &problems);         when the candidate is compiled
 *     plan_resolve(p, sigs, &shape, &c, &program, &arena, err);   for each shape of the job
 *
 * plan_parse() does not stop at the first problem, and gives each problem its line and column in
 * the candidate's file. docs/plan.md describes the language. If a plan cannot be resolved, the
 * candidate gets the verdict `plan_error`.
 */
#ifndef PLAN_PLAN_H
#define PLAN_PLAN_H

#include "job/job.h"
#include "plan/sig.h"
#include "task/task.h"

struct plan;

/* Returns a plan for plan_free(), or NULL after it reported problems. The plan keeps `task`, so the
 * task must outlive the plan. If `task` is NULL, the plan's names and tensor maps are not checked.
 * Only plan_launch_count(), plan_launch_kernel(), plan_compile_options() and plan_free() accept
 * such a plan. */
struct plan *plan_parse(const char *source, size_t len, const struct task *task,
                        struct problem_vec *problems);
void plan_free(struct plan *p);

size_t plan_launch_count(const struct plan *p);
/* Returns NULL if launch i is not a kernel. */
const char *plan_launch_kernel(const struct plan *p, size_t i);

/* Returns the options with which the plan wants its kernels to be compiled, for
 * compile_request.options: NULL-terminated, or NULL if there are none. */
const char *const *plan_compile_options(const struct plan *p);

/* Checks for each launch that it has the right number of arguments, and that each argument has the
 * right size, kind and constness. Also checks that each output has a launch that can write it.
 * `sigs` may contain kernels that the plan does not launch. Returns -1 if it reported problems. */
int plan_check_signature(const struct plan *p, const struct sig_vec *sigs,
                         struct problem_vec *problems);

/* A case is one shape of a job, resolved to numbers. Fills the parts of a case that depend only on
 * the task and the shape. These are the buffers of the tensors (in task order), the phases of the
 * oracle, the axes and scalars, flops and bytes. The oracle is the compiled reference, and a phase
 * is one of its functions. The caller sets name, programs, calls and timing. */
int plan_fill_case(struct job_case *c, const struct shape *s, struct arena *a, struct err *err);

/* Resolves this plan to a program of case `c`. Calls plan_fill_case() if the case has no buffers
 * yet. Leaves out launches whose `when` is 0. Appends to the case's buffers each workspace that a
 * remaining launch uses. The kernel's signature decides the size of an argument that is a number.
 * An error names the launch, the argument and the expected value, but not the axes of a held-out
 * shape. */
int plan_resolve(const struct plan *p, const struct sig_vec *sigs, const struct shape *shape,
                 struct job_case *c, struct job_program *out, struct arena *a, struct err *err);

#endif
