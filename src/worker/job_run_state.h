/*
 * job_run_state.h - the state of a job while it runs: its modules, calls and kept outputs.
 *
 * run_bundle() allocates `struct job_run`, and only the main thread uses it. Some strings in the
 * result lie in job_run.arena; job_run.dev owns the others and frees them when it is closed. So the
 * device stays open until result.bin is written, or until time_in_processes() has copied the
 * device's strings. The watchdog, which is another thread, holds only a copy of the serialized
 * result.
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
    struct device_module *m; /* NULL while the module is not loaded */
    struct sidecar *sidecar; /* only for JOB_MODULE_TORCH; NULL until it is started */
    /* True if Hone cannot check all of the module's state. Then each timed call loads the module
     * afresh. */
    bool unsealed;
    enum result_status status; /* RESULT_OK, or how the module failed */
};

/* The outputs of a call, kept until the worker verifies them. On a GPU, the worker verifies them
 * after the last call, because all candidate modules must be unloaded before the oracle is
 * loaded. The arrays have one entry for each buffer of the case. */
struct kept_call {
    uint32_t c;           /* index of the case */
    uint32_t k;           /* index of the call in result_case.calls */
    struct job_call call; /* the call, with its seeds */
    /* The bytes of each output. NULL for hidden outputs, and for buffers that are not outputs. */
    void **out;
    /* The hidden outputs: those of which a copy stays on the device. NULL for other buffers. */
    struct device_hidden **hidden;
    /* If the call ran only a sample of its blocks: what these blocks wrote. Then `out` is unused.
     * NULL if all blocks ran. */
    struct device_written *written;
    /* Set only in sampled calls, for tensors that are updated in place and for outputs that a
     * memset or copy fills. It is an upper bound for the share of the tensor that all blocks, not
     * only the sampled ones, can change. */
    double *most_changed;
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
    uint64_t kept_bytes, kept_max; /* bytes of host memory for kept outputs; the most we allow */
    /* For JOB_CALL_REPEAT: the hashes of the previous call's outputs. */
    uint64_t out_hash[JOB_MAX_BUFFERS];
    struct finding_vec findings;
    struct counter_vec counters;
    struct watchdog *dog;
    unsigned cores;             /* number of processor cores of this machine */
    struct strbuf bytes;        /* the serialized result; its memory is reused */
    uint64_t start_ns, told_ns; /* when the job began; when we last wrote progress.bin */
    /* For the log: the number of calls, and the time that each part of a call took, summed over all
     * calls. */
    struct {
        uint64_t calls;
        uint64_t load_ns; /* loading modules */
        uint64_t data_ns; /* allocating and filling buffers */
        uint64_t run_ns;  /* running the launches */
        uint64_t look_ns; /* checking guard zones, inputs and module variables; hashing outputs */
        uint64_t keep_ns; /* copying outputs, to verify them later */
    } spent;
    /* Set during a timed call of the candidate, else NULL. It is the state with which
     * rounds_keep_call() decides whether the worker keeps the call's outputs. */
    struct rounds *rounds;
    bool timing_ready; /* true after the device's prepare_timing() has run */
};

#endif
