/*
 * oracle.h - compiles and runs a task's reference.c, which computes the right answer in double.
 *
 *     if (oracle_build(task, "dir/oracle.so", err) < 0) ...       for the CPU
 *     oracle_run("dir/oracle.so", &shape, in, value, mag, 0, err);
 *     oracle_source(task, &text, err);                            for the GPU, through NVRTC
 *
 * The compilers for the CPU and for the GPU get the same text: a prelude of enumerators (HT_
 * tensors, HD_ their dtypes, HA_ axes, HS_ scalars), hone_ref.h, then reference.c. The text needs
 * no other file. The build of Hone compiles the shared objects of built-in tasks; other tasks need
 * a C compiler.
 */
#ifndef TASK_ORACLE_H
#define TASK_ORACLE_H

#include "base/err.h"
#include "base/strbuf.h"
#include "job/ref_ctx.h"
#include "task/task.h"

/* The limits on the CPU time and on the elapsed time of the compiler that compiles reference.c. The
 * second limit is higher, because the machine may be busy. A compile usually takes up to 30 s. */
#define ORACLE_COMPILE_CPU_NS (900ull * 1000 * 1000 * 1000)
#define ORACLE_COMPILE_NS (4 * ORACLE_COMPILE_CPU_NS)

/* The most bytes of the text that oracle_source() writes. */
#define ORACLE_MAX_BYTES (16u << 20)
/* Writes the whole text to `out`, in the common subset of C17 and C++17. A reference.c may include
 * only hone_ref.h and must have a PHASE for each of the task's phases. */
int oracle_source(const struct task *t, struct strbuf *out, struct err *err);

/* Writes the shared object to so_path. For a built-in task it copies the object that Hone's build
 * made. For others it runs the compiler, $CC or cc, under limits on time, memory and file size; if
 * that fails, err holds the compiler's messages. */
int oracle_build(const struct task *t, const char *so_path, struct err *err);

/* Builds the object for checks (task/oracle_trial.h) with the C++ compiler, $CXX or c++. This
 * object tells its caller of every access to outputs and scratch, and of undefined behaviour. */
int oracle_build_checked(const struct task *t, const char *so_path, struct err *err);

/* Runs all phases at this shape on `threads` threads (0 = one per core). `inputs` has one pointer
 * per tensor of the task (NULL for pure outputs). out_value and out_mag also have one pointer per
 * tensor (NULL for pure inputs). Each points to one double per element of the tensor. They get the
 * values and the magnitudes (hone_ref.h) of the outputs. An access out of bounds is an error. If a
 * reference.c crashes, the caller crashes too. */
int oracle_run(const char *so_path, const struct shape *s, void *const *inputs,
               double *const *out_value, double *const *out_mag, unsigned threads, struct err *err);

/* ---- parts of a run, for task/oracle_trial.c ------------------------------------------------- */

struct oracle_ctx {
    struct ref_ctx ref;                 /* its `scalar` and `fault` point to the members below */
    const char *names[REF_MAX_TENSORS]; /* the names of the tensors */
    double *scalars;
    uint64_t fault;
};

/* The caller releases x, also after an error. The scratch is not initialised. */
int oracle_ctx_init(struct oracle_ctx *x, const struct shape *s, void *const *inputs,
                    double *const *out_value, double *const *out_mag, struct err *err);
void oracle_ctx_release(struct oracle_ctx *x);
/* Returns a lower bound on the number of operations of the oracle. It is the largest of four
 * numbers: the task's flops, the elements of its scratch, the units of its largest phase (in all
 * steps), and the elements of its largest tensor. */
double oracle_operations(const struct shape *s);

struct oracle_phase {
    ref_phase_fn fn;
    const struct ref_ctx *ctx;
    int64_t units, repeat; /* repeat is the number of steps: 1 if the phase is not repeated */
    bool is_small;         /* the phase is repeated, and a step is too small for several threads */
};

/* Finds the function of phase i in an open shared object, and computes how many units and steps the
 * phase has at this shape. */
int oracle_find_phase(void *so, const struct shape *s, size_t i, const struct ref_ctx *ctx,
                      struct oracle_phase *out, struct err *err);
/* Runs all units of all steps of a phase, on at most `threads` threads. */
void oracle_run_phase(struct oracle_phase *p, unsigned threads);
/* Returns how many threads to use if the caller does not say: one per core, at most 256. */
unsigned oracle_threads(void);

#endif
