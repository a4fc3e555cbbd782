/*
 * job.h - job.bin: all that a worker must do for one candidate, resolved to numbers.
 *
 * A job is a list of cases. Each case is one workload at one shape. It has buffers, programs (0 is
 * the candidate, 1.. are baselines) and calls. `hone` writes the job and `hone-worker` runs it. The
 * worker evaluates no expression, reads no task and judges nothing. For one call the worker does
 * this:
 *
 *     fill inputs from (call.seed, buffer.stream)   -- fresh data; the call may change one element
 *     poison outputs, init workspace                -- poison patterns from call.poison
 *     [flush L2]                                    -- timed calls
 *     launch the program                            -- timed calls: between events
 *     check guard zones and that inputs are intact  -- hashes from before and after the launches
 *     check that __device__ variables are unchanged -- no call may leave anything to a later call
 *     [keep the outputs]                            -- verified calls
 *
 * Guard zones are bytes around each buffer that no kernel may change.
 *
 * After ALL candidate calls of the job have run, the worker unloads the candidate's module and only
 * then loads the oracle (the compiled reference of the task). So no part of the oracle is in the
 * process while the candidate can run. The worker generates the inputs of each kept call again.
 * From them the oracle computes the truth, which is the right outputs in double, and the worker
 * compares the kept outputs with it. On the emulator the worker verifies some calls earlier,
 * because there a kernel cannot read the worker's memory.
 *
 * After job_read() a reader may rely on these invariants:
 *  - every index is in range, and every count is within its cap;
 *  - strings are NUL-terminated, and sizes do not overflow;
 *  - a file name is "" or a plain name inside the bundle, the directory with job.bin;
 *  - a JOB_CALL_REPEAT call follows a call of the same program.
 * An enemy may have chosen all other values.
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
#define JOB_VERSION 10
#define JOB_MAX_BYTES (64u << 20)
#define JOB_MAX_CASES 512
#define JOB_MAX_BUFFERS 2048
#define JOB_MAX_PROGRAMS 16
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
    JOB_INPUT,  /* filled by `gen` before a call; must be unchanged after it */
    JOB_OUTPUT, /* filled with poison (poison.h) before a call; compared with the truth after it */
    JOB_INOUT,  /* filled by `gen` before a call; compared with the truth after it */
    JOB_WORKSPACE /* poisoned before a call, or zeroed if zero_init is set (zeroing is timed) */
};

struct job_buffer {
    const char *name;
    enum job_buffer_role role;
    enum dtype dtype;
    uint64_t elems;  /* number of elements */
    uint64_t bytes;  /* elems * size of dtype; for a workspace, the bytes that the plan asks for */
    uint32_t align;  /* the aligned address is a multiple of this, but not of twice this */
    uint64_t offset; /* bytes added to the aligned address (offset_elems of a workload) */
    bool zero_init;  /* only for a workspace: zero it before each call */
    /* The shape of the tensor. It turns the number of an element into indices. */
    uint32_t rank;
    int64_t dims[8];
    /* Bit d is set if calls with JOB_CALL_EDGES rearrange dimension d (edges.h). */
    uint32_t edge_dims;
    struct gen_spec gen; /* how to fill the buffer */
    uint32_t stream;     /* number of this buffer's stream of random numbers (gen_core.h) */
    /* A file of the bundle that fills the buffer instead of `gen`. If the file is shorter than the
     * buffer, zeros follow. "" if there is none. */
    const char *file;
    /* The tolerance of outputs (docs/judge.md). The error of an element may be atol + rtol *
     * magnitude, plus half an ulp of dtype. */
    double rtol, atol;
    /* The rms error of an output may be this many times the rms error of an ideal kernel. 0 means
     * no limit. */
    double budget;
    /* Unit roundoff of the precision that the task declares for its arithmetic, for example 2^-24
     * for fp32. It is 1 if the task gives the tolerance in sigmas: then the oracle gives a standard
     * deviation in place of the magnitude (OUT_SIGMA in hone_ref.h). */
    double acc_eps;
};

/* Returns whether an output can have several right answers. This holds for outputs of integers
 * whose tolerance is in sigmas (see acc_eps). For such an output the oracle looks at the
 * candidate's answer (GOT in hone_ref.h). */
bool job_has_choice(const struct job_buffer *b);

enum job_arg_kind { JOB_ARG_BUFFER, JOB_ARG_BYTES, JOB_ARG_TENSORMAP };

struct job_arg {
    enum job_arg_kind kind;
    uint32_t index;   /* index of the buffer (JOB_ARG_BUFFER) or tensor map (JOB_ARG_TENSORMAP) */
    uint8_t bytes[8]; /* for JOB_ARG_BYTES: the scalar, little-endian */
    /* Bytes of the parameter: 8 for a buffer, 128 for a tensor map, and 1, 2, 4 or 8 for a scalar.
     */
    uint32_t size;
};

enum job_launch_kind { JOB_KERNEL, JOB_MEMSET, JOB_COPY };

