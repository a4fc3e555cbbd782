/*
 * machine.h - the state of the emulated machine: the device, loaded code, a launch, host threads.
 *
 * While a launch runs, all host threads may write three parts of `struct emu`:
 *   - global memory;
 *   - the shadow of global memory: the sanitizer's notes about each byte (sanitizer/state.h);
 *   - the findings and the printf text, which emu->lock guards.
 * The rest of `struct emu` and the loaded code are read-only then, apart from flags and sums that
 * host threads change atomically. Each `struct worker_state` belongs to one host thread.
 *
 * A call executes all launches of a program once (struct job_call in job/job.h). A sampled call may
 * run only some of the blocks of a launch. These blocks are the sample (block_sample.h). In a
 * sampled call, buffers are filled in pieces of 1024 bytes: a piece is filled when a kernel first
 * touches it.
 */
#ifndef EMU_CORE_MACHINE_H
#define EMU_CORE_MACHINE_H

#include "emu/core/core.h"
#include "job/lazy.h"

#define MAX_THREADS_PER_BLOCK 1024
#define MAX_WARPS 32
/* In a sampled call, this many clusters of a launch run for the cost model. */
#define SAMPLE_CLUSTERS 48u
#define SAMPLE_LEAST 8u /* at least this many clusters run, however long they take */
/* If blocks do not depend on each other, the host work of a sample has a limit. A sample that would
 * cost more gets fewer clusters, but at least SAMPLE_LEAST. The limit is the lowest of these, in
 * the units of count_cost():
 *   - SAMPLE_COST;
 *   - if the call has a time limit: SAMPLE_COST_PER_NS for each nanosecond of it, because even a
 *     slow or busy host does that much work in a nanosecond;
 *   - if the launch has a limit of instructions: a quarter of that limit. */
#define SAMPLE_COST 2e8
#define SAMPLE_COST_PER_NS 0.01
#define REUSE_BUCKETS 28u /* see struct reuse */
#define MAX_FINDINGS 256
#define MAX_COUNTERS 4096
#define GUARD_BYTES 16384u /* a guard zone on each side of a buffer has at least this size */
#define GUARD_PATTERN 0xa5
#define MAX_FRAME_BYTES (16u << 20)
#define SMEM_BASE 1024u   /* a kernel's first shared address; the system owns the addresses below */
#define SMEM_SCRATCH 512u /* cooperative groups use the addresses from here to SMEM_BASE */
/* Bytes of local memory of a thread for functions that the kernel calls. The kernel's own local
 * memory comes on top. */
#define LOCAL_STACK_BYTES 8192u

/* ---- memory --------------------------------------------------------------------------------- */

/* Reads of one allocation. A sector has 32 bytes. `fresh` counts the sectors that were new to the
 * block that read them, `again` those that the block had used before. `waits` counts how often a
 * warp waited for fresh sectors. */
struct alloc_reads {
    uint64_t fresh, again, waits;
};

/* An estimate of the share of a buffer's elements that was written by the blocks that ran. `most`
 * is the estimate plus four standard errors. */
struct written_share {
    bool known; /* true if no block has run since we made the estimate */
    double mean, most;
};

struct alloc {
    uint64_t lo, hi;    /* the whole range, with guard zones */
    uint64_t addr, end; /* the buffer without guard zones */
    char name[64];
    uint32_t elem_bytes;
    enum job_buffer_role role;
    bool is_global_var; /* true for the variables of a module, and for the heap */
    bool dirty;    /* true if the shadow noted a reader or writer here since mem_clear_cells() */
    bool shadowed; /* true if this buffer may hold bytes that were never written */
    /* Set if this buffer is filled piece by piece, when a kernel first touches a piece (in a
     * sampled call). Otherwise NULL. */
    struct lazy *lazy;
    struct alloc_reads reads; /* the reads of the present launch, if it is counted */
    /* The next four are for sampled calls. atomics: atomics touched the buffer. loaded: plain loads
     * touched it. stored: stores or atomics touched it. copied: the host copied to it from a buffer
     * that kernels may write (op_copy_memory() in device_emu.c). */
    bool atomics, loaded;
    bool stored;
    bool copied;
    struct written_share share; /* block_sample.c estimates this */
    /* For the sanitizer: a store of this launch to this buffer. If there are several, it is the one
     * that comes last in the code (not in time). */
    const struct insn *store;
    /* For findings about unwritten outputs: the kernel, file and source line of `store`. They stay
     * when the launch has ended. */
    const char *store_kernel, *store_file;
    uint32_t store_line;
    uint32_t rank; /* number of dimensions of the tensor; 0 if there is no tensor */
    int64_t dims[8];
};

struct emu_mem {
    uint8_t *host;         /* host address of GLOBAL_BASE */
    uint64_t size;         /* bytes of the reserved range */
    struct alloc **allocs; /* sorted by address */
    size_t n, cap;
    uint64_t used, limit; /* bytes of all buffers together, without guard zones; the most allowed */
    /* A part of the shadow: one bit for each byte, set if the byte was written. NULL if the
     * sanitizer is off. */
    uint8_t *init;
    uint8_t *touched; /* one byte for each 128 bytes: set if a counted launch used them */
    /* The sanitizer looks for races in cells of 1, 2 or 4 bytes. The shadow has two words for each
     * cell, which say who wrote the cell and who read it (sanitizer/global.c). */
    uint32_t *writer, *reader;
    uint16_t *wtick, *rtick; /* warp and clock of each cell's last writer and last reader */
    uint32_t cell_shift;     /* a cell had 1 << cell_shift bytes in the last checked launch */
};

