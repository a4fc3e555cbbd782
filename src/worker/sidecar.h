/*
 * sidecar.h - runs a PyTorch baseline, or a reference in Python, in a process of its own, the
 * sidecar.
 *
 * The worker sends requests to the sidecar. Each request is one line and gets one line as reply.
 * The request for a call passes CUDA IPC handles of the worker's buffers. The sidecar runs the
 * program and replies with the time that its own CUDA events measured. docs/worker.md describes the
 * protocol.
 */
#ifndef WORKER_SIDECAR_H
#define WORKER_SIDECAR_H

#include <stdint.h>

#include "worker/job_run_state.h"

/* Starts the processes of all PyTorch baselines and waits until they have imported PyTorch. They do
 * not use the GPU yet, so another worker may be timing there. */
void sidecar_load(struct job_run *r);
/* Makes the processes of all PyTorch baselines open the GPU, and does not wait for them: meanwhile
 * the worker checks the candidate. Starts the processes that do not run; they import PyTorch
 * first. */
void sidecar_prepare(struct job_run *r);
/* Runs one call. Starts the process if it is not running. If PyTorch or its process fails, only the
 * baseline fails: RESULT_LOAD_FAILED. */
enum result_status sidecar_call(struct job_run *r, struct module_state *ms, uint32_t c,
                                const struct job_call *call, const uint64_t *addr, double *time_ns,
                                struct err *err);
void sidecar_stop(struct sidecar *s); /* NULL is fine */

/* ---- a reference in Python ------------------------------------------------------------------- */

/* Starts a process that computes truths on the CPU, for a task whose reference is in Python. `spec`
 * is the text that library_reference_spec() returned: names of axes and scalars, mode, precision,
 * then the Python program. Returns NULL on failure. End the process with sidecar_stop(). */
struct sidecar *sidecar_open_reference(const char *spec, struct err *err);
/* Runs the program in double precision. If buffer i of the case is an input, in[i] is its data. If
 * it is an output, want[i] gets its truth. The data passes through files in the folder `dir`. This
 * function removes these files at its end. */
int sidecar_truth(struct sidecar *s, const char *spec, const struct job_case *c,
                  const void *const *in, double *const *want, const char *dir, struct err *err);

#endif
