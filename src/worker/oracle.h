/*
 * oracle.h - computes the truth of one call on the CPU. It generates the inputs again and runs the
 * reference's phases (PHASE in hone_ref.h) in threads.
 *
 *     struct oracle *o;
 *     oracle_open(&o, "bundle", "oracle.so", err);
 *     oracle_compute(o, jcase, call, outputs, sample_seed, nthreads, &truth, err);
 *     truth.want[buffer], truth.mag[buffer]
 *     truth_release(&truth);
 *     oracle_close(o);
 *
 * A job for the emulator has oracle.so, the task's compiled reference.c, which we trust. A job for
 * a GPU has oracle.cubin instead (device/cuda_truth.c). If the task's reference is in Python, both
 * kinds of jobs have oracle.torch instead, and a sidecar computes the truth.
 */
#ifndef WORKER_ORACLE_H
#define WORKER_ORACLE_H

#include "base/err.h"
#include "job/job.h"

struct oracle;

/* The truth of one call. want[i] and mag[i] hold the value and the magnitude of each element of
 * buffer i. They are NULL for inputs and workspaces. If the tolerance is given in sigmas
 * (task/hone_ref.h), `mag` holds sigmas. */
struct truth {
    uint32_t n; /* buffers */
    double **want, **mag;
};

int oracle_open(struct oracle **out, const char *dir, const char *name, struct err *err);
/* Returns whether the file `name` is a reference in Python, which computes only whole outputs. */
bool oracle_is_python(const char *name);
void oracle_close(struct oracle *o);
/* Computes the truth of a call. Fails if the reference makes an access out of bounds, or if an
 * output element stays unwritten although all units ran. If only a sample of the units runs
 * (job/unit_sample.h), the `mag` of an unwritten element is COMPARE_UNSEEN. `got` has what the
 * candidate wrote to each buffer, or is NULL. The reference can read it only for outputs with
 * several right answers (job_has_choice()). */
int oracle_compute(struct oracle *o, const struct job_case *c, const struct job_call *call,
                   void *const *got, uint64_t sample_seed, unsigned nthreads, struct truth *out,
                   struct err *err);
void truth_release(struct truth *t);

/* For verify_elements.c: runs one phase on a list of units, in any order. A repeated phase runs
 * them in each step. */
struct ref_ctx;
int oracle_run_units(struct oracle *o, const struct job_phase *phase, const struct ref_ctx *ctx,
                     const uint64_t *units, uint64_t n, unsigned nthreads, struct err *err);
/* All steps of the phase together take about `ops` operations. Returns nthreads, or 1 if a step is
 * small. */
unsigned oracle_phase_threads(const struct job_phase *p, double ops, unsigned nthreads);
/* Fails if *ctx->fault says that an access was out of bounds. */
int oracle_fault_check(const struct job_case *c, const struct ref_ctx *ctx, struct err *err);

#endif