int mem_init(struct emu_mem *m, uint64_t limit, bool shadow, struct err *err);
void mem_release(struct emu_mem *m);
struct alloc *mem_alloc(struct emu_mem *m, const struct device_alloc *spec, struct err *err);
void mem_free(struct emu_mem *m, struct alloc *a);
/* Clears the allocation's part of the shadow that notes who read and wrote each cell. */
void mem_clear_cells(struct emu_mem *m, struct alloc *a);
/* Returns the allocation whose range, guard zones included, holds addr. Returns NULL if there is
 * none. */
struct alloc *mem_find(const struct emu_mem *m, uint64_t addr);
/* Marks these bytes in the shadow as written, or as never written. */
void mem_mark_init(struct emu_mem *m, uint64_t addr, uint64_t n, bool init);
/* After a copy: marks each byte of the target as written if the byte that was copied to it was
 * marked as written. */
void mem_copy_init(struct emu_mem *m, uint64_t to, uint64_t from, uint64_t n);
/* Arranges that each piece of the allocation is filled when a launch first touches it. b, kind and
 * seed are the parameters of lazy_init(). */
void mem_make_lazy(struct emu_mem *m, struct alloc *a, const struct job_buffer *b,
                   enum lazy_kind kind, uint64_t seed);
static inline uint8_t *mem_host(const struct emu_mem *m, uint64_t addr)
{
    return m->host + (addr - GLOBAL_BASE);
}

/* ---- code ----------------------------------------------------------------------------------- */

/* schedule.c estimates these numbers about the machine code that ptxas makes from an instruction. A
 * region is one or more basic blocks that ptxas joins. */
struct insn_schedule {
    /* Only set if the instruction starts a region. chain: how many clocks the region's longest
     * chain of dependent instructions takes. issued: how many instructions of machine code the
     * region has. */
    float chain, issued;
    /* For a load: 1 + the number of loads in the longest chain of loads on which this load depends.
     * The chain lies in the same region. */
    uint8_t level;
    bool starts; /* true if the instruction starts a region */
};

struct code_func {
    struct ptx_func *src;
    struct code *code;
    struct insn *insns;
    uint32_t n;
    uint32_t index;       /* index of this function in code->funcs */
    uint32_t frame_bytes; /* bytes of struct frame's `regs` */
    uint32_t local_bytes; /* bytes of its .local variables, rounded up */
    uint32_t local_size;  /* bytes of its .local variables, not rounded */
    /* For a .func: bytes per lane of its parameters, results and .param variables together. */
    uint32_t param_bytes;
    /* The most 32-bit registers that are alive at once. This estimates how many registers per
     * thread a GPU needs. */
    uint32_t regs_live;
    uint32_t smem_static; /* for a kernel: the shared address at which dynamic memory begins */
    uint32_t count_base;  /* index of its first instruction in a launch's counts */
    /* Bytes of its smallest access to shared and to global memory, 1 to 4. */
    uint8_t smem_bytes_min, gmem_bytes_min;
    bool decoded, has_calls;
    struct insn_schedule *schedule; /* one for each instruction, and one for the end */
};

struct code {
    struct ptx_module ptx;
    struct arena arena;
    struct emu *emu;
    struct code_func *funcs;
    uint32_t nfuncs;
    char *consts; /* the constant pool, which holds each constant 32 times */
    uint32_t nconsts, cap_consts, const_bytes_used;
    uint32_t *const_hash;
    uint32_t const_hash_cap;
    uint8_t *const_bank; /* the memory of the .const variables */
    uint32_t const_bytes;
    struct alloc *heap;    /* memory for malloc() in kernels, or NULL */
    uint64_t heap_used;    /* bytes of the heap that are in use; changed atomically */
    struct alloc *grid_ws; /* the grid barrier of cooperative launches, or NULL */
    struct alloc *globals; /* all .global variables, or NULL */
    uint32_t ninsns;       /* instructions decoded so far; count_base of the next function */
    uint32_t smem_most;    /* where the static shared memory of the largest kernel ends */
    uint32_t smem_first;   /* the first valid shared address: SMEM_BASE, or SMEM_SCRATCH */
};

/* Parses the PTX and gives addresses to its variables. Decodes nothing: code_prepare() does that.
 */
enum result_status code_load(struct code **out, struct emu *e, const char *ptx, size_t len,
                             struct err *err);
void code_free(struct code *c);
/* Sets *ok to true if the module's variables still hold their initial values. Otherwise sets *ok to
 * false and *which to the name of a variable that changed. */
int code_globals_intact(struct code *c, bool *ok, const char **which, struct err *err);
/* Decodes a function and all functions that it may call. */
enum result_status code_prepare(struct code *c, struct code_func *f, struct err *err);
struct code_func *code_find(struct code *c, const char *name);
/* Gives an address to the kernel's dynamic shared memory. Call it before the kernel is decoded. */
void code_place_dynamic(struct code *c, struct code_func *entry);
/* Size of the heap for malloc() in kernels. code_load() allocates the heap if the module uses
 * malloc(). */
