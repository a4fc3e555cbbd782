/*
 * job.h - job.bin: all that a worker must do for one candidate, resolved to numbers.
 *
 * A case is one workload at one shape. Program 0 of a case is the candidate; the others are
 * baselines. For one call the worker does this:
 *
 *     fill inputs from (call.seed, buffer.stream)
 *     poison outputs, init workspace
 *     [flush L2]                                    -- timed calls
 *     launch the program                            -- timed calls: between events
 *     check guard zones (bytes around each buffer)
 *     check that inputs and __device__ variables are unchanged
 *     [keep the outputs]                            -- verified calls
 *
 * The oracle, the compiled reference, computes the right outputs (the truth). On a GPU the worker
 * loads the oracle only after all calls of the candidate, so that the candidate cannot find it in
 * the process.
 *
 * After job_read() these invariants hold. An enemy may have chosen all other values.
 *  - every index is in range, and every count is within its cap;
 *  - strings are NUL-terminated, and sizes do not overflow;
 *  - a file name is "" or a plain name inside the bundle, the directory with job.bin;
 *  - a JOB_CALL_REPEAT call follows a call of the same program.
 */
#ifndef JOB_JOB_H
#define JOB_JOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/dtype.h"
#include "base/err.h"
#include "base/strbuf.h"
#include "job/gen.h"

#define JOB_MAGIC 0x424f4a48u /* "HJOB" */
#define JOB_VERSION 11
#define JOB_MAX_BYTES (64u << 20)
#define JOB_MAX_CASES 512
#define JOB_MAX_BUFFERS 2048
#define JOB_MAX_PROGRAMS 20
#define JOB_MAX_LAUNCHES 4096
#define JOB_MAX_ARGS 64
#define JOB_MAX_CALLS 65536
#define JOB_MAX_NAME 256
#define JOB_MAX_SPEC 65536
#define JOB_MAX_PHASES 4096
#define JOB_MAX_REPEAT (1u << 24)
#define JOB_MAX_ELEMS (UINT64_C(1) << 44)

enum job_device { JOB_EMU, JOB_CUDA };

enum job_buffer_role {
    JOB_INPUT,    /* filled by `gen`; a call must not change it */
    JOB_OUTPUT,   /* poisoned before a call (poison.h) */
    JOB_INOUT,    /* filled by `gen` before a call */
    JOB_WORKSPACE /* poisoned or zeroed before a call; zeroing is timed */
};

struct job_buffer {
    const char *name;
    enum job_buffer_role role;
    enum dtype dtype;
    uint64_t elems;
    uint64_t bytes;
    uint32_t align;  /* the address is an odd multiple of this, plus `offset` */
    uint64_t offset; /* bytes */
    bool zero_init;
    uint32_t rank;
    int64_t dims[8];
    uint32_t edge_dims; /* bit d: JOB_CALL_EDGES rearranges dimension d */
    struct gen_spec gen;
    uint32_t stream; /* which stream of random numbers fills it */
    /* A file in the bundle from which the buffer is filled instead of `gen`, or "". If the file is
     * shorter than the buffer, zeros follow. */
    const char *file;
    /* An error of atol + rtol * magnitude + half an ulp of dtype is allowed (docs/judge.md). */
    double rtol, atol;
    double budget; /* limit on rms error / rms error of an ideal kernel; 0: no limit */
    /* Unit roundoff of the task's declared arithmetic, such as 2^-24 for fp32. It is 1 if the
     * tolerance is in sigmas (OUT_SIGMA in hone_ref.h). */
    double acc_eps;
};

/* Can the output have several right answers? Integers with a tolerance in sigmas can. The oracle
 * then looks at the candidate's answer (GOT in hone_ref.h). */
bool job_has_choice(const struct job_buffer *b);

enum job_arg_kind { JOB_ARG_BUFFER, JOB_ARG_BYTES, JOB_ARG_TENSORMAP };

struct job_arg {
    enum job_arg_kind kind;
    uint32_t index;
    uint8_t bytes[8]; /* little-endian */
    /* Bytes: 8 for a buffer, 128 for a tensor map; 1, 2, 4 or 8 for a scalar. */
    uint32_t size;
};

