/*
 * result.h - result.bin: the facts that a worker saw. Only `hone` judges them.
 *
 * The worker renames result.bin into place once, when it is complete. Before that, the worker
 * writes the facts so far to `progress.bin`, in the same format and with status RESULT_NOT_RUN. It
 * does so when a call begins, though not for every one of many short calls. If the worker dies,
 * progress.bin says which call of which case was under way. Hone reads a result as hostile input,
 * because the worker on another machine may be any program.
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
#define RESULT_VERSION 6
/* The offset of the status byte. If a call hangs, the worker's watchdog sets this byte in its copy
 * of the result so far. */
#define RESULT_STATUS_AT 24
#define RESULT_MAX_BYTES (256u << 20)
#define RESULT_MAX_TEXT 65536
#define RESULT_MAX_CALLS (2 * 65536) /* per case: the job's calls and those of the timed rounds */
#define RESULT_MAX_EXAMPLES 64       /* bad elements shown for each compared output */

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
    RESULT_MACHINE      /* device lost, driver missing, worker broken: not the candidate's fault */
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
    FIND_INPUT, /* an input was written to, even with the same value */
    FIND_NOTE,  /* allowed, but worth knowing: it becomes a warning and never changes the verdict */
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
    const char *other;  /* the other access of a race: "line 41, block (0,0,0) thread (3,0,0)" */
    uint64_t count;
    uint32_t case_index; /* the case of the job that showed the finding first */
};

/* A named number with a unit, for a kernel or a source line. */
struct result_counter {
    const char *kernel;
    uint32_t line; /* 0 = whole kernel */
    const char *name, *unit;
    double value;
    uint32_t case_index; /* index of the case in the job */
};

struct result_compare {
    uint32_t buffer;
    uint64_t n;         /* elements compared */
    uint64_t bad;       /* elements outside the tolerance */
    uint64_t unwritten; /* elements that still hold poison */
    /* For a call in which one input element was changed: bad elements that have the same bits as
     * without the change. */
    uint64_t stale;
    /* The worst error divided by the allowed error. Over 1 the output fails. Infinite if a NaN or
     * an infinity is wrong. */
    double max_ratio;
    double rms_ratio;    /* rms error divided by that of an ideal kernel */
    double zero_ratio;   /* the max_ratio of an all-zero output: <=1 if zeros would pass */
    double max_abs;      /* the largest |got - want| */
    uint64_t worst_elem; /* the element with max_ratio, its value and its truth */
    double worst_got, worst_want;
    uint32_t nexamples; /* examples of bad elements: sorted indices, spread over the output */
    uint64_t *example_elem;
    double *example_got, *example_want;
    const char *pattern; /* the pattern of the bad elements in words; "" if we recognised none */
};

/* In a call that ran all of its blocks, at least this share of each output must be written. It is
 * below 1, because a result may equal its poison by chance. */
#define RESULT_WRITTEN_BY_ALL 0.9985

struct result_call {
    uint32_t program, flags; /* as in struct job_call, also for calls of the timed rounds */
    enum result_status status;
    double time_ns; /* <0 = none */
    /* if modelled: the range in which we expect the time on the GPU */
    double time_lo_ns, time_hi_ns;
    bool time_is_model;
    bool inputs_intact, guards_intact;
    bool globals_intact; /* the module's __device__ variables are as they were at load */
    bool repeat_equal; /* REPEAT calls: the outputs are bit-identical to those of the previous call
                        */
    /* BLOCK_SAMPLE calls: an upper bound on the share of an output that the kernel would write if
     * all of its blocks ran. If there are several outputs, this is the smallest of their bounds. */
    double most_written;
    struct {             /* BLOCK_SAMPLE calls: how much of the call ran and was verified */
        uint64_t blocks; /* blocks of all launches */
        uint64_t ran;    /* how many of these ran */
        /* how many of the blocks that ran wrote an element that we compared with the truth */
        uint64_t verified;
        /* The share of an output that the blocks which ran did not write. If there are several
         * outputs, this is the largest of their shares. It is 1 if the results may depend on blocks
         * that did not run. */
        double unseen;
    } sample;
    const char *damage; /* which buffer was damaged and where, "" if none */
    uint32_t ncompares;
    struct result_compare *compares;
};

struct result_case {
    /* The calls that the job lists, in order; then the calls of the timed rounds; then the calls
     * that further processes timed (docs/worker.md, timing processes). */
    uint32_t ncalls;
    struct result_call *calls;
};

/* One of the job's modules. If a baseline cannot run here, the result says so, and the job goes
 * on. */
struct result_module {
    enum result_status status;
    const char *message; /* why the module failed, or what it is: "PyTorch 2.9.1, compile"; "" if
                          * nothing is known */
};

struct result {
    uint64_t job_hash; /* job_hash() of the job.bin that this result answers */
    uint64_t nonce;    /* the nonce of the job */
    enum result_status status;
    const char *message;             /* details of the failure: kernel, launch, address, limit */
    uint32_t where_case, where_call; /* the call that failed, or that was under way */
    const char *device;              /* "NVIDIA H200", "emulator (h200 model)" */
    const char *driver;
    uint32_t sm;            /* compute capability without its dot, such as 90 */
    double clock_mhz[3];    /* SM clock at the start and at the end, and its maximum */
    uint64_t throttle;      /* the throttle reasons that NVML reported, as bits */
    double empty_launch_ns; /* the time of an empty launch; 0 = not measured */
    /* the time that the worker spent on opening the device, on calls, and on verifying them */
    uint64_t setup_ns, run_ns, verify_ns;
    uint32_t nmodules;
    struct result_module *modules;
    uint32_t ncases;
    struct result_case *cases;
    uint32_t nfindings;
    struct result_finding *findings;
    uint32_t ncounters;
    struct result_counter *counters;
    const char *printf_text; /* the first limits.printf_bytes bytes */
};

const char *finding_kind_name(enum finding_kind k); /* "out-of-bounds", ... */
const char *result_status_name(enum result_status s);

void result_write(const struct result *r, struct strbuf *out);
int result_read(struct result *r, const void *data, size_t len, struct arena *a, struct err *err);
/* Checks that the result names only cases, programs and buffers of the job. A result from outside
 * may name others. */
struct job;
int result_fits(const struct result *r, const struct job *j, struct err *err);

#endif