#define HEAP_BYTES (8u << 20)
/* In device code, a function's address is a number above FUNC_BASE. code_from_addr() returns NULL
 * if addr is not the address of a function. */
#define FUNC_BASE (5ull << 40)
struct code_func *code_from_addr(struct code *c, uint64_t addr);
const struct ptx_insn *insn_src(const struct warp *w, const struct insn *pc);

/* merge_shared.c: marks shared accesses that the GPU merges into one. */
void merge_shared(struct code_func *cf);
/* schedule.c: fills cf->schedule. */
void schedule_code(struct code_func *cf);
/* The result of regs_plan(). */
struct reg_plan {
    uint32_t *offset; /* offset of each register in the frame, in bytes */
    uint32_t frame_bytes;
    uint32_t *rank;     /* rank of each instruction (flow.h) */
    uint8_t *leader;    /* for each instruction: 1 if it starts a basic block */
    uint32_t regs_live; /* as in struct code_func */
};
/* Returns whether another instruction of f may read p's destination (p's first operand). */
bool regs_result_is_read(const struct ptx_func *f, const struct ptx_insn *p);
/* regs.c: gives every register of f a place in the frame, and every instruction a rank. */
int regs_plan(struct reg_plan *out, const struct ptx_func *f, struct arena *a, struct err *err);
/* Offsets in a frame, in bytes. The sink is `_` in PTX. Registers begin at FRAME_HEAD. */
#define SINK_OFF 0u        /* the sink for numbers, 512 bytes */
#define SINK_PRED_OFF 512u /* the sink for predicates */
#define CC_OFF 516u        /* the carry flags */
#define FRAME_HEAD 576u

/* Special registers of a warp and of a block. Each takes 128 bytes (32 x u32) at a fixed offset. */
enum warp_spec {
    WS_TID_X,
    WS_TID_Y,
    WS_TID_Z,
    WS_LANEID,
    WS_WARPID,
    WS_LANEMASK_EQ,
    WS_LANEMASK_LE,
    WS_LANEMASK_LT,
    WS_LANEMASK_GE,
    WS_LANEMASK_GT,
    WS_COUNT
};
enum block_spec {
    BS_NTID_X,
    BS_NTID_Y,
    BS_NTID_Z,
    BS_NCTAID_X,
    BS_NCTAID_Y,
    BS_NCTAID_Z,
    BS_NWARPID,
    BS_NSMID,
    BS_NCLUSTERID_X,
    BS_NCLUSTERID_Y,
    BS_NCLUSTERID_Z,
    BS_CLUSTER_NCTAID_X,
    BS_CLUSTER_NCTAID_Y,
    BS_CLUSTER_NCTAID_Z,
    BS_CLUSTER_NCTARANK,
    BS_IS_EXPLICIT_CLUSTER,
    BS_DYNAMIC_SMEM,
    BS_TOTAL_SMEM,
    BS_ZERO,
    /* The registers from here on differ between blocks. */
    BS_CTAID_X,
    BS_CTAID_Y,
    BS_CTAID_Z,
    BS_SMID,
    BS_CLUSTERID_X,
    BS_CLUSTERID_Y,
    BS_CLUSTERID_Z,
    BS_CLUSTER_CTAID_X,
    BS_CLUSTER_CTAID_Y,
    BS_CLUSTER_CTAID_Z,
    BS_CLUSTER_CTARANK,
    BS_COUNT
};

/* ---- a launch ------------------------------------------------------------------------------- */

struct gsync;
struct suspects;

/* Counts the sectors that blocks read again. The distance of such a read is how many other sectors
 * the block has used since it last used this sector. There is one struct reuse (a bucket) for each
 * log2 of the distance. `sectors` is the number of its reads, `since` the sum of their distances.
 */
struct reuse {
    uint64_t sectors, since;
};

/* The old contents of some bytes of an input, kept because the kernel wrote to them. */
struct undo_write {
    uint64_t addr;
    uint32_t n;
    uint8_t bytes[128];
};

