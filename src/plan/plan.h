/*
 * plan.h - parses the plan in the first comment of a candidate (a kernel file), and checks it
 * against the file's kernels. A plan says which kernels to launch, with which grid, block and
 * arguments.
 *
 *     struct plan *p = plan_parse(source, len, task, &problems);  task may be NULL
 *     plan_check_signature(p, sigs, &problems);         when the candidate is compiled
 *     plan_resolve(p, sigs, &shape, &c, &program, &arena, err);   for each shape of the job
 *
 * docs/plan.md describes the language. Problems have a line and column in the candidate's file. If
 * a plan cannot be resolved, the candidate gets the verdict `plan_error`.
 */
#ifndef PLAN_PLAN_H
#define PLAN_PLAN_H

#include "job/job.h"
#include "plan/sig.h"
#include "task/task.h"

struct plan;

/* Reports all problems, and returns NULL if there are any. The task must outlive the plan. If
 * `task` is NULL, names and tensor maps are not checked. Only plan_launch_count(),
 * plan_launch_kernel(), plan_compile_options() and plan_free() accept such a plan. */
struct plan *plan_parse(const char *source, size_t len, const struct task *task,
                        struct problem_vec *problems);
void plan_free(struct plan *p);
/* Finds the text of the plan in a kernel file: the JSON from *from to *end, where the comment ends.
 * Returns false if there is none. */
bool plan_find(const char *source, const char **from, const char **end);
/* Appends the plan (JSON text) in a shorter form of the same meaning: expressions of integers are
 * simplified (base/expr.h), and launches that never run are left out. */
void plan_simplify(const char *plan, size_t len, struct strbuf *out);

size_t plan_launch_count(const struct plan *p);
/* Returns NULL if launch i is not a kernel. */
const char *plan_launch_kernel(const struct plan *p, size_t i);

/* The plan's options for compile_request.options: NULL-terminated, or NULL if there are none. */
const char *const *plan_compile_options(const struct plan *p);

/* Checks the number of arguments of each launch, and their sizes, kinds and constness. Each output
 * needs a launch that can write it. `sigs` may contain other kernels too. Returns -1 if it reported
 * problems. */
int plan_check_signature(const struct plan *p, const struct sig_vec *sigs,
                         struct problem_vec *problems);

/* A case is one shape of a job, resolved to numbers. Fills what depends only on task and shape: the
 * tensors' buffers (in task order), the oracle's phases, axes, scalars, flops and bytes. The caller
 * sets name, programs, calls and timing. */
int plan_fill_case(struct job_case *c, const struct shape *s, struct arena *a, struct err *err);

/* Resolves the plan to a program of case `c`. Calls plan_fill_case() if the case has no buffers
 * yet. Leaves out launches whose `when` is 0. Appends the workspaces of the others to the case's
 * buffers. The kernel's signature decides the size of a numeric argument. An error never shows the
 * axes of a held-out shape. */
int plan_resolve(const struct plan *p, const struct sig_vec *sigs, const struct shape *shape,
                 struct job_case *c, struct job_program *out, struct arena *a, struct err *err);

#endif
