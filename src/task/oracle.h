/*
 * oracle.h - compiles and runs a task's reference.c, which computes the right answer in double.
 *
 * CPU and GPU get the same text, which needs no other file: enumerators (HT_ tensors, HD_ their
 * dtypes, HA_ axes, HS_ scalars), hone_ref.h, then reference.c. Hone's build compiles the built-in
 * tasks; other tasks need a C compiler.
 */
#ifndef TASK_ORACLE_H
#define TASK_ORACLE_H

#include "base/err.h"
#include "base/strbuf.h"
#include "job/ref_ctx.h"
#include "task/task.h"

/* Limits on the compiler's CPU time and elapsed time. The second is higher, because the machine may
 * be busy. A compile usually takes up to 30 s. */
#define ORACLE_COMPILE_CPU_NS (900ull * 1000 * 1000 * 1000)
#define ORACLE_COMPILE_NS (4 * ORACLE_COMPILE_CPU_NS)

#define ORACLE_MAX_BYTES (16u << 20) /* of the text that oracle_source() makes */
/* Appends the oracle's text for the GPU, in the common subset of C17 and C++17. Fails if
 * reference.c includes another file than hone_ref.h. */
int oracle_source(const struct task *t, struct strbuf *out, struct err *err);

/* Writes the oracle for the CPU to so_path, as a shared object. For a built-in task, copies the
 * object from Hone's build. For other tasks, runs $CC or cc with limits; if that fails, *err has
 * the compiler's messages. */
int oracle_build(const struct task *t, const char *so_path, struct err *err);

/* Builds the object for oracle_trial.h with $CXX or c++. The object reports every access to outputs
 * and scratch, and undefined behaviour. */
int oracle_build_checked(const struct task *t, const char *so_path, struct err *err);

/* Runs the oracle in this process, and writes the values and magnitudes of the outputs. `threads`
 * is the number of threads; 0 = one per core. The arrays have a pointer for each tensor: NULL for
 * pure outputs in `inputs`, and for pure inputs in out_value and out_mag. A crash of reference.c
 * crashes the caller. */
int oracle_run(const char *so_path, const struct shape *s, void *const *inputs,
               double *const *out_value, double *const *out_mag, unsigned threads, struct err *err);

/* ---- parts of a run, for task/oracle_trial.c ------------------------------------------------- */

struct oracle_ctx {
    struct ref_ctx ref; /* `scalar` and `fault` point to the members below */
    const char *names[REF_MAX_TENSORS];
    double *scalars;
    uint64_t fault;
};

/* Prepares *x for a run. Allocates the scratch, but does not set its contents. A trial does not
 * free the memory of *x, because its process ends after the run. */
int oracle_ctx_init(struct oracle_ctx *x, const struct shape *s, void *const *inputs,
                    double *const *out_value, double *const *out_mag, struct err *err);
/* Returns a lower bound on the operations of a run at this shape, from the task's flops, scratch,
 * tensors and phases. */
double oracle_operations(const struct shape *s);

struct oracle_phase {
    ref_phase_fn fn;
    const struct ref_ctx *ctx;
    int64_t units, repeat;
    bool is_small; /* a step is too small for several threads */
};

int oracle_find_phase(void *so, const struct shape *s, size_t i, const struct ref_ctx *ctx,
                      struct oracle_phase *out, struct err *err);
void oracle_run_phase(struct oracle_phase *p, unsigned threads);
/* Returns how many threads a run uses by default: one per core, at most 256. */
unsigned oracle_threads(void);

#endif
