/*
 * job_run_state.h - the state of a job while it runs. Only the main thread uses it. The device owns
 * some strings of the result. So the device stays open until result.bin is written, or until
 * time_in_processes() has copied these strings.
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
    struct device_module *m; /* NULL = not loaded */
    struct sidecar *sidecar; /* NULL until the baseline is started */
    /* Hone cannot check all state of the module, so each timed call loads the module again. */
    bool unsealed;
    enum result_status status; /* RESULT_OK, or how it failed */
};

/* A call whose outputs are kept for verification. Arrays have one entry for each buffer. */
struct kept_call {
    uint32_t c;
    uint32_t k; /* index in result_case.calls */
    struct job_call call;
    /* Bytes of each output that is not hidden, else NULL. */
    void **out;
    /* Outputs that stay on the device, else NULL. */
    struct device_hidden **hidden;
    /* The elements that a sampled call wrote, in place of `out`. NULL if all blocks ran. */
    struct device_written *written;
    /* Upper bound for the share of a tensor that all blocks can change. Only in sampled calls, for
     * tensors that are updated in place or that a memset or copy fills. */
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
    uint64_t kept_bytes, kept_max; /* host memory for outputs; its limit */
    /* Hashes of the previous call's outputs, for JOB_CALL_REPEAT. */
    uint64_t out_hash[JOB_MAX_BUFFERS];
    struct finding_vec findings;
    struct counter_vec counters;
    struct watchdog *dog;
    unsigned cores;             /* of this machine */
    struct strbuf bytes;        /* serialized result */
    uint64_t start_ns, told_ns; /* when the job began; when we last wrote progress.bin */
    /* For the log. */
    struct {
        uint64_t calls;
        uint64_t load_ns;
        uint64_t data_ns; /* allocating and filling buffers */
        uint64_t run_ns;
        uint64_t look_ns; /* checks after the call; hashes of outputs */
        uint64_t keep_ns; /* copies of outputs */
    } spent;
    /* For rounds_keep_call(). NULL except during a timed call of the candidate. */
    struct rounds *rounds;
    bool timing_ready;
};

#endif