struct launch {
    struct emu *emu;
    struct code *code;
    struct code_func *entry;
    uint32_t grid[3], block[3], cluster[3];
    uint32_t nblocks, nthreads, nwarps, cluster_size, nclusters;
    uint32_t smem_static; /* SMEM_BASE, plus the bytes of static shared memory */
    uint32_t smem_bytes;  /* smem_static, plus the bytes of dynamic shared memory */
    uint32_t regs;        /* registers per thread, as the compiler reports; 0 if unknown */
    uint32_t spills;      /* bytes that one thread spills and reloads, as the compiler reports */
    /* Registers of each thread at the start of a block. 0 if the kernel does not change their
     * number (register_pool.c). */
    uint32_t pool_regs;
    uint8_t *params; /* the kernel's parameters */
    uint32_t param_bytes;
    uint32_t local_bytes; /* bytes of local memory of each thread */
    bool cooperative;
    uint64_t grid_ws;     /* address of a cooperative grid's barrier */
    bool sanitize, count; /* whether the sanitizer is on; whether the launch is counted */
    uint32_t sms;
    uint64_t seed;
    uint64_t cpu_limit_ns; /* CPU time that all host threads together may use; 0 means no limit */
    uint64_t max_steps;    /* instructions that all warps together may execute; 0 means no limit */
    uint32_t most_held;    /* clusters that all host threads together may hold at once */
    uint32_t resident;     /* clusters that one host thread may hold at once */
    /* The host threads share the members from here on. "Atomic" says that they change a member
     * without a lock, by atomic operations. */
    uint32_t next_cluster; /* the next cluster to take; atomic */
    /* For the search for clusters that repeat their state (warp_sched.c). Guarded by emu->lock. */
    struct {
        uint32_t held;    /* clusters that all host threads hold */
        uint32_t most;    /* the limit for `held` */
        uint32_t cycling; /* how many of the held clusters repeat their state */
        /* How many of the cycling clusters have repeated their state once more since `epoch`
         * changed. */
        uint32_t confirmed;
        uint32_t epoch; /* counts the changes of `held` and `cycling` */
    } spin;
    /* Not 0 if the launch must end, because of a fault, a limit or `redo`. Atomic. */
    int stop;
    /* True if several host threads run the launch and the sanitizer looks for conflicts between
     * blocks. */
    bool parallel;
    bool serial; /* true if only one host thread may run it, because the order of blocks matters */
    /* Not 0 if the launch has used up its time or its instructions. Then some clusters may not have
     * run. Atomic. */
    int over_limit;
    /* True if the clusters that run now are only for verification. Then it is not an error if they
     * run past a limit. */
    bool extra;
    /* Not 0 if a run with several host threads had a conflict, a finding or a fault, so that the
     * launch must run again (settle.c). Atomic. */
    int redo;
    bool keep_undo; /* true if `undo` must keep the old bytes of inputs that the kernel writes */
    VEC(struct undo_write) undo; /* guarded by emu->lock */
    /* Instructions and CPU time of all host threads. The threads update both only now and then.
     * Atomic. */
    uint64_t steps;
    uint64_t cpu_ns;
    enum result_status status;
    char message[2048];
    uint32_t smem_shift, gmem_shift; /* log2 of the bytes in a cell of the sanitizer */
    /* went_past() in exits.c keeps its answers here. Guarded by emu->lock. */
    struct went_past {
        uint32_t since, at, exit;
        bool answer;
    } past[32];
    struct gsync *gsync;       /* how blocks are ordered, for the sanitizer (block_order.c) */
    int gsync_used;            /* not 0 if a block has published anything (block_order.c); atomic */
    struct suspects *suspects; /* the cells that are part of a race (suspects.h) */
    /* If true, the clusters run in another order than in the first call (reverse_in_wave() in
     * warp_sched.c). True in a repeated call, unless the blocks must run in the order of their
     * numbers (block_sample_polls()). */
    bool turned;
    uint8_t blank; /* the value of each byte of registers and local memory before a write */
    /* The counters cover only the first nsample clusters of `order`. 0 means all clusters. */
    uint32_t nsample;
    uint32_t *order; /* the clusters to run, in this order; NULL means 0, 1, 2 ... */
    bool alone;      /* true if no block depends on another, so that any block may run by itself */
    uint32_t nran;   /* how many clusters have run */
    /* order[chosen..chosen_end) are clusters at the grid's edges. The other clusters of `order` are
     * random. */
    uint32_t chosen, chosen_end;
    /* Clusters run in waves; a wave is a range of places in `order`. The wave that runs now ends
     * before this place. */
    uint32_t wave_end;
    /* In a sampled call: for each place of `order`, what the cluster at that place stored.
     * Otherwise NULL. */
    struct cluster_trace *trace;
    /* In a sampled call: how many pieces of buffers were filled when the launch began. */
    uint64_t pieces_before;
    double cost; /* host work of the counted clusters, in plain warp instructions (count_cost()) */
    struct insn_count *total; /* the counts of all host threads, added up at the end */
    uint64_t diverged;        /* how often a branch split lanes that ran together, in all warps */
    /* The words that atomics changed (hot.c). Guarded by emu->lock. */
    struct hot_words *hot;
    struct reuse again[REUSE_BUCKETS]; /* see reuse.c; atomic */
    uint64_t waits_again;              /* see reuse.c; atomic */
};

/* A sampled call runs only some clusters. This is a record of the stores of one of them. */
enum { TRACE_PLACES = 2 };
struct cluster_trace {
    uint64_t bytes; /* how many bytes it stored, to all buffers together */
    /* The addresses of up to TRACE_PLACES elements of outputs that it wrote. Unused entries are 0.
     * They are chosen at random: each store of a warp to an output has the same chance. */
    uint64_t addr[TRACE_PLACES];
    uint32_t linear; /* number of the cluster in the grid */
};

/* One host thread. */
struct worker_state {
    struct launch *l;
    uint32_t index;
    uint64_t rng;
    struct alloc *last;        /* the allocation that the last search for an address found */
    uint64_t steps, told;      /* instructions executed; how many of them launch->steps includes */
    uint64_t cpu_told;         /* how much of the thread's CPU time launch->cpu_ns includes */
    uint64_t look_ns;          /* the time at which to read the CPU clock next */
    struct insn_count *counts; /* one for each decoded instruction, or NULL if nothing is counted */
    uint64_t diverged;         /* as in struct launch, for this thread */
    struct crew *crew; /* the threads that this thread starts when it finds enough work, or NULL */
};

