/*
 * sidecar.h - a PyTorch baseline in a process of its own, in lock-step with the worker.
 *
 * One line in, one line out: each call gets shared-memory handles of the worker's buffers, runs
 * once, and answers with its own event time. docs/worker.md has the protocol.
 */
#ifndef WORKER_SIDECAR_H
#define WORKER_SIDECAR_H

#include <stdint.h>

#include "worker/run_state.h"

/* Starts the processes of all PyTorch baselines and lets them import it while the candidate is
 * checked. */
void sidecar_prepare(struct run *r);
/* Starts the process on first use. Any failure is the baseline's, never the job's. */
enum result_status sidecar_call(struct run *r, struct module_state *ms, uint32_t c,
                                const struct job_call *call, const uint64_t *addr, double *time_ns,
                                struct err *err);
void sidecar_stop(struct sidecar *s); /* NULL is fine */

#endif
