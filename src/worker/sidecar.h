/*
 * sidecar.h - runs a PyTorch baseline, or a reference in Python, in a process of its own.
 *
 * Each request is one line, and so is its reply. A call passes CUDA IPC handles of the worker's
 * buffers, and the sidecar replies with the time of its own CUDA events. See docs/worker.md.
 */
#ifndef WORKER_SIDECAR_H
#define WORKER_SIDECAR_H

#include <stdint.h>

#include "worker/job_run_state.h"

/* Starts the processes of all PyTorch baselines and waits until they have imported PyTorch. They do
 * not use the GPU yet, because another worker may be timing kernels on it. */
void sidecar_load(struct job_run *r);
/* Makes the processes of all PyTorch baselines open the GPU, and starts those that do not run. Does
 * not wait for them. */
void sidecar_prepare(struct job_run *r);
/* Runs one call of a PyTorch baseline, and starts its process if necessary. If PyTorch fails, only
 * the baseline fails, with RESULT_LOAD_FAILED. */
enum result_status sidecar_call(struct job_run *r, struct module_state *ms, uint32_t c,
                                const struct job_call *call, const uint64_t *addr, double *time_ns,
                                struct err *err);
void sidecar_stop(struct sidecar *s); /* NULL is fine */

/* ---- a reference in Python ------------------------------------------------------------------- */

/* Starts a process that computes truths on the CPU. `spec` comes from library_reference_spec():
 * names of axes and scalars, mode, precision, then the program. Returns NULL on failure. End the
 * process with sidecar_stop(). */
struct sidecar *sidecar_open_reference(const char *spec, struct err *err);
/* Computes the truth of one call in double precision. in[i] is the data of an input buffer i;
 * want[i] gets the truth of an output. The data passes through temporary files in `dir`. */
int sidecar_truth(struct sidecar *s, const char *spec, const struct job_case *c,
                  const void *const *in, double *const *want, const char *dir, struct err *err);

#endif
