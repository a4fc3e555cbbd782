/*
 * result.h - result.bin: the facts that a worker saw. Only `hone` judges them.
 *
 * The worker renames result.bin into place once, when it is complete. Before that, the worker
 * writes the facts so far to `progress.bin`, in the same format and with status RESULT_NOT_RUN. It
 * does so when a call begins, but if there are many short calls, only for some of them. If the
 * worker dies, progress.bin says which call of which case was under way. Hone trusts no byte of a
 * result, because the worker on another machine may be any program.
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
/* The offset of the status byte in the file. If a call hangs, the worker's watchdog sets this byte
 * in its copy of the result so far. */
#define RESULT_STATUS_AT 24
#define RESULT_MAX_BYTES (256u << 20)
#define RESULT_MAX_TEXT 65536
#define RESULT_MAX_CALLS (2 * 65536) /* per case: the job's calls and those of the timed rounds */
#define RESULT_MAX_EXAMPLES 64       /* examples of bad elements, for each compared output */

/* How a call ended. A job has the status of the call that ended it. */
enum result_status {
    RESULT_OK,
    RESULT_NOT_RUN,
    RESULT_LOAD_FAILED, /* the module did not load, or it does not have a kernel of the plan */
    RESULT_PLAN,        /* a launch was refused, for example because of too many threads */
    RESULT_OOM,         /* there was not enough device memory */
    RESULT_HANG,        /* a call ran past its time limit, or its threads wait for ever */
    RESULT_FAULT,       /* an illegal or misaligned access, a trap, an assert, a bad instruction */
    RESULT_UNSUPPORTED, /* the emulator does not know an instruction */
    RESULT_MACHINE      /* the device, the driver or the worker failed, not the candidate */
};

/* What the emulator found in a kernel (docs/emulator.md). */
enum finding_kind {
    FIND_OOB, /* an access out of bounds */
    FIND_MISALIGNED,
    FIND_UNINIT, /* the kernel uses a value that it loaded from unwritten memory */
    FIND_RACE,
    FIND_BARRIER,   /* some threads do not reach a barrier, or a thread executes a warp instruction
                       whose mask leaves this thread out */
    FIND_ASYNC,     /* misuse of memory that an asynchronous operation uses */
    FIND_UNWRITTEN, /* no thread wrote an element of an output */
    FIND_DEADLOCK,
    FIND_TRAP,
    FIND_ASSERT,
    FIND_UNSUPPORTED,
    FIND_OTHER,
    FIND_INPUT, /* a kernel wrote to an input, even if it wrote the same value */
    /* Allowed, but worth knowing. A note becomes a warning. It never changes the verdict. */
    FIND_NOTE,
    FIND_COUNT
};

struct result_finding {
    enum finding_kind kind;
    const char *kernel;
    const char *file; /* "" if unknown */
    uint32_t line;
    uint32_t block[3], thread[3];
    const char *object; /* name of a tensor or workspace, or a word such as "shared" or "local" */
    int64_t index;      /* number of the element in the object; -1 if unknown */
    const char *text;   /* one sentence for people and models */
    /* The other access of a race, for example "line 41, block (0,0,0) thread (3,0,0)". "" if there
     * is none. */
    const char *other;
    uint64_t count;      /* how often it was seen */
    uint32_t case_index; /* the case of the job in which the finding was first seen */
};

/* A named number with a unit, for a kernel or a source line. */
struct result_counter {
    const char *kernel;
    uint32_t line; /* 0 means the whole kernel */
    const char *name, *unit;
    double value;
    uint32_t case_index; /* index of the case in the job */
};

/* One output of a call, compared with the truth: the right values, which the oracle computes
 * (job.h). */