/* The host threads that run one wave of clusters (launch.wave_end). */
struct crew {
    void *(*run)(void *ws);
    struct worker_state *ws;
    pthread_t *threads;
    uint32_t n, started;
};

/* Runs the launch and turns its counts into counters. If l->order is set, runs only the first
 * l->nsample clusters of l->order. If l->alone is also set and these clusters take long, lowers
 * l->nsample. */
enum result_status launch_run(struct launch *l, uint32_t nthreads, struct err *err);
/* settle.c: runs the launch so that its outcome does not depend on the order in which host threads
 * run. Uses at most `nthreads` host threads. */
enum result_status launch_settle(struct launch *l, uint32_t nthreads, struct err *err);
/* Call it after launch_run(). Runs the clusters order[nran..end) too, without counting. If they run
 * past the launch's limit of time or instructions, sets over_limit and returns RESULT_OK. */
enum result_status launch_run_more(struct launch *l, uint32_t nthreads, uint32_t end,
                                   struct err *err);

/* ---- the device ----------------------------------------------------------------------------- */

/* Remembers which finding an instruction caused, so that counting a repeat is cheap. */
struct seen_finding {
    const struct insn *pc;
    enum finding_kind kind;
    size_t index; /* index of the finding in emu.findings */
};

struct emu {
    struct device dev;
    const struct job *job;
    struct emu_mem mem;
    /* Holds the strings of findings and counters until the device is closed. */
    struct arena strings;
    /* Guards `findings`, `seen`, `unwritten_lines`, `printf_text`, and the members of struct launch
     * that say so. */
    pthread_mutex_t lock;
    struct finding_vec findings;
    /* Source lines on which we report reads of unwritten memory even if there is also a race
     * (unwritten_stands()). 0 marks a free entry. */
    uint32_t unwritten_lines[16];
    struct seen_finding seen[64]; /* findings of this launch */
    struct counter_vec counters;
    struct strbuf printf_text;
    uint64_t launches, steps_last;
    /* How many launches this call has made so far. It is part of the seed for the sample of blocks,
     * so that launch number n of a call always gets the same sample. */
    uint64_t launches_of_call;
    /* The clock that kernels read: the warp instructions of all earlier launches, plus 1000 for
     * each launch, memset and copy. */
    uint64_t clock;
    char last_kernel[256];
    uint32_t nthreads;
    bool sanitize, counting, sampling, timing; /* what the device does in this call */
    bool turned; /* true in a repeated call, which has the same data as the call before it */
    /* True if the worker will verify the outputs of this sampled call. Then more blocks run than
     * those of the counted sample. */
    bool verifying;
    double verify_left;   /* host work that this call may still spend on these further blocks */
    uint32_t ran_in_part; /* how many launches of this call ran only a sample of their blocks */
    /* True if in the last launch that ran in part, no block depends on another. */
    bool in_part_alone;
    /* True if a launch of this call ran in part and a later launch, memset or copy stored
     * something. */
    bool stored_after;
    /* For the last launch that ran in part: if all its blocks ran, the number of stored bytes would
     * grow by some factor. This is an upper bound for the factor. */
    double in_part_scale;
    /* The number of blocks in all launches of this call, and how many of them ran. */
    uint64_t blocks, blocks_ran;
    VEC(struct cluster_trace) traces; /* the traces of the clusters that ran in this call */
    /* The modelled time since timing began, and the interval in which the true time probably
     * lies. */
    double model_ns, model_lo_ns, model_hi_ns;
};

/* findings.c: use these three functions for a finding that is recorded later than it is seen. If
 * this instruction already has a finding of this kind, emu_finding_seen() counts a repeat and
 * returns true. emu_make_finding() fills *out. emu_add_finding() records a finding. */
bool emu_finding_seen(struct warp *w, const struct insn *pc, enum finding_kind kind);
void emu_make_finding(const struct warp *w, const struct insn *pc, int lane, enum finding_kind kind,
                      const char *object, int64_t index, const char *other, const char *text,
                      struct result_finding *out);
void emu_add_finding(struct emu *e, const struct result_finding *f);

/* ---- execution (warp.c) --------------------------------------------------------------------- */

enum slice_rc {
    SLICE_RAN,   /* the warp executed at least one instruction */
    SLICE_WAITS, /* the warp could not execute any instruction */
    SLICE_DONE,  /* all lanes of the warp have exited */
    SLICE_FAULT  /* emu_fault() was called */
};
/* Runs a slice of a warp: at most `budget` instructions. */
enum slice_rc warp_run(struct warp *w, uint32_t budget);
/* Fills the registers of a new frame with launch->blank. */
void frame_poison(struct frame *fr, const struct launch *l);
/* Fills n bytes of the local memory of each of these lanes with launch->blank. The bytes begin at
 * byte `from`. */
void warp_poison(struct warp *w, const struct launch *l, uint32_t lanes, uint32_t from, uint32_t n);
int exec_exit(struct warp *w, const struct insn *in);
int exec_ret(struct warp *w, const struct insn *in);
int exec_unsupported(struct warp *w, const struct insn *in);
struct frame *frame_push(struct warp *w, struct code_func *f, uint32_t lanes);
void warp_release(struct warp *w);
/* call.c: copies the results of a call to the caller's variables. */
void call_return_values(struct warp *w, struct frame *callee, uint32_t lanes);
/* barrier.c: call it when these lanes have exited. Completes the barriers that waited only for
 * them. */
