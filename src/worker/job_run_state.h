/*
 * job_run_state.h - the state of a job while it runs: its modules, calls and kept outputs.
 *
 * run_bundle() allocates `struct job_run`, which belongs to the main thread. Strings in the result
 * live in r->arena, or in the device. So the device stays open until result.bin is written, or
 * until time_in_processes() has copied these strings. The watchdog holds only a copy of the
 * serialized result.
 */
#ifndef WORKER_JOB_RUN_STATE_H
#define WORKER_JOB_RUN_STATE_H

#include "base/arena.h"
#include "base/vec.h"
#include "device/device.h"
#include "job/job.h"
#include "job/result.h"
#include "worker/watchdog.h"

VEC_DECL(result_call_vec, struct result_call);

struct sidecar;

struct module_state {
    struct device_module *m; /* NULL: not loaded */
    struct sidecar *sidecar; /* only for JOB_MODULE_TORCH; NULL until it is started */
    bool unsealed; /* Hone cannot check all of the module's state, so each timed call loads the
                    * module afresh */
    enum result_status status;
};

/* The outputs of a call that the worker will verify. It keeps them until it may load the oracle. */
struct kept_call {
    uint32_t c;                 /* case */
    uint32_t k;                 /* index of the call in the result */
    struct job_call call;       /* the call, with its seeds */
    void *out[JOB_MAX_BUFFERS]; /* for each buffer; NULL if it is not an output, or is hidden */
    struct device_hidden *hidden[JOB_MAX_BUFFERS]; /* outputs whose copy stays on the device */
    struct device_written *written; /* a sampled call sets this instead of `out`; one per buffer */
    /* For the in-place tensors of a sampled call, and outputs that a memset or copy fills: an upper
     * bound on the share of the tensor that all blocks together change. */
    double most_changed[JOB_MAX_BUFFERS];
};
VEC_DECL(kept_call_vec, struct kept_call);

struct rounds;
struct job_run {
    const char *dir;
    const struct job *job;
    struct device *dev;
    struct arena arena;
    struct result res;
    struct result_call_vec calls[JOB_MAX_CASES];
    struct module_state mods[JOB_MAX_PROGRAMS];
    struct kept_call_vec kept;
    uint64_t kept_bytes, kept_max; /* memory of the kept outputs, and the most we allow */
    /* hashes of the previous call's outputs, for JOB_CALL_REPEAT */
    uint64_t out_hash[JOB_MAX_BUFFERS];
    struct finding_vec findings;
    struct counter_vec counters;
    struct watchdog *dog;
    struct strbuf bytes;        /* the serialized result; the buffer is reused */
    uint64_t start_ns, told_ns; /* when the job began; when we last wrote progress.bin */
    struct {
        uint64_t calls, load_ns, data_ns, run_ns, look_ns, keep_ns;
    } spent;               /* time that calls took, by part, for the log */
    struct rounds *rounds; /* set in a timed call of the candidate; decides if the call is kept */
    bool timing_ready;
};

#endif