struct result_compare {
    uint32_t buffer;    /* index of the output in job_case.buffers */
    uint64_t n;         /* how many elements were compared */
    uint64_t bad;       /* how many elements are outside the tolerance */
    uint64_t unwritten; /* how many elements still hold poison (poison.h) */
    /* For a call in which one input element was changed: how many bad elements have the same bits
     * as without the change. */
    uint64_t stale;
    /* The worst error, divided by the allowed error. If it is over 1, the output fails. It is
     * infinite if a NaN or an infinity is wrong. */
    double max_ratio;
    double rms_ratio;  /* the rms error, divided by the rms error of an ideal kernel */
    double zero_ratio; /* max_ratio of an output of zeros; at most 1 if zeros would pass */
    double max_abs;    /* the largest difference between a value and its truth */
    /* The element with the error max_ratio, its value and its truth. */
    uint64_t worst_elem;
    double worst_got, worst_want;
    /* Examples of bad elements, spread over the output: their numbers in rising order, their values
     * and their truths. */
    uint32_t nexamples;
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
    double time_ns; /* negative if the call was not timed */
    /* If time_is_model is true: the interval in which we expect the time on the GPU. */
    double time_lo_ns, time_hi_ns;
    bool time_is_model;                /* true if the cost model computed time_ns */
    bool inputs_intact, guards_intact; /* true if inputs and guard zones are unchanged */
    bool globals_intact; /* true if the module's __device__ variables are as they were at load */
    /* For JOB_CALL_REPEAT: true if the outputs are bit-identical to those of the previous call. */
    bool repeat_equal;
    /* For JOB_CALL_BLOCK_SAMPLE: an upper bound for the share of an output that the kernel would
     * write if all of its blocks ran. If there are several outputs, this is the smallest of their
     * bounds. */
    double most_written;
    /* For JOB_CALL_BLOCK_SAMPLE: how much of the call ran and was verified. */
    struct {
        uint64_t blocks; /* blocks of all launches */
        uint64_t ran;    /* how many of these blocks ran */
        /* How many of the blocks that ran wrote an element that we compared with the truth. */
        uint64_t verified;
        /* The share of an output that the blocks which ran did not write. If there are several
         * outputs, this is the largest of their shares. It is 1 if the results may depend on blocks
         * that did not run. */
        double unseen;
    } sample;
    const char *damage; /* which buffer was damaged, and where; "" if none was */
    uint32_t ncompares;
    struct result_compare *compares;
};

struct result_case {
    /* First come the calls that the job lists, in order. Then come the calls of the timed rounds,
     * and then the calls that further processes timed (docs/worker.md, timing processes). */
    uint32_t ncalls;
    struct result_call *calls;
};

/* One of the job's modules. If a baseline cannot run here, the result says so, and the job goes
 * on. */
struct result_module {
    enum result_status status;
    /* The reason why the module failed, or a description such as "PyTorch 2.9.1, compile". "" if
     * nothing is known. */
    const char *message;
};

struct result {
    uint64_t job_hash; /* job_hash() of the job.bin that this result answers */
    uint64_t nonce;    /* the random number `nonce` of the job */
    enum result_status status;
    const char *message;             /* details of the failure, such as kernel, address or limit */
    uint32_t where_case, where_call; /* the call that failed, or that was under way */
    const char *device;              /* for example "NVIDIA H200" or "emulator (h200 model)" */
    const char *driver;
    uint32_t sm;            /* compute capability without its dot, for example 90 */
    double clock_mhz[3];    /* SM clock at the start and at the end, and its maximum */
    uint64_t throttle;      /* the throttle reasons that NVML reported, as bits */
    double empty_launch_ns; /* the time of an empty launch; 0 if it was not measured */
    /* The time that the worker spent on opening the device, on calls, and on verifying them. */
    uint64_t setup_ns, run_ns, verify_ns;
    uint32_t nmodules;
    struct result_module *modules;
    uint32_t ncases;
    struct result_case *cases;
    uint32_t nfindings;
    struct result_finding *findings;
    uint32_t ncounters;
    struct result_counter *counters;
    /* The text that kernels printed: its first job_limits.printf_bytes bytes. */
    const char *printf_text;
};

/* Returns a name such as "out-of-bounds". */
const char *finding_kind_name(enum finding_kind k);
const char *result_status_name(enum result_status s);

void result_write(const struct result *r, struct strbuf *out);
int result_read(struct result *r, const void *data, size_t len, struct arena *a, struct err *err);
/* Checks that the result names only cases, programs and buffers that the job has. A hostile result
 * may name others. */
struct job;
int result_fits(const struct result *r, const struct job *j, struct err *err);

#endif