void barrier_exited(struct warp *w, uint32_t lanes);
/* register_pool.c executes setmaxnreg. register_pool_at_start() computes launch->pool_regs. If a
 * warp of the block waits for registers, register_pool_waits() returns the warp and says in `why`
 * how many registers there are; else it returns NULL. */
int decode_setmaxnreg(struct decoder *d, const struct ptx_insn *p, struct insn *in);
uint32_t register_pool_at_start(const struct launch *l);
struct warp *register_pool_waits(const struct block *b, char *why, size_t n);
/* Returns a branch target: instruction number `index` of the function being decoded. */
const struct insn *dec_target(struct decoder *d, uint32_t index);
/* Splits the running fragment, which is a group of lanes at the same instruction (core.h): the
 * lanes in `taken` continue at `pc`, the others at the next instruction. Returns EX_JUMP. */
int warp_branch(struct warp *w, uint32_t taken, const struct insn *pc);
int warp_call(struct warp *w, uint32_t lanes, struct frame *callee);
int warp_return(struct warp *w, uint32_t lanes);
void warp_exit_lanes(struct warp *w, uint32_t lanes);

/* ---- lanes that have exited (exits.c) ------------------------------------------------------- */

void exits_start(struct warp *w);
/* Notes that the active lanes have executed pc, an instruction at which threads meet. */
void exits_met(struct warp *w, enum exits_kind kind, const struct insn *pc);
/* Notes that these lanes exit at pc. */
void exits_left(struct warp *w, uint32_t lanes, const struct insn *pc);
/* Returns those of `lanes` that have exited and went around an instruction: they executed code that
 * comes after it, but not the instruction itself. `place` is exits_place() of the instruction. */
uint32_t exits_past(struct warp *w, uint32_t lanes, enum exits_kind kind, uint32_t place);
/* Returns a number that stands for the place of pc in the kernel (exits.c). */
uint32_t exits_place(const struct warp *w, const struct insn *pc);
/* Returns whether the instruction at place `since` comes after the instruction at place `at`, and
 * no loop leads from `since` back to `at`. */
bool exits_beyond(struct launch *l, uint32_t since, uint32_t at);
/* Returns a mask of the lanes with which the warp started. The last warp of a block may have fewer
 * than 32 lanes. */
uint32_t warp_lanes(const struct warp *w);

/* ---- the sanitizer's state per block (order.c) ---------------------------------------------- */

/* undefined.c marks the registers that hold undefined bits. While a warp has marked registers,
 * warp.undef is set, and undef_step() must be called before each instruction of the warp. */
void undef_step(struct warp *w, const struct insn *pc);
/* undefined.c: call it in a shuffle, vote, match or reduction of a warp with marked registers, when
 * all lanes have arrived. from[i] is a mask of the lanes from which lane i gets values. */
void undef_exchange(struct warp *w, const struct insn *pc, const uint32_t from[WARP]);
/* undefined.c: notes that the results of a shuffle are undefined in these lanes. Returns true if
 * undefined.c will report `text` at the first use of a result, false if the caller must report it
 * now. */
bool undef_absent(struct warp *w, const struct insn *pc, uint32_t lanes, const char *text);

/* A matrix instruction moves rows of memory to and from the registers of many lanes. It accesses
 * each row in segments of at most 64 bytes. While it does, warp.matrix says which segment the warp
 * accesses, and undefined.c notes the undefined bytes of each segment. */
struct matrix_access {
    uint32_t segment;   /* number of the segment that the warp accesses now */
    uint64_t undefined; /* bit p is set if segment p has undefined bytes; then at[p] is valid */
    struct matrix_segment {
        uint64_t bytes;   /* bit k is set if byte k is undefined */
        uint32_t origins; /* bit i is set if undef.read[i] (undefined.c) made some of these bytes */
    } at[64];
};
/* undefined.c: call these for a warp with marked registers. undef_bits() returns the undefined bits
 * of a lane's register and adds their origins (the loads and shuffles that made them) to *origins.
 * undef_mark() replaces the undefined bits of a lane's register. Both ignore operands that are not
 * registers. undef_store_segment() takes the undefined bytes of the segment that warp.matrix names.
 * It notes these bytes, or reports them if this memory must not hold undefined bytes. */
uint64_t undef_bits(const struct warp *w, const struct ptx_opnd *o, uint32_t lane,
                    uint32_t *origins);
void undef_mark(struct warp *w, const struct ptx_opnd *o, uint32_t lane, uint64_t bits,
                uint32_t origins);
void undef_store_segment(struct warp *w, enum ptx_space sp, uint64_t addr, uint64_t bytes,
                         uint32_t origins);
/* Call it when the lanes of a mask synchronise in one instruction. */
void san_warp_sync(struct warp *w, uint32_t mask);
/* Call it when the warp executes a fence. Scope 0 is the block, 1 the cluster, 2 the device. */
void san_fence(struct warp *w, uint32_t scope);
/* Call it when this warp issues a matrix product (wgmma) and its operands have been checked.
 * Returns the product's stamp (sanitizer/state.h), for san_product_done(). */