/* A launch that is not a kernel. It sets bytes of a buffer, or copies them from a buffer. The
 * buffer that it writes to is not an input. */
struct job_transfer {
    uint32_t to, from;                      /* indices of buffers; only a copy has `from` */
    uint64_t to_offset, from_offset, bytes; /* all three are in bytes */
    uint32_t value;                         /* for a memset: the pattern, of `width` bytes */
    uint32_t width;                         /* 1, 2 or 4 */
};

struct job_launch {
    enum job_launch_kind kind;
    struct job_transfer transfer; /* only if kind is not JOB_KERNEL */
    const char *kernel;           /* name of the kernel; "memset" or "copy" for a transfer */
    /* The name of the kernel in the plan. It is NULL after job_read(), because job.bin does not
     * have this name. */
    const char *label;
    uint32_t grid[3], block[3], cluster[3]; /* cluster 1, 1, 1: no clusters */
    uint64_t smem_bytes;                    /* bytes of dynamic shared memory */
    /* The next two are for the cost model. `regs` is the number of registers per thread that the
     * compiler reports, or 0 if it is not known. `spill_bytes` is how many bytes a thread stores
     * and loads because registers ran out. */
    uint32_t regs;
    uint32_t spill_bytes;
    bool cooperative;
    bool pdl; /* only for a baseline: may begin before the previous launch has ended */
    uint32_t nargs;
    struct job_arg *args;
};

struct job_tensormap {
    uint32_t buffer; /* index of the buffer that holds the tensor */
    enum dtype dtype;
    /* 1 to 5. All arrays begin with the innermost dimension, like those of the CUDA driver. */
    uint32_t rank;
    uint64_t dims[5];
    uint64_t strides[5]; /* in bytes; strides[0] is unused */
    uint32_t box[5];
    uint32_t elem_strides[5];
    uint8_t swizzle;    /* 0: none; 1: 32 bytes; 2: 64 bytes; 3: 128 bytes */
    uint8_t interleave; /* 0: none; 1: 16 bytes; 2: 32 bytes */
    uint8_t l2promo;    /* 0: none; 1: 64 bytes; 2: 128 bytes; 3: 256 bytes */
    uint8_t fill_nan;   /* the value of elements out of bounds: 0 means zero, 1 means NaN */
};

/* A program: the launches of one contender (the candidate or a baseline) in this case. */
struct job_program {
    uint32_t module; /* index into job.modules */
    uint32_t nlaunches;
    struct job_launch *launches;
    uint32_t ntensormaps;
    struct job_tensormap *tensormaps;
};

/* Returns the name of this kernel in the plan, for example softmax<float, 4> for
 * _Z7softmaxIfLi4EEvPKT_. */
const char *job_kernel_label(const struct job_program *p, const char *kernel);
/* Returns whether a memset or a copy of the program writes to the buffer. */
bool job_fills(const struct job_program *p, uint32_t buffer);

enum job_call_flags {
    JOB_CALL_TIMED = 1,
    JOB_CALL_VERIFY = 2, /* keep the outputs and compare them with the truth */
    /* Use the same data as the previous call. The outputs must be bit-identical to those of that
     * call. */
    JOB_CALL_REPEAT = 4,
    JOB_CALL_COUNT = 8, /* collect counters */
    /* Do not reload the module before this call. Then the kernel sees the state that earlier calls
     * left behind, as it would for a user. */
    JOB_CALL_KEEP_STATE = 32,
    JOB_CALL_PROFILE = 128, /* a profiler that watches the worker measures only these calls */
    /* Rearrange the inputs so that the last element along some dimensions is the largest
     * (edges.h). */
    JOB_CALL_EDGES = 256,
    JOB_CALL_DUMP = 64, /* write every output to dump.CASE.CALL.NAME.bin in the bundle */
    /* In a timed call on a GPU: read all buffers before the timer starts, instead of flushing the
     * L2. */
    JOB_CALL_WARM_L2 = 512,
    /* On the emulator: run only a sample of the blocks of each launch. */
    JOB_CALL_BLOCK_SAMPLE = 16
};

struct job_call {
    uint32_t program; /* index in job_case.programs */
    uint32_t flags;   /* enum job_call_flags */
    uint64_t seed;    /* seed of the data */
    uint64_t poison;  /* seed of the poison patterns */
    /* Element perturb_elem of buffer perturb_buffer gets another random value. If perturb_buffer is
     * -1, no element does. */
    int32_t perturb_buffer;
    uint64_t perturb_elem;
};

/*
 * Timing beyond the listed calls. After the calls of a case, the worker makes rounds. In a round it
 * calls each program once (A B, B A, ...), with fresh seeds derived from `seed`. It stops when
 * every program has had min_calls calls and the median of its times is known well enough. That is
 * so if the length of the 95% interval, divided by the median, is under target_rel. The worker also
 * stops at max_calls, or when the case's share of limits.measure_ns is spent. A baseline that takes
 * longer than 50 ms gets only one call. The worker verifies `verify` of the candidate's calls in
 * these rounds. It draws them at random, mostly from the calls that are no slower than the median
 * (rounds.c).
 */
