/*
 * sidecar.h - runs a PyTorch baseline, or a reference in Python, in a process of its own, the
 * sidecar.
 *
 * The worker sends requests; each is one line and gets one line as reply. A call passes CUDA IPC
 * handles of the worker's buffers, and the sidecar replies with the time of its own CUDA events.
 * See docs/worker.md.
 */
#ifndef WORKER_SIDECAR_H
#define WORKER_SIDECAR_H

#include <stdint.h>

#include "worker/job_run_state.h"

/* Starts the processes of all PyTorch baselines and waits until they have imported PyTorch. They do
 * not use the GPU yet, because another worker may be timing there. */
void sidecar_load(struct job_run *r);
/* Makes the processes of all PyTorch baselines open the GPU, and starts those that do not run. Does
 * not wait for them. */
void sidecar_prepare(struct job_run *r);
/* Runs one call. Starts the process if it is not running. If PyTorch or its process fails, only the
 * baseline fails: RESULT_LOAD_FAILED. */
enum result_status sidecar_call(struct job_run *r, struct module_state *ms, uint32_t c,
                                const struct job_call *call, const uint64_t *addr, double *time_ns,
                                struct err *err);
void sidecar_stop(struct sidecar *s); /* NULL is fine */

/* ---- a reference in Python ------------------------------------------------------------------- */

/* Starts a process that computes truths on the CPU. `spec` comes from library_reference_spec():
 * names of axes and scalars, mode, precision, then the Python program. Returns NULL on failure. End
 * the process with sidecar_stop(). */
struct sidecar *sidecar_open_reference(const char *spec, struct err *err);
/* Runs the program in double precision. in[i] is the data of buffer i if it is an input; want[i]
 * gets its truth if it is an output. The data passes through temporary files in `dir`. */
int sidecar_truth(struct sidecar *s, const char *spec, const struct job_case *c,
                  const void *const *in, double *const *want, const char *dir, struct err *err);

#endif
