/*
 * oracle.h - a task's reference.c made runnable: what the right answer is, in double.
 *
 *     if (oracle_build(task, "dir/oracle.so", err) < 0) ...       for the CPU
 *     oracle_run("dir/oracle.so", &shape, in, value, mag, 0, err);
 *     oracle_source(task, &text, err);                            for the GPU, through NVRTC
 *
 * Both sides compile the same text: a prelude of enumerators (HT_ tensors, HD_ their dtypes, HA_
 * axes, HS_ scalars), hone_ref.h, then reference.c. It needs no file beside it. Built-in tasks
 * bring their shared object, compiled when Hone was; others need a C compiler.
 */
#ifndef TASK_ORACLE_H
#define TASK_ORACLE_H

#include "base/err.h"
#include "base/strbuf.h"
#include "task/task.h"

/* The whole text, in the common subset of C17 and C++17. A reference.c may include only
 * hone_ref.h and must have a PHASE for each of the task's phases. */
int oracle_source(const struct task *t, struct strbuf *out, struct err *err);

/* Writes the shared object to so_path. The compiler is $CC or cc, under limits on time, memory
 * and file size; its complaints are in err. */
int oracle_build(const struct task *t, const char *so_path, struct err *err);

/* Runs all phases at this shape on `threads` threads (0 = one per core). `inputs` has one pointer
 * per task tensor (NULL for pure outputs), out_value and out_mag likewise (NULL for pure inputs),
 * each with shape->elems doubles. Code of a reference.c that crashes takes the caller with it. */
int oracle_run(const char *so_path, const struct shape *s, void *const *inputs,
               double *const *out_value, double *const *out_mag, unsigned threads, struct err *err);

#endif
