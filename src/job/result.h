/*
 * result.h - result.bin: the facts a worker saw. `hone` judges; nothing here is an opinion.
 *
 * result.bin appears once, complete, by rename. Until then `progress.bin` (the same format, status
 * RESULT_NOT_RUN) is rewritten before every call that could hang or kill the worker, so that its
 * death still leaves what was known, and where it happened.
 * Read as hostile: a worker on another machine may have been anything.
 */
#ifndef JOB_RESULT_H
#define JOB_RESULT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/strbuf.h"

#define RESULT_MAGIC 0x53455248u /* "HRES" */
#define RESULT_VERSION 4
#define RESULT_STATUS_AT 24 /* byte of the status: the watchdog rewrites it in a snapshot */
#define RESULT_MAX_BYTES (256u << 20)
#define RESULT_MAX_TEXT 65536
#define RESULT_MAX_CALLS (2 * 65536) /* per case: the job's and those adaptive timing added */
#define RESULT_MAX_SAMPLES 64        /* bad elements reported per compare */

/* How a call, and so the job, ended. */
enum result_status {
    RESULT_OK,
    RESULT_NOT_RUN,
    RESULT_LOAD_FAILED, /* the module did not load, a kernel was not found */
    RESULT_PLAN,        /* the launch was refused: too many threads, too much shared memory */
    RESULT_OOM,
    RESULT_HANG,        /* time limit, deadlock, livelock */
    RESULT_FAULT,       /* illegal address, misaligned, trap, assert, bad instruction */
    RESULT_UNSUPPORTED, /* the emulator does not know an instruction */
    RESULT_MACHINE      /* device lost, driver missing, worker broken: unjudged */
};

enum finding_kind {
    FIND_OOB,
    FIND_MISALIGNED,
    FIND_UNINIT,
    FIND_RACE,
    FIND_BARRIER,
    FIND_ASYNC,
    FIND_UNWRITTEN,
    FIND_DEADLOCK,
    FIND_TRAP,
    FIND_ASSERT,
    FIND_UNSUPPORTED,
    FIND_OTHER,
    FIND_INPUT, /* an input was written to, whatever it holds afterwards */
    FIND_COUNT
};

struct result_finding {
    enum finding_kind kind;
    const char *kernel;
    const char *file; /* "" = unknown */
    uint32_t line;
    uint32_t block[3], thread[3];
    const char *object; /* tensor, workspace, "shared", "local", ... */
    int64_t index;      /* element, -1 = unknown */
    const char *text;   /* one sentence for people and models */
    const char *other;  /* the other party of a race: "line 41, block (0,0,0) thread (3,0,0)" */
    uint64_t count;
    uint32_t case_index; /* of the job: in which case it was seen first */
};

/* Named numbers with a unit, per kernel or per source line. */
struct result_counter {
    const char *kernel;
    uint32_t line; /* 0 = whole kernel */
    const char *name, *unit;
    double value;
    uint32_t case_index; /* of the job */
};

struct result_compare {
    uint32_t buffer;
    uint64_t n;         /* elements compared */
    uint64_t bad;       /* over tolerance */
    uint64_t unwritten; /* still holding poison */
    uint64_t stale;   /* of a perturbed call's bad elements: those as they were before the change */
    double max_ratio; /* worst error / allowed; >1 fails; inf for NaN or inf mismatch */
    double rms_ratio; /* rms error / rms error of an ideal implementation */
    double zero_ratio; /* max_ratio an all-zero output would have had (probe) */
    double max_abs;
    uint64_t worst_elem;
    double worst_got, worst_want;
    uint32_t nsamples; /* of the bad elements: sorted indices spread over the output */
    uint64_t *sample_elem;
    double *sample_got, *sample_want;
    const char *pattern; /* in words, "" if none was recognised */
};

struct result_call {
    uint32_t program, flags; /* of the job's call, or of one that adaptive timing added */
    enum result_status status;
    double time_ns; /* <0 = none */
    bool time_is_model;
    bool inputs_intact, guards_intact;
    bool globals_intact; /* the module's __device__ variables are as they were at load */
    bool repeat_equal;   /* REPEAT calls: outputs bit-identical to the call before */
    double most_written; /* SAMPLE calls: all blocks write at most this share of an output */
    const char *damage;  /* which buffer was hurt and where, "" if none */
    uint32_t ncompares;
    struct result_compare *compares;
};

struct result_case {
    uint32_t ncalls; /* the job's calls in order, then those adaptive timing added */
    struct result_call *calls;
};

/* One of the job's modules: a baseline that cannot run here is a fact, not a failure of the job. */
struct result_module {
    enum result_status status;
    const char *message; /* why it failed, or what it is: "cuBLASLt 13.0, algorithm 3 of 8" */
};

struct result {
    uint64_t job_hash; /* job_hash() of the job.bin this answers */
    uint64_t nonce;    /* the job's */
    enum result_status status;
    const char *message; /* what is known of the failure: kernel, launch, address, limit */
    uint32_t where_case, where_call;
    const char *device; /* "NVIDIA H200", "emulator (h200 model)" */
    const char *driver;
    uint32_t sm;         /* 90, ... */
    double clock_mhz[3]; /* sm at start, at end, max */
    uint64_t throttle;   /* NVML reasons seen */
    double empty_launch_ns;
    uint64_t setup_ns, run_ns, verify_ns; /* where the worker's own time went */
    uint32_t nmodules;
    struct result_module *modules;
    uint32_t ncases;
    struct result_case *cases;
    uint32_t nfindings;
    struct result_finding *findings;
    uint32_t ncounters;
    struct result_counter *counters;
    const char *printf_text; /* capped */
};

const char *finding_kind_name(enum finding_kind k); /* "out-of-bounds", ... */
const char *result_status_name(enum result_status s);

void result_write(const struct result *r, struct strbuf *out);
int result_read(struct result *r, const void *data, size_t len, struct arena *a, struct err *err);
/* A result from outside may name cases, programs and buffers the job never had. */
struct job;
int result_fits(const struct result *r, const struct job *j, struct err *err);

#endif