uint32_t san_product(struct warp *w);
/* Call it when w has waited for the product that warp number `warp` issued with stamp t. From then
 * on w may overwrite the product's operands. */
void san_product_done(struct warp *w, uint32_t warp, uint32_t t);
/* Call it when the warp leaves a barrier of the whole block. `key` is the barrier's key (struct
 * barrier). */
void san_barrier_full(struct warp *w, const void *key);
/* Call it when lanes of the warp exit. */
void san_exit(struct warp *w);
/* Call it when a barrier of the whole block or cluster completes, before its phase changes. `key`
 * is the barrier's key. From then on, the accesses of exited lanes count as made before the
 * barrier. */
void san_exits_release(struct block *b, const void *key);
void san_launch_begin(struct launch *l);
void san_launch_end(struct launch *l);
/* Records a finding for each output that has unwritten bytes. */
void san_unwritten(struct emu *e);
/* suspects.c: if a launch has a race, it runs twice (suspects.h says why). Call suspects_open()
 * before the first run. suspects_follow() begins the second run. It returns false if there is no
 * suspect, so that no second run is needed. Call suspects_settle() after the second run: it decides
 * which races become findings and which become notes. */
void suspects_open(struct launch *l);
void suspects_close(struct launch *l);
bool suspects_follow(struct launch *l);
void suspects_settle(struct launch *l);
void san_block_create(struct block *b);
void san_block_start(struct block *b);
void san_block_end(struct block *b); /* call it when the block's last warp is done */
void san_block_destroy(struct block *b);

/* ---- counters (count.c) and the cost model (model.c) ---------------------------------------- */

/* The counts of one instruction of the code. */
struct insn_count {
    uint64_t warps, threads; /* how often warps executed it; how often threads executed it */
    /* For shared memory: wavefronts, which are passes through the memory's banks. Otherwise:
     * sectors of 32 bytes that were moved. */
    uint64_t sectors;
    uint64_t bytes; /* bytes that the threads asked for */
    uint64_t extra; /* for shared memory: wavefronts beyond the ideal number */
    /* For shared memory: how many of the executions were merged into another instruction. */
    uint64_t merged;
    uint64_t lines; /* for global memory: the 128-byte lines that each access touched, added up */
    uint64_t fresh; /* for global loads: sectors that the block had not used before */
    /* How often a warp had to wait before this instruction: for global loads [PEND_GLOBAL], for
     * shared loads and shuffles [PEND_SHARED]. */
    uint64_t waits[2];
};

/* The loads of a warp that are under way, and the registers that wait for them. Index PEND_GLOBAL
 * stands for global loads, PEND_SHARED for shared loads and shuffles. */
enum { PEND_GLOBAL, PEND_SHARED };
struct pending {
    bool any[2]; /* true if such loads are under way */
    /* One pass through a region of code issues all loads of one level together
     * (insn_schedule.level). level: the highest level of the loads under way. waited: the highest
     * level for which the warp has waited in this pass. */
    uint8_t level[2], waited[2];
    /* True if this pass stored to global memory. Later loads cannot move before that store. */
    bool stored;
    uint32_t words;    /* length of bits[0] and bits[1] */
    uint64_t *bits[2]; /* one bit for each 64 bytes of the frame: set if they wait for a load */
    uint32_t clock;    /* how many sectors this warp has used */
    /* Address of a load under way that reads a sector new to the block, or 0 if there is none. */
    uint64_t slowest;
};

static inline struct insn_count *count_at(const struct warp *w, const struct insn *pc)
{
    const struct code_func *f = w->frame->func;
    return &w->counts[f->count_base + (uint32_t)(pc - f->insns)];
}
static inline void count_insn(struct warp *w, const struct insn *pc, uint32_t mask)
{
    struct insn_count *c = count_at(w, pc);
    c->warps++;
    c->threads += (uint32_t)__builtin_popcount(mask);
}
/* Call it before a warp executes pc. Notes whether the warp must wait here for a load, and which
 * registers this instruction loads. */
void count_waits(struct warp *w, const struct insn *pc);
void count_start(struct warp *w);
/* reuse.c: reuse_start() gives a new block an empty set of sectors, reuse_free() frees the set. */
void reuse_start(struct block *b);
void reuse_free(struct block *b);
/* Notes that the warp uses a sector. Returns whether the sector is new to the block. If it is not
 * new and the L1 may serve it (by_l1), adds the distance of this use to struct reuse. */
bool reuse_note(const struct warp *w, uint64_t sector, bool by_l1);
/* Notes a load of `sectors` sectors; `fresh` of them are new to the block. */
void reuse_loaded(struct warp *w, const struct insn *pc, uint64_t addr, uint32_t sectors,
                  uint32_t fresh);
/* Notes that a warp waits for its loads. */
void reuse_waited(struct warp *w);
static inline void uncount_insn(struct warp *w, const struct insn *pc, uint32_t mask)
{
    struct insn_count *c = count_at(w, pc);
    c->warps--;
    c->threads -= (uint32_t)__builtin_popcount(mask);
}

struct work;
struct insn_count *count_alloc(struct launch *l);
/* Call it before the first cluster of a launch. */
void count_begin(struct launch *l);
/* Estimates the host work for the counted clusters. The unit is the work for one plain warp
 * instruction. The estimate depends on the counts alone, so it is the same in every run. */
