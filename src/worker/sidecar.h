/*
 * sidecar.h - runs a PyTorch baseline in a process of its own, in lock-step with the worker.
 *
 * Each request is one line and gets one line as reply. The request for a call passes CUDA IPC
 * handles of the worker's buffers. The sidecar runs the program once and replies with the time that
 * its own events measured. docs/worker.md describes the protocol.
 */
#ifndef WORKER_SIDECAR_H
#define WORKER_SIDECAR_H

#include <stdint.h>

#include "worker/job_run_state.h"

/* Starts the processes of all PyTorch baselines, so that they import PyTorch while the worker
 * checks the candidate. */
void sidecar_prepare(struct job_run *r);
/* Runs one call. Starts the process if it is not running. If PyTorch or its process fails, only the
 * baseline fails: RESULT_LOAD_FAILED. */
enum result_status sidecar_call(struct job_run *r, struct module_state *ms, uint32_t c,
                                const struct job_call *call, const uint64_t *addr, double *time_ns,
                                struct err *err);
void sidecar_stop(struct sidecar *s); /* NULL is fine */

#endif