enum job_launch_kind { JOB_KERNEL, JOB_MEMSET, JOB_COPY };

/* A memset or a copy. It never writes to an input. */
struct job_transfer {
    uint32_t to, from; /* only a copy has `from` */
    uint64_t to_offset, from_offset, bytes;
    uint32_t value; /* the pattern of a memset */
    uint32_t width; /* bytes of the pattern: 1, 2 or 4 */
};

struct job_launch {
    enum job_launch_kind kind;
    struct job_transfer transfer;
    const char *kernel; /* "memset" or "copy" for a transfer */
    const char *label;  /* the kernel's name in the plan; NULL after job_read() */
    uint32_t grid[3], block[3], cluster[3]; /* cluster 1, 1, 1: no clusters */
    uint64_t smem_bytes;                    /* dynamic */
    uint32_t regs;                          /* per thread; 0: not known */
    uint32_t spill_bytes;                   /* per thread */
    bool cooperative;
    bool pdl; /* only for baselines: may begin before the previous launch has ended */
    uint32_t nargs;
    struct job_arg *args;
};

struct job_tensormap {
    uint32_t buffer;
    enum dtype dtype;
    /* 1 to 5. All arrays begin with the innermost dimension. */
    uint32_t rank;
    uint64_t dims[5];
    uint64_t strides[5]; /* bytes; strides[0] is unused */
    uint32_t box[5];
    uint32_t elem_strides[5];
    uint8_t swizzle;    /* 0: none; 1: 32 bytes; 2: 64 bytes; 3: 128 bytes */
    uint8_t interleave; /* 0: none; 1: 16 bytes; 2: 32 bytes */
    uint8_t l2promo;    /* 0: none; 1: 64 bytes; 2: 128 bytes; 3: 256 bytes */
    uint8_t fill_nan;   /* elements out of bounds: 0 means zero, 1 means NaN */
};

struct job_program {
    uint32_t module;
    uint32_t nlaunches;
    struct job_launch *launches;
    uint32_t ntensormaps;
    struct job_tensormap *tensormaps;
};

/* Returns the label of a kernel of p, such as softmax<float, 4> for _Z7softmaxIfLi4EEvPKT_. If the
 * kernel has no label, returns `kernel`. */
const char *job_kernel_label(const struct job_program *p, const char *kernel);
/* Does a memset or a copy of p write to this buffer? */
bool job_fills(const struct job_program *p, uint32_t buffer);

enum job_call_flags {
    JOB_CALL_TIMED = 1,
    JOB_CALL_VERIFY = 2,
    JOB_CALL_REPEAT = 4, /* use the previous call's data; outputs must be bit-identical */
    JOB_CALL_COUNT = 8,  /* for the candidate: keep the counters of this call in the result */
    JOB_CALL_KEEP_STATE =
        32, /* do not reload the module: the kernel sees the state of earlier calls */
    JOB_CALL_PROFILE = 128, /* a profiler measures only these calls */
    /* Rearrange the inputs: the last element along some dimensions is the largest (edges.h). */
    JOB_CALL_EDGES = 256,
    JOB_CALL_DUMP = 64,        /* write outputs to dump.CASE.CALL.NAME.bin in the bundle */
    JOB_CALL_WARM_L2 = 512,    /* read all buffers instead of flushing the L2 */
    JOB_CALL_BLOCK_SAMPLE = 16 /* on the emulator: run only a sample of the blocks */
};

struct job_call {
    uint32_t program;
    uint32_t flags;
    uint64_t seed;
    uint64_t poison; /* seed of the poison */
    /* This element gets another random value. perturb_buffer is -1 if none does. */
    int32_t perturb_buffer;
    uint64_t perturb_elem;
};

/*
 * Timing after the listed calls. In a round the worker calls each program once, with fresh data. It
 * stops when every program has had min_calls calls and a precise median: the 95% interval is
 * shorter than target_rel times the median. It stops early at max_calls, or when the case's share
 * of limits.measure_ns is spent. A baseline that takes longer than 50 ms gets only one call.
 */
struct job_timing {
    uint32_t min_calls, max_calls; /* max_calls 0: no timing */
    uint32_t verify;               /* how many calls of the candidate to verify, at random */
    double target_rel;
    uint64_t seed;
    bool warm_l2;
};

