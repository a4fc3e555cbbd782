/*
 * plan.h - parses the plan in the first comment of a candidate, and checks it against the file's
 * kernels. A plan says which kernels to launch, with which grid, block and arguments
 * (docs/plan.md).
 *
 *     struct plan *p = plan_parse(source, len, task, &problems);  task may be NULL
 *     plan_check_signature(p, sigs, &problems);         when the candidate is compiled
 *     plan_resolve(p, sigs, &shape, &c, &program, &arena, err);   for each shape of the job
 */
#ifndef PLAN_PLAN_H
#define PLAN_PLAN_H

#include "job/job.h"
#include "plan/sig.h"
#include "task/task.h"

struct plan;

/* Reports all problems, and returns NULL if there are any. The task must outlive the plan. Without
 * a task, names and tensor maps are not checked. Only plan_launch_count(), plan_launch_kernel(),
 * plan_compile_options() and plan_free() accept the plan then. */
struct plan *plan_parse(const char *source, size_t len, const struct task *task,
                        struct problem_vec *problems);
void plan_free(struct plan *p);
/* Finds the plan's JSON in a kernel file: from *from to *end, where the comment ends. Returns false
 * if there is no plan. */
bool plan_find(const char *source, const char **from, const char **end);
/* Appends a shorter plan with the same meaning: with shorter integer expressions (base/expr.h), and
 * without launches that never run. */
void plan_simplify(const char *plan, size_t len, struct strbuf *out);

size_t plan_launch_count(const struct plan *p);
/* Returns the name of the kernel that launch i starts, or NULL for a memset or a copy. */
const char *plan_launch_kernel(const struct plan *p, size_t i);

/* Returns the compiler options that the plan asks for, as compile_request.options needs them: a
 * list that ends with NULL, or NULL if there are none. */
const char *const *plan_compile_options(const struct plan *p);

/* Checks the number, size, kind and constness of each launch's arguments. Each output needs a
 * launch that can write it. `sigs` may contain other kernels too. Returns -1 if it reported
 * problems. */
int plan_check_signature(const struct plan *p, const struct sig_vec *sigs,
                         struct problem_vec *problems);

/* Fills the parts that depend only on task and shape: the tensors' buffers (in task order), the
 * oracle's phases, axes, scalars, flops and bytes. The caller sets name, programs, calls and
 * timing. */
int plan_fill_case(struct job_case *c, const struct shape *s, struct arena *a, struct err *err);

/* Resolves the plan to a program of case `c`. Calls plan_fill_case() if the case has no buffers
 * yet. Leaves out launches whose `when` is 0, and adds the workspaces of the others to the case. An
 * error never shows the axes of a held-out shape. */
int plan_resolve(const struct plan *p, const struct sig_vec *sigs, const struct shape *shape,
                 struct job_case *c, struct job_program *out, struct arena *a, struct err *err);

#endif
