/*
 * job_run_state.h - the state of a job while it runs: its modules, calls and kept outputs.
 *
 * run_bundle() allocates `struct job_run`, which belongs to the main thread. Strings in the result
 * belong to `job_run.arena` or to `struct device`, both in host memory. So the device stays open
 * until result.bin is written, or until time_in_processes() has copied these strings. The watchdog
 * holds only a copy of the serialized result.
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

/* The outputs of a call, kept until the worker verifies them. On a GPU it does so after the last
 * call, because all candidate modules must be unloaded before the oracle is loaded. */
struct kept_call {
    uint32_t c;           /* case */
    uint32_t k;           /* index of the call in the result */
    struct job_call call; /* the call, with its seeds */
    /* the bytes of each output; NULL for other buffers and for hidden outputs */
    void **out;
    struct device_hidden **hidden; /* outputs whose copy stays on the device */
    /* If the call ran only a sample of its blocks: what they wrote, one entry per buffer; `out` is
     * then unused. Else NULL. */
    struct device_written *written;
    /* Upper bound on the share of the tensor that all blocks, not only the sampled ones, can
     * change. Set only in sampled calls, for tensors updated in place and for outputs that a memset
     * or copy fills. */
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
    uint64_t kept_bytes, kept_max; /* host memory of the kept outputs, and the most we allow */
    /* hashes of the previous call's outputs, for JOB_CALL_REPEAT */
    uint64_t out_hash[JOB_MAX_BUFFERS];
    struct finding_vec findings;
    struct counter_vec counters;
    struct watchdog *dog;
    unsigned cores;             /* the cores of this machine */
    struct strbuf bytes;        /* the serialized result; the buffer is reused */
    uint64_t start_ns, told_ns; /* when the job began; when we last wrote progress.bin */
    /* For the log: the number of calls, and the time that their parts took, summed over all
     * calls. */
    struct {
        uint64_t calls;
        uint64_t load_ns; /* loading modules */
        uint64_t data_ns; /* allocating and filling buffers */
        uint64_t run_ns;  /* running the launches */
        uint64_t look_ns; /* inspecting guard zones, inputs and module variables; hashing outputs */
        uint64_t keep_ns; /* copying outputs, to verify them later */
    } spent;
    /* Set during a timed call of the candidate; decides whether the call's outputs are kept for
     * verification. */
    struct rounds *rounds;
    bool timing_ready; /* prepare_timing() has run */
};

#endif