/* Phases run one after the other. The units of a phase may run in any order. units * repeat is at
 * most JOB_MAX_ELEMS. */
struct job_phase {
    const char *fn;
    uint64_t units;
    uint32_t repeat;
};

struct job_case {
    const char *name; /* such as "smoke:0" */
    uint32_t nbuffers;
    uint32_t buffers_room; /* capacity; not in job.bin */
    struct job_buffer *buffers;
    uint32_t nprograms;
    struct job_program *programs;
    uint32_t ncalls;
    struct job_call *calls;
    struct job_timing timing;
    uint32_t nphases;
    struct job_phase *phases;
    uint64_t scratch_elems; /* doubles */
    uint32_t naxes;
    int64_t *axes; /* in the task's order */
    uint32_t nscalars;
    double *scalars; /* in the task's order */
    /* Verify at most this many units of the last phase; 0: all (unit_sample.h). */
    uint64_t max_units;
    double flops, min_bytes; /* the least operations and bytes of any implementation */
};

bool job_is_sampled(const struct job_case *c);

enum job_module_kind { JOB_MODULE_KERNEL, JOB_MODULE_TORCH, JOB_MODULE_LIBRARY };

struct job_module {
    const char *name; /* such as "candidate" or "torch.compile" */
    enum job_module_kind kind;
    /* Files in the bundle, or "". */
    const char *cubin;
    const char *ptx;
    const char *spec;   /* PyTorch text, or a library's routine (docs/worker.md) */
    const char *source; /* file in the bundle, or "" */
};

/* The emulator's limits count CPU time, so that a verdict does not depend on other processes. As a
 * safeguard Hone also limits the emulator's wall time: to this many times the limit on a GPU. */
#define JOB_EMU_PATIENCE 10u

struct job_limits {
    uint64_t wall_ns;
    /* A longer call counts as hanging. On the emulator, this limits the CPU time of one launch. */
    uint64_t call_ns;
    uint64_t measure_ns;   /* for the rounds of all cases together */
    uint64_t device_bytes; /* for all buffers together */
    uint64_t printf_bytes;
    uint64_t emu_steps; /* warp instructions of one emulated launch; 0: no limit */
};

/* The GPU of the emulator's cost model, from gpus/NAME.json. Sizes of shared memory (smem) are in
 * bytes. Members with _clk count per clock and SM. */
struct job_gpu {
    const char *name;
    uint32_t sms, cores_per_sm, max_threads_per_sm, max_blocks_per_sm, regs_per_sm;
    uint32_t smem_per_sm, smem_per_block, l2_bytes, warp_schedulers;
    double clock_ghz, dram_gbps, l2_gbps, smem_bytes_clk, launch_us;
    double fp32_tflops, fp64_tflops, f16_tensor_tflops, tf32_tensor_tflops, f8_tensor_tflops,
        s8_tensor_tops, sfu_per_clk, dram_latency_ns;
};

struct job {
    enum job_device device;
    int32_t ordinal;
    bool sanitize;  /* on the emulator */
    bool annotate;  /* counters for each source line */
    uint64_t nonce; /* copied to the result */
    /* Decides the emulator's order of warps, and all samples of blocks, units and calls. */
    uint64_t seed;
    uint32_t nthreads; /* 0: one for each processor */
    /* How many processes time a kernel that takes less than 20 us on a GPU. 0 and 1: only the
     * worker itself. */
    uint32_t timing_processes;
    struct job_limits limits;
    struct job_gpu gpu;
    /* Files in the bundle, or "". The oracle is .so (emu), .cubin (cuda) or .torch (Python). */
    const char *oracle;
    const char *service; /* Hone's device code, a cubin */
    uint32_t nmodules;
    struct job_module *modules; /* modules[0] is the candidate */
    uint32_t ncases;
    struct job_case *cases;
};

void job_write(const struct job *job, struct strbuf *out);
int job_read(struct job *job, const void *data, size_t len, struct arena *a, struct err *err);
/* Returns a hash of the bytes of job.bin, never 0. The worker copies it to the result. */
uint64_t job_hash(const void *data, size_t len);

#endif
