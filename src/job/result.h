/*
 * result.h - result.bin: the facts that a worker saw. Only `hone` judges them.
 *
 * The worker renames result.bin into place once, when it is complete. Until then it writes the
 * facts so far to `progress.bin`, in the same format and with status RESULT_NOT_RUN. If the worker
 * dies, this file tells which call was under way. Hone trusts no byte of a result.
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
/* Offset of the status byte. If a call hangs, the worker's watchdog sets this byte in the facts
 * that it has, and writes them to result.bin. */
#define RESULT_STATUS_AT 24
#define RESULT_MAX_BYTES (256u << 20)
#define RESULT_MAX_TEXT 65536
#define RESULT_MAX_CALLS (2 * 65536) /* per case */
#define RESULT_MAX_EXAMPLES 64       /* per output */

/* A job has the status of the call that ended it. */
enum result_status {
    RESULT_OK,
    RESULT_NOT_RUN,
    RESULT_LOAD_FAILED, /* the module did not load, or lacks a kernel */
    RESULT_PLAN,        /* a launch was refused, for example with too many threads */
    RESULT_OOM,
    RESULT_HANG, /* a call exceeded its limit, or its threads wait for ever */
    RESULT_FAULT,
    RESULT_UNSUPPORTED, /* an instruction that the emulator does not know */
    RESULT_MACHINE      /* the device, the driver or the worker failed */
};

/* docs/emulator.md explains these. */
enum finding_kind {
    FIND_OOB, /* an access out of bounds */
    FIND_MISALIGNED,
    FIND_UNINIT, /* a value loaded from unwritten memory is used */
    FIND_RACE,
    FIND_BARRIER, /* threads miss a barrier, or execute a warp instruction whose mask lacks them */
    FIND_ASYNC,   /* misuse of memory that an asynchronous operation uses */
    FIND_UNWRITTEN, /* an element that no thread wrote */
    FIND_DEADLOCK,
    FIND_TRAP,
    FIND_ASSERT,
    FIND_UNSUPPORTED,
    FIND_OTHER,
    FIND_INPUT, /* a write to an input, even of the same value */
    FIND_NOTE,  /* allowed, but worth a warning; never changes the verdict */
    FIND_COUNT
};

struct result_finding {
    enum finding_kind kind;
    const char *kernel;
    const char *file; /* "" if unknown */
    uint32_t line;
    uint32_t block[3], thread[3];
    const char *object; /* a tensor, a workspace, or a word such as "shared" */
    int64_t index;      /* of the element in the object; -1 if unknown */
    const char *text;
    const char *other; /* the other access of a race; "" if none */
    uint64_t count;
    uint32_t case_index; /* where it was first seen */
};

struct result_counter {
    const char *kernel;
    uint32_t line; /* 0: the whole kernel */
    const char *name, *unit;
    double value;
    uint32_t case_index;
};

struct result_compare {
    uint32_t buffer;
    uint64_t n; /* compared elements */
    uint64_t bad;
    uint64_t unwritten; /* elements that still hold poison */
    /* For a call with one changed input element: bad elements whose bits did not change. */
    uint64_t stale;
    double max_ratio;  /* worst error / allowed error; infinite if a NaN or an infinity is wrong */
    double rms_ratio;  /* rms error / rms error of an ideal kernel */
    double zero_ratio; /* what max_ratio would be if the output held only zeros */
    double max_abs;
    uint64_t worst_elem;
    double worst_got, worst_want;
    /* Bad elements, spread over the output, in rising order: number, value and truth. */
    uint32_t nexamples;
    uint64_t *example_elem;
    double *example_got, *example_want;
    const char *pattern; /* the pattern of the bad elements, in words; may be "" */
};

/* A call that ran all its blocks must write at least this share of each output. It is below 1,
 * because a result may equal its poison by chance. */
#define RESULT_WRITTEN_BY_ALL 0.9985

struct result_call {
    uint32_t program, flags;
    enum result_status status;
    double time_ns;                /* negative if not timed */
    double time_lo_ns, time_hi_ns; /* if time_is_model: the range that we expect on the GPU */
    bool time_is_model;
    bool inputs_intact, guards_intact;
    bool globals_intact; /* the module's __device__ variables are as at load */
    bool repeat_equal;   /* for JOB_CALL_REPEAT: bit-identical to the previous call */
    /* For JOB_CALL_BLOCK_SAMPLE: at most this share of an output would be written if all blocks
     * ran. With several outputs, the smallest share. */
    double most_written;
    struct { /* for JOB_CALL_BLOCK_SAMPLE */
        uint64_t blocks;
        uint64_t ran;
        uint64_t verified; /* blocks that wrote an element which we compared */
        /* The largest share of an output that the sample did not write. It is 1 if the results may
         * depend on blocks that did not run. */
        double unseen;
    } sample;
    const char *damage; /* which buffer was damaged, and where; may be "" */
    uint32_t ncompares;
    struct result_compare *compares;
};

struct result_case {
    /* The job's calls, then those of the timed rounds, then those of timing processes
     * (docs/worker.md). */
    uint32_t ncalls;
    struct result_call *calls;
};

/* If a baseline cannot run here, the job goes on without it. */
struct result_module {
    enum result_status status;
    const char *message; /* why it failed, or a name such as "PyTorch 2.9.1, compile"; may be "" */
};

struct result {
    uint64_t job_hash;
    uint64_t nonce;
    enum result_status status;
    const char *message;
    uint32_t where_case, where_call; /* the call that failed, or that was under way */
    const char *device;              /* such as "NVIDIA H200" */
    const char *driver;
    uint32_t sm;            /* compute capability, such as 90 */
    double clock_mhz[3];    /* of the SMs: at the start, at the end, maximum */
    uint64_t throttle;      /* NVML's reasons, as bits */
    double empty_launch_ns; /* 0: not measured */
    uint64_t setup_ns, run_ns, verify_ns;
    uint32_t nmodules;
    struct result_module *modules;
    uint32_t ncases;
    struct result_case *cases;
    uint32_t nfindings;
    struct result_finding *findings;
    uint32_t ncounters;
    struct result_counter *counters;
    const char *printf_text;
};

const char *finding_kind_name(enum finding_kind k);
const char *result_status_name(enum result_status s);

void result_write(const struct result *r, struct strbuf *out);
int result_read(struct result *r, const void *data, size_t len, struct arena *a, struct err *err);
/* Fails if the result names cases, programs or buffers that the job does not have. */
struct job;
int result_fits(const struct result *r, const struct job *j, struct err *err);

#endif