struct job_timing {
    uint32_t min_calls, max_calls; /* per program; if max_calls is 0, the case has no timing */
    uint32_t verify;
    double target_rel;
    uint64_t seed;
    bool warm_l2; /* JOB_CALL_WARM_L2 in all these calls */
};

/* A phase of the oracle. Phases run one after the other. A phase computes its units in any order;
 * a unit is often one element (task/hone_ref.h). A repeated phase does so several times; each time
 * is a step. units * repeat is at most JOB_MAX_ELEMS. */
struct job_phase {
    const char *fn;  /* name of its function */
    uint64_t units;  /* number of its units */
    uint32_t repeat; /* number of its steps: 1 if the phase is not repeated, 0 if it never runs */
};

struct job_case {
    const char *name; /* for example "smoke:0" or "heldout:2" */
    uint32_t nbuffers;
    /* How many entries `buffers` has room for. Plans add workspaces to `buffers`. Not in job.bin.
     */
    uint32_t buffers_room;
    struct job_buffer *buffers;
    uint32_t nprograms;
    struct job_program *programs;
    uint32_t ncalls;
    struct job_call *calls;
    struct job_timing timing;
    /* The members from here to max_units are for the oracle. */
    uint32_t nphases;
    struct job_phase *phases;
    uint64_t scratch_elems; /* number of doubles in the scratch memory */
    uint32_t naxes;
    int64_t *axes; /* values in the task's order; the oracle reads them with AX() */
    uint32_t nscalars;
    double *scalars; /* values in the task's order; the oracle reads them with SC() */
    /* Verify at most this many units of the last phase; 0 means all. If the last phase is repeated,
     * all its units run. */
    uint64_t max_units;
    /* For the least possible time: the operations and bytes that no implementation can avoid. */
    double flops, min_bytes;
};

/* Does the emulator run only a sample of the blocks in some call of the case? */
bool job_is_sampled(const struct job_case *c);

enum job_module_kind { JOB_MODULE_KERNEL, JOB_MODULE_TORCH, JOB_MODULE_LIBRARY };

struct job_module {
    const char *name; /* for example "candidate", "naive", "torch.compile" or "cublaslt" */
    enum job_module_kind kind;
    /* For JOB_MODULE_KERNEL: files in the bundle; "" if there is none. */
    const char *cubin;
    const char *ptx;
    /* For JOB_MODULE_TORCH: the program's text. For JOB_MODULE_LIBRARY: the routine
     * (docs/worker.md). */
    const char *spec;
    const char *source; /* file in the bundle with the source text, for findings; "" if none */
};

/* On the emulator the limits count CPU time, so that a verdict does not depend on how busy the
 * machine is. There the limits of wall time are only a safeguard. They are this many times as long
 * as on a GPU. */
#define JOB_EMU_PATIENCE 10u

struct job_limits {
    uint64_t wall_ns; /* for the whole job */
    /* For one call: a candidate that takes longer counts as hanging. On the emulator this limits
     * the CPU time of one launch. */
    uint64_t call_ns;
    uint64_t measure_ns;   /* for the rounds of struct job_timing, in all cases together */
    uint64_t device_bytes; /* for the device memory of all buffers together */
    uint64_t printf_bytes; /* for the text that kernels print */
    /* For the warp instructions of one launch, on the emulator. 0 means that only call_ns limits a
     * launch. */
    uint64_t emu_steps;
};

/* The GPU that the emulator's cost model models. The numbers come from gpus/NAME.json. smem_per_sm
 * and smem_per_block are sizes of shared memory in bytes. Members with _clk in their names count
 * per clock and SM; smem_bytes_clk counts bytes of shared memory. */
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
    int32_t ordinal; /* number of the GPU */
    bool sanitize;   /* on the emulator: turn the sanitizer on */
    bool annotate;   /* make counters for each source line */
    uint64_t nonce;  /* copied to the result, to show which run of the job made the result */
    /* Decides the emulator's order of warps, and which blocks, units and calls are in a sample. The
     * data of a call has its own seed. */
    uint64_t seed;
    uint32_t nthreads; /* host threads of the emulator; 0 means one for each processor */
    /* On a GPU: in how many processes to time kernels under 20 us. 0 and 1 mean only in the worker
     * itself. */
    uint32_t timing_processes;
    struct job_limits limits;
    struct job_gpu gpu;
    /* File in the bundle: .so (on emu), .cubin (on cuda) or .torch (a reference in Python, on
     * both). "" if there is none. */
    const char *oracle;
    const char *service; /* file in the bundle with Hone's device code, a cubin; "" for emu */
    uint32_t nmodules;
    struct job_module *modules; /* modules[0] is the candidate */
    uint32_t ncases;
    struct job_case *cases;
};

void job_write(const struct job *job, struct strbuf *out);
int job_read(struct job *job, const void *data, size_t len, struct arena *a, struct err *err);
/* Returns a hash of job.bin, which is never 0. A result repeats the hash, to show which job it
 * answers. */
uint64_t job_hash(const void *data, size_t len);

#endif