double count_cost(const struct launch *l);
/* Adds the counts of the host thread to those of the launch. Frees the counts of the host thread.
 */
void count_collect(struct launch *l, struct worker_state *ws);
/* hot.c: hot_note() notes an atomic access of a warp to global memory. hot_work() computes
 * same_word, same_piece and pieces of struct work from these notes. */
void hot_note(struct warp *w, const uint64_t *addr);
void hot_work(struct launch *l, struct work *w, double scale);
void hot_free(struct launch *l);
/* Turns the collected counts into counters of the device and into a modelled time. */
void count_to_counters(struct launch *l);
/* Adds a memset or a copy, called `name`, to the time and the counters of the call. */
void count_transfer(struct emu *e, const char *name, uint64_t read_bytes, uint64_t written_bytes);

/* The work of a launch, scaled to the whole grid: the cost model's input. */
struct work {
    /* Executed instructions by kind. warps[] counts each execution by a warp once, threads[] once
     * for each active thread. all_warps and all_threads are the sums over all kinds. */
    double warps[CK_COUNT], threads[CK_COUNT];
    double all_warps, all_threads;
    double instructions; /* how many instructions of the code were executed at least once */
    /* 32-byte sectors of global memory that were loaded and stored, and the bytes that threads
     * asked for. */
    double ld_sectors, st_sectors, ld_bytes, st_bytes;
    /* The 128-byte lines of global memory that each load and each store touches, added up. */
    double ld_lines, st_lines;
    double local_sectors; /* sectors of local memory that were moved */
    double fresh_sectors; /* the part of ld_sectors that the block had not used before */
    /* The sectors that were read again, in the buckets of struct reuse, and the mean distance in
     * each bucket. */
    double again[REUSE_BUCKETS], since[REUSE_BUCKETS];
    double waits[2]; /* how often warps waited: for global loads, for shared loads and shuffles */
    /* These three add up to waits[0]. waits_first: for data that no block had read before.
     * waits_common: for data that another block had read. waits_again: for data that the same block
     * had read. */
    double waits_first, waits_common, waits_again;
    double footprint; /* distinct bytes of global memory that the launch touches */
    /* About memory that several blocks read. common: its bytes. common_sectors: how many sectors of
     * it were new to the block that read them. common_again: how many sectors of it the block had
     * used before. */
    double common, common_sectors, common_again;
    /* Wavefronts of shared memory: all of them, and those beyond the ideal number. */
    double wavefronts, conflicts;
    double merged;       /* accesses to shared memory that were merged into another instruction */
    double shared_bytes; /* bytes of shared memory that threads asked for */
    double tensor[4];    /* tensor-core operations, by TENSOR_... */
    double mma;          /* the part of `tensor` that single warps issue (mma), not warpgroups */
    double atomics, diverged, barriers;
    double issued;        /* executed instructions of machine code */
    double clocks;        /* clocks that each warp would take if it ran alone, summed over warps */
    double float_atomics; /* the part of `atomics` that adds floats */
    /* Atomics on global memory (hot.c). A piece is 512 bytes here.
     * - same_word: for each atomic we count the atomics that change the same word. This is the mean
     *   of these counts.
     * - same_piece: the same for pieces instead of words.
     * - pieces: how many pieces atomics change. */
    double same_word, same_piece, pieces;
};
enum { TENSOR_F16, TENSOR_TF32, TENSOR_8BIT, TENSOR_F64 }; /* TENSOR_F16 includes bf16 */

struct occupancy {
    uint32_t regs;     /* registers per thread, an estimate */
    uint32_t blocks;   /* resident blocks per SM */
    double share;      /* resident threads, as a share of the most threads that an SM can hold */
    const char *limit; /* the resource that does not suffice for one more block */
};
void model_occupancy(const struct launch *l, struct occupancy *out);

struct model {
    double time_ns, launch_ns;
    /* The times of the bottlenecks that docs/emulator-cost.md explains. The bottlenecks `l1` and
     * `blocks` have no member here. */
    double dram_ns, l2_ns, issue_ns, shared_ns, tensor_ns, latency_ns, atomic_ns;
    double dram_bytes;
    const char *bound; /* the bottleneck with the largest time */
    /* The interval in which the true time probably lies. Such intervals held the measured time of
     * 80% of the measured kernels with this bound (model_error.h). */
    double lo_ns, hi_ns;
};
void model_time(const struct launch *l, const struct work *w, const struct occupancy *o,
                struct model *out);
/* Computes the time of a memset or a copy that moves this many bytes to and from DRAM. */
void model_transfer(const struct job_gpu *g, double bytes, struct model *out);

/* record.c: writes the inputs of model_time() as one line of text, without a newline. */
void record_put(FILE *f, const struct launch *l, const struct work *w, const struct occupancy *o);
/* Reads such a line. Returns -1 if it has an unknown field. */
int record_get(const char *line, struct launch *l, struct work *w, struct occupancy *o);
/* Appends the launch to the file that the environment variable HONE_MODEL_INPUTS names, if it is
 * set. */
void record_launch(const struct launch *l, const struct work *w, const struct occupancy *o,
                   const struct model *m);

#endif
