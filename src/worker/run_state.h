/*
 * run_state.h - what is known of a job while it runs: its modules, calls and kept outputs.
 *
 * Who owns what: `struct run` lives in run_bundle()'s frame and belongs to the main thread. Strings
 * in the result live in its arena, or in the device until it is closed, which is after result.bin
 * has been written. The watchdog has only a copy of the serialized result.
 */
#ifndef WORKER_RUN_STATE_H
#define WORKER_RUN_STATE_H

#include "base/arena.h"
#include "base/vec.h"
#include "device/device.h"
#include "job/job.h"
#include "job/result.h"
#include "worker/watchdog.h"

VEC_DECL(call_vec, struct result_call);

struct sidecar;

struct module_state {
    struct device_module *m; /* NULL: not loaded */
    struct sidecar *sidecar; /* JOB_MODULE_TORCH, once started */
    bool unsealed;           /* may carry state nobody watches: every call loads it afresh */
    enum result_status status;
};

/* Outputs of a verified call, kept until the oracle may be loaded. */
struct kept {
    uint32_t c;                 /* case */
    uint32_t k;                 /* index of the call in the result */
    struct job_call call;       /* with its seeds */
    void *out[JOB_MAX_BUFFERS]; /* per buffer; NULL if it is no output */
    struct piece_vec *pieces;   /* instead, of a sampled call: per buffer */
};
VEC_DECL(kept_vec, struct kept);

struct rounds;
struct run {
    const char *dir;
    const struct job *job;
    struct device *dev;
    struct arena arena;
    struct result res;
    struct call_vec calls[JOB_MAX_CASES];
    struct module_state mods[JOB_MAX_PROGRAMS];
    struct kept_vec kept;
    uint64_t kept_bytes, kept_max;
    uint64_t out_hash[JOB_MAX_BUFFERS]; /* of the call before, for REPEAT */
    double changed[JOB_MAX_BUFFERS];    /* in place: the least share that a whole call changed */
    struct finding_vec findings;
    struct counter_vec counters;
    struct watchdog *dog;
    struct strbuf bytes; /* the result serialized, reused */
    uint64_t start_ns, told_ns;
    struct {
        uint64_t calls, load_ns, data_ns, run_ns, look_ns, keep_ns;
    } spent;               /* where the time of calls went, for the log */
    struct rounds *rounds; /* the candidate's call is one of these: it may be sampled */
    bool timing_ready;
};

#endif
