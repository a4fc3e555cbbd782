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
 * In a sampled call only a part of the blocks may run, the sample (block_sample.h). In such a call,
 * buffers are filled piece by piece (1024 bytes) when a kernel first touches a piece.
 */
#ifndef EMU_CORE_MACHINE_H
#define EMU_CORE_MACHINE_H

#include "emu/core/core.h"
#include "job/lazy.h"

#define MAX_THREADS_PER_BLOCK 1024
#define MAX_WARPS 32
#define SAMPLE_CLUSTERS 48u /* how many clusters of a launch run as a sample for the cost model */
#define SAMPLE_LEAST 8u     /* at least this many of them run, however long they take */
/* A sample of blocks that do not depend on each other may cost at most the least of these three
 * limits of host work, in the units of count_cost(). If the sample would cost more, it gets fewer
 * clusters, but at least SAMPLE_LEAST:
 *   - SAMPLE_COST;
 *   - if the call has a time limit: SAMPLE_COST_PER_NS for each nanosecond of it, because even a
 *     slow or busy host does that much work in a nanosecond;
 *   - if the launch has a limit of instructions: a quarter of that limit. */
#define SAMPLE_COST 2e8
#define SAMPLE_COST_PER_NS 0.01
#define REUSE_BUCKETS 28u /* see struct reuse */
#define MAX_FINDINGS 256
#define MAX_COUNTERS 4096
#define GUARD_BYTES 16384u
#define GUARD_PATTERN 0xa5
#define MAX_FRAME_BYTES (16u << 20)
#define SMEM_BASE 1024u   /* a kernel's first shared address; the system owns the addresses below */
#define SMEM_SCRATCH 512u /* cooperative groups use the addresses from here to SMEM_BASE */
/* bytes of local memory for calls, in addition to the kernel's own */
#define LOCAL_STACK_BYTES 8192u

/* ---- memory --------------------------------------------------------------------------------- */

/* Reads of one allocation. `fresh` counts the sectors that were new to the block that read them,
 * `again` those that the block had used before. `waits` counts how often a warp waited for fresh
 * sectors. */
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
    bool is_global_var;       /* a module's variable, or the heap */
    bool dirty;               /* the shadow for races was changed since it was cleared */
    bool shadowed;            /* this buffer may hold bytes that were never written */
    struct lazy *lazy;        /* in a sampled call: filled piece by piece when touched; else NULL */
    struct alloc_reads reads; /* how much the counted launch read */
    /* in a sampled call: whether atomics, and whether plain loads, touched it */
    bool atomics, loaded;
    bool stored; /* in a sampled call: stores or atomics touched it */
    bool copied; /* in a sampled call: the plan copied to it from a buffer that kernels may write */
    struct written_share share; /* block_sample.c estimates this */
    /* for the sanitizer: the store of this launch that comes last in the code (not in time) */
    const struct insn *store;
    const char *store_kernel, *store_file; /* where that store is, for "unwritten" findings */
    uint32_t store_line;
    uint32_t rank;
    int64_t dims[8];
};

struct emu_mem {
    uint8_t *host;         /* host address of GLOBAL_BASE */
    uint64_t size;         /* bytes of the reserved range */
    struct alloc **allocs; /* sorted by address */
    size_t n, cap;
    uint64_t used, limit;
    struct alloc *last;
    /* shadow: a bit for each byte, set if it was written; NULL without sanitizer */
    uint8_t *init;
    uint8_t *touched;          /* one byte for each 128 bytes: set if a counted launch used them */
    uint32_t *writer, *reader; /* shadow of each cell; a cell has 1 to 4 bytes: see global.c */
    uint16_t *wtick, *rtick;   /* warp and clock of each cell's last writer and last reader */
    uint32_t cell_shift;       /* a cell had 1 << cell_shift bytes in the last checked launch */
};

int mem_init(struct emu_mem *m, uint64_t limit, bool shadow, struct err *err);
void mem_release(struct emu_mem *m);
struct alloc *mem_alloc(struct emu_mem *m, const struct device_alloc *spec, struct err *err);
void mem_free(struct emu_mem *m, struct alloc *a);
/* Forgets who read and wrote the allocation. */
void mem_clear_cells(struct emu_mem *m, struct alloc *a);
/* Returns the allocation whose range, guard zones included, holds addr. Returns NULL if there is
 * none. */
struct alloc *mem_find(const struct emu_mem *m, uint64_t addr);
/* Marks these bytes in the shadow as written, or as never written. */
void mem_mark_init(struct emu_mem *m, uint64_t addr, uint64_t n, bool init);
/* After a copy: marks each byte of the target as written if the byte that was copied to it was
 * marked as written. */
void mem_copy_init(struct emu_mem *m, uint64_t to, uint64_t from, uint64_t n);
/* From now on, each piece of the allocation is filled when a launch first touches it. b, kind and
 * seed are the parameters of lazy_init(). */
void mem_make_lazy(struct emu_mem *m, struct alloc *a, const struct job_buffer *b,
                   enum lazy_kind kind, uint64_t seed);
static inline uint8_t *mem_host(const struct emu_mem *m, uint64_t addr)
{
    return m->host + (addr - GLOBAL_BASE);
}

/* ---- code ----------------------------------------------------------------------------------- */

/* The estimate of schedule.c how ptxas compiles an instruction. A region is one or more basic
 * blocks that ptxas joins. */
struct insn_schedule {
    float chain, issued; /* only set if the instruction starts a region: the clocks of the region's
                          * longest chain of dependent instructions, and how many instructions of
                          * machine code the region has */
    uint8_t level; /* for a load: 1 + the length of the longest chain of loads in the region on
                    * which this load depends */
    bool starts;   /* whether the instruction starts a region */
};

struct code_func {
    struct ptx_func *src;
    struct code *code;
    struct insn *insns;
    uint32_t n;
    uint32_t index; /* its index in code->funcs */
    uint32_t frame_bytes;
    uint32_t local_bytes; /* bytes of its .local variables, rounded up */
    uint32_t local_size;  /* bytes of its .local variables, exactly */
    /* in a .func: bytes of its parameters, results and .param variables, per lane */
    uint32_t param_bytes;
    uint32_t regs_live;   /* the most 32-bit registers alive at once: an estimate of the registers
                             that a GPU needs */
    uint32_t smem_static; /* in a kernel: where dynamic shared memory begins */
    uint32_t count_base;  /* index of its first instruction in a launch's counts */
    uint8_t smem_bytes_min, gmem_bytes_min; /* bytes of the smallest access, 1 to 4 */
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
    uint8_t *const_bank; /* .const variables */
    uint32_t const_bytes;
    struct alloc *heap;    /* memory for malloc() in kernels, or NULL */
    uint64_t heap_used;    /* bytes of the heap that are in use; atomic */
    struct alloc *grid_ws; /* the grid barrier of cooperative launches, or NULL */
    struct alloc *globals; /* all .global variables, or NULL */
    uint32_t ninsns;       /* instructions decoded so far; the next count_base */
    uint32_t smem_most;    /* the highest address at which the static shared memory of a kernel
                            * ends */
    uint32_t smem_first;   /* the first valid shared address: SMEM_BASE, or SMEM_SCRATCH */
};

/* Parses the PTX and places its variables. code_prepare() decodes. */
enum result_status code_load(struct code **out, struct emu *e, const char *ptx, size_t len,
                             struct err *err);
void code_free(struct code *c);
/* Sets *ok to whether the module's variables still hold their initial values. If not, *which names
 * a variable that changed. */
int code_globals_intact(struct code *c, bool *ok, const char **which, struct err *err);
/* Decodes a function and all functions that it may call. */
enum result_status code_prepare(struct code *c, struct code_func *f, struct err *err);
struct code_func *code_find(struct code *c, const char *name);
/* Places dynamic shared memory. Call it before a kernel is decoded. */
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
    uint32_t *offset; /* place of each register in the frame */
    uint32_t frame_bytes;
    uint32_t *rank;     /* rank of each instruction (flow.h) */
    uint8_t *leader;    /* whether each instruction starts a basic block */
    uint32_t regs_live; /* as in struct code_func */
};
/* Returns whether another instruction of f may read p's destination (p's first operand). */
bool regs_result_is_read(const struct ptx_func *f, const struct ptx_insn *p);
/* regs.c: gives every register of f a place in the frame, and every instruction a rank. */
int regs_plan(struct reg_plan *out, const struct ptx_func *f, struct arena *a, struct err *err);
#define SINK_OFF 0u /* the first 512 bytes of the frame are for `_`, the sink of PTX */
#define SINK_PRED_OFF 512u
#define CC_OFF 516u /* the carry flags */
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
    /* the registers from here on differ between blocks */
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

/* One bucket of the sectors that a block read again. The distance of such a sector is how many
 * other sectors the block used since it last used the sector. A bucket counts the sectors whose
 * distances have the same log2. `sectors` is how many there are, `since` the sum of their
 * distances. */
struct reuse {
    uint64_t sectors, since;
};

/* Bytes of an input before the kernel wrote to them. */
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
    uint32_t smem_static; /* bytes of static shared memory, and the SMEM_BASE bytes before it */
    uint32_t smem_bytes;  /* the same with dynamic shared memory */
    uint32_t regs;        /* registers per thread, as the compiler reports; 0 = unknown */
    uint32_t spills;      /* bytes that one thread spills and reloads, as the compiler reports */
    uint32_t pool_regs;   /* registers of each thread at the start of a block; 0 if the kernel does
                             not change them (register_pool.c) */
    uint8_t *params;
    uint32_t param_bytes;
    uint32_t local_bytes;
    bool cooperative;
    uint64_t grid_ws; /* address of a cooperative grid's barrier */
    bool sanitize, count;
    uint32_t sms;
    uint64_t seed;
    uint64_t cpu_limit_ns; /* CPU time that all host threads together may use; 0 = no limit */
    uint64_t max_steps;
    uint32_t most_held; /* clusters that all host threads together may hold at once */
    uint32_t resident;  /* clusters that one host thread may hold at once */
    /* shared between host threads */
    uint32_t next_cluster;  /* the next cluster to take; atomic */
    struct {                /* clusters whose state repeats (warp_sched.c); guarded by emu->lock */
        uint32_t held;      /* clusters that all host threads hold */
        uint32_t most;      /* limit on `held` */
        uint32_t cycling;   /* how many of the held clusters repeat their state */
        uint32_t confirmed; /* how many of these have repeated it once more since `epoch` changed */
        uint32_t epoch;     /* changes with `held` and `cycling` */
    } spin;
    int stop;       /* atomic: the launch must end, because of a fault, a limit or `redo` */
    bool parallel;  /* several host threads run it, and the sanitizer looks for conflicts between
                     * blocks */
    bool serial;    /* only one host thread may run it, because the order of blocks matters */
    int over_limit; /* atomic: the launch used up its time or instructions; clusters may be
                     * missing */
    bool extra;     /* the clusters that run now are only for verification: running past a limit is
                     * not an error */
    int redo;       /* atomic: the run in parallel was not clean (see settle.c) */
    bool keep_undo; /* keep the old bytes of inputs that the kernel writes, in `undo` */
    VEC(struct undo_write) undo; /* guarded by emu->lock */
    /* atomic, updated now and then: instructions of all host threads */
    uint64_t steps;
    uint64_t cpu_ns; /* atomic, updated now and then: CPU time of all host threads */
    enum result_status status;
    char message[2048];
    uint32_t smem_shift, gmem_shift; /* log2 of the bytes in a cell of the sanitizer */
    struct went_past { /* exits.c keeps the answers of went_past() here; guarded by emu->lock */
        uint32_t since, at, exit;
        bool answer;
    } past[32];
    struct gsync *gsync;       /* the sanitizer's order between blocks */
    int gsync_used;            /* atomic: whether a block has published anything (block_order.c) */
    struct suspects *suspects; /* cells that are part of a race; see suspects.h */
    bool turned;               /* a repeated call: clusters run in another order than in the first
                                * call (reverse_in_wave() in warp_sched.c) */
    uint8_t blank; /* the value of each byte of registers and local memory before a write */
    /* 0: the counters cover all clusters; else only the first nsample of `order` */
    uint32_t nsample;
    uint32_t *order; /* the clusters to run, in this order; NULL means 0, 1, 2 ... */
    bool alone;      /* no block depends on another, so any block may run without the others */
    uint32_t nran;   /* clusters that have run */
    /* order[chosen..chosen_end) are clusters at the grid's edges; the others are random ones */
    uint32_t chosen, chosen_end;
    uint32_t wave_end; /* the clusters that run now are before this place in `order` */
    /* sampled calls: what the cluster at each place of `order` stored */
    struct cluster_trace *trace;
    uint64_t pieces_before; /* pieces of lazy memory that earlier launches filled */
    double cost; /* host work of the counted clusters, in plain warp instructions: count_cost() */
    struct insn_count *total; /* the sum over host threads, computed at the end */
    uint64_t diverged;
    /* words that atomics changed (hot.c); guarded by emu->lock */
    struct hot_words *hot;
    struct reuse again[REUSE_BUCKETS]; /* atomic; see reuse.c */
    uint64_t waits_again;              /* atomic; see reuse.c */
};

/* Describes what a cluster of a sampled call stored: how many bytes to all buffers together, and
 * the addresses of up to TRACE_PLACES elements of outputs that it wrote. Each store of a warp to an
 * output is equally likely to be among them. */
enum { TRACE_PLACES = 2 };
struct cluster_trace {
    uint64_t bytes;
    uint64_t addr[TRACE_PLACES]; /* 0 = no such element */
    uint32_t linear;             /* number of the cluster in the grid */
};

/* One host thread. */
struct worker_state {
    struct launch *l;
    uint32_t index;
    struct cluster *clusters; /* the clusters that this thread holds */
    uint32_t nclusters;
    uint64_t rng;
    struct alloc *last;   /* the allocation that the last search found */
    uint64_t steps, told; /* instructions executed; how many of them are already in launch->steps */
    uint64_t cpu_told;    /* CPU time of the thread that is already in launch->cpu_ns */
    uint64_t look_ns;     /* when to read the CPU clock next */
    struct insn_count *counts; /* one for each decoded instruction, or NULL if nothing is counted */
    uint64_t diverged;
    struct crew *crew; /* the threads that this one starts when it finds enough work, or NULL */
};

/* The host threads of a wave. */
struct crew {
    void *(*run)(void *ws);
    struct worker_state *ws;
    pthread_t *threads;
    uint32_t n, started;
};

/* Runs the launch and turns its counts into counters. If l->order is set, only the first l->nsample
 * clusters of it run. If l->alone is set and these clusters take long, launch_run() lowers
 * l->nsample. */
enum result_status launch_run(struct launch *l, uint32_t nthreads, struct err *err);
/* settle.c: runs the launch so that its outcome does not depend on the order of host threads. Uses
 * at most `nthreads` of them. */
enum result_status launch_settle(struct launch *l, uint32_t nthreads, struct err *err);
/* After launch_run: runs clusters order[nran..end) too, without counting. If these clusters run
 * past the limit, sets over_limit and returns RESULT_OK. */
enum result_status launch_run_more(struct launch *l, uint32_t nthreads, uint32_t end,
                                   struct err *err);

/* ---- the device ----------------------------------------------------------------------------- */

/* Remembers which finding an instruction caused, so that counting a repeat is cheap. */
struct seen_finding {
    const struct insn *pc;
    enum finding_kind kind;
    size_t index; /* its index in `findings` */
};

struct emu {
    struct device dev;
    const struct job *job;
    struct emu_mem mem;
    /* strings of findings and counters; they live until the device is closed */
    struct arena strings;
    pthread_mutex_t lock; /* guards findings, `seen`, `unwritten_lines`, printf_text, and the fields
                           * of struct launch that say so */
    struct finding_vec findings;
    /* source lines whose reads of unwritten memory we report even beside a race */
    uint32_t unwritten_lines[16];
    struct seen_finding seen[64]; /* findings of this launch; guarded by `lock` */
    struct counter_vec counters;
    struct strbuf printf_text;
    uint64_t launches, steps_last;
    /* launches so far; a seed for the sample of blocks, so that all programs get the same sample */
    uint64_t launches_of_call;
    /* the clock that kernels read: the warp instructions of all earlier launches, plus 1000 for
     * each launch */
    uint64_t clock;
    char last_kernel[256];
    uint32_t nthreads;
    bool sanitize, counting, sampling, timing; /* what the device does in this call */
    bool turned;                               /* as in struct launch */
    bool verifying; /* the worker will verify the call's outputs: run more blocks than the counted
                       sample */
    double verify_left;   /* host work that this call may still spend on these further blocks */
    uint32_t ran_in_part; /* launches of this call that ran only a sample of their blocks */
    bool in_part_alone;   /* true if no block of the last launch that ran in part depends on
                           * another */
    bool stored_after;    /* true if a launch ran in part and a later launch stored something */
    /* upper bound for the last launch that ran in part: the bytes that all its blocks would store,
     * divided by the bytes that its sample stored */
    double in_part_scale;
    /* blocks of all launches of this call; how many of them ran */
    uint64_t blocks, blocks_ran;
    VEC(struct cluster_trace) traces; /* the traces of the clusters that ran in this call */
    double model_ns, model_lo_ns, model_hi_ns;
};

/* findings.c: these functions are for findings that we record later than we see them.
 * emu_finding_seen() returns true if this instruction already has a finding of this kind, and
 * counts the repeat. emu_make_finding() fills *out; emu_add_finding() records it. */
bool emu_finding_seen(struct warp *w, const struct insn *pc, enum finding_kind kind);
void emu_make_finding(const struct warp *w, const struct insn *pc, int lane, enum finding_kind kind,
                      const char *object, int64_t index, const char *other, const char *text,
                      struct result_finding *out);
void emu_add_finding(struct emu *e, const struct result_finding *f);

/* ---- execution (warp.c) --------------------------------------------------------------------- */

enum slice_rc { SLICE_RAN, SLICE_WAITS, SLICE_DONE, SLICE_FAULT };
/* Runs a warp for at most `budget` instructions. */
enum slice_rc warp_run(struct warp *w, uint32_t budget);
/* Fills the registers of a new frame with launch->blank. */
void frame_poison(struct frame *fr, const struct launch *l);
/* Fills local memory of a new frame with launch->blank. */
void warp_poison(struct warp *w, const struct launch *l, uint32_t lanes, uint32_t from, uint32_t n);
int exec_exit(struct warp *w, const struct insn *in);
int exec_ret(struct warp *w, const struct insn *in);
int exec_unsupported(struct warp *w, const struct insn *in);
struct frame *frame_push(struct warp *w, struct code_func *f, uint32_t lanes);
void warp_release(struct warp *w);
/* call.c: copies the results of a call to the caller's variables. */
void call_return_values(struct warp *w, struct frame *callee, uint32_t lanes);
/* barrier.c: call it when these lanes have exited. Barriers that waited for them may be complete
 * now. */
void barrier_exited(struct warp *w, uint32_t lanes);
/* register_pool.c executes setmaxnreg. register_pool_at_start() computes launch->pool_regs. If a
 * warp of the block waits for registers, register_pool_waits() returns the warp and says in `why`
 * how many registers there are; else it returns NULL. */
int decode_setmaxnreg(struct decoder *d, const struct ptx_insn *p, struct insn *in);
uint32_t register_pool_at_start(const struct launch *l);
struct warp *register_pool_waits(const struct block *b, char *why, size_t n);
/* Returns a branch target: instruction number `index` of the function being decoded. */
const struct insn *dec_target(struct decoder *d, uint32_t index);
/* Splits the running fragment: the lanes in `taken` continue at `pc`, the others at the next
 * instruction. Returns EX_JUMP. */
int warp_branch(struct warp *w, uint32_t taken, const struct insn *pc);
int warp_call(struct warp *w, uint32_t lanes, struct frame *callee);
int warp_return(struct warp *w, uint32_t lanes);
void warp_exit_lanes(struct warp *w, uint32_t lanes);

/* ---- lanes that have exited (exits.c) ------------------------------------------------------- */

void exits_start(struct warp *w);
/* Notes that the active lanes have executed pc, an instruction at which threads meet. */
void exits_met(struct warp *w, enum exits_kind kind, const struct insn *pc);
void exits_left(struct warp *w, uint32_t lanes, const struct insn *pc);
/* Returns those of `lanes` that have exited and went past an instruction without executing it,
 * though they did work that comes after it. `place` is exits_place() of the instruction. */
uint32_t exits_past(struct warp *w, uint32_t lanes, enum exits_kind kind, uint32_t place);
uint32_t exits_place(const struct warp *w, const struct insn *pc);
/* Returns whether the instruction at place `since` comes after the one at place `at`, and no loop
 * leads back. */
bool exits_beyond(struct launch *l, uint32_t since, uint32_t at);
/* Returns the lanes with which the warp started. The last warp of a block may have fewer than
 * 32. */
uint32_t warp_lanes(const struct warp *w);

/* ---- the sanitizer's state per block (order.c) ---------------------------------------------- */

/* undefined.c: call it before each instruction of a warp with marked registers (registers that hold
 * undefined bits). */
void undef_step(struct warp *w, const struct insn *pc);
/* undefined.c: call it in a shuffle, vote, match or reduction of a warp with marked registers, when
 * all lanes have arrived. from[i] are the lanes whose values lane i gets. */
void undef_exchange(struct warp *w, const struct insn *pc, const uint32_t from[WARP]);
/* undefined.c: notes that the results of a shuffle are undefined in these lanes. Returns false if
 * the caller must report this now, true if undefined.c reports it at the first use of a result. */
bool undef_absent(struct warp *w, const struct insn *pc, uint32_t lanes, const char *text);

/* A matrix instruction moves rows of memory to and from the registers of many lanes. It accesses
 * each row in segments of at most 64 bytes. While it does, warp.matrix says which segment the warp
 * accesses, and undefined.c notes the undefined bytes of each segment. */
struct matrix_access {
    uint32_t segment;
    uint64_t undefined; /* bit p: segment p has undefined bytes, and at[p] is valid */
    struct matrix_segment {
        uint64_t bytes;   /* bit k: byte k is undefined */
        uint32_t origins; /* bit i: undef.read[i] (undefined.c) made some of them */
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
/* Call it when the operands of a matrix product (wgmma) of this warp are checked. Returns the
 * product's clock, for san_product_done(). */
uint32_t san_product(struct warp *w);
/* Call it when w has waited for the product of `warp` with clock t. From then on w may overwrite
 * the product's operands. */
void san_product_done(struct warp *w, uint32_t warp, uint32_t t);
/* Call it when the warp leaves a barrier of the whole block. */
void san_barrier_full(struct warp *w, const void *key);
/* Call it when lanes of the warp exit. Their accesses are ordered before the barriers that complete
 * from now on: call san_exits_release for each of these barriers, before the barrier's phase
 * changes. */
void san_exit(struct warp *w);
void san_exits_release(struct block *b, const void *key);
void san_launch_begin(struct launch *l);
void san_launch_end(struct launch *l);
void san_unwritten(struct emu *e); /* records a finding for each output left unwritten */
/* suspects.c (suspects.h explains the two runs): suspects_follow() begins the second run, and
 * returns false if there is no suspect. suspects_settle() adds the findings and notes that the
 * second run left open. */
void suspects_open(struct launch *l);
void suspects_close(struct launch *l);
bool suspects_follow(struct launch *l);
void suspects_settle(struct launch *l);
void san_block_create(struct block *b);
void san_block_start(struct block *b);
void san_block_end(struct block *b); /* call it when the block's last warp is done */
void san_block_destroy(struct block *b);

/* ---- counters (count.c) and the cost model (model.c) ---------------------------------------- */

struct insn_count {
    uint64_t warps, threads; /* executions by warps; executions by threads */
    uint64_t sectors;        /* shared memory: wavefronts; other memory: 32-byte sectors moved */
    uint64_t bytes;          /* bytes that the threads asked for */
    uint64_t extra;          /* shared memory: wavefronts beyond the ideal number */
    /* shared memory: executions that were merged into another instruction */
    uint64_t merged;
    uint64_t lines;    /* global memory: 128-byte lines that each access touched, added up */
    uint64_t fresh;    /* global loads: sectors that the block had not used before */
    uint64_t waits[2]; /* how often a warp waited for a load; index PEND_... */
};

/* The registers of a warp that wait for loads under way. PEND_GLOBAL stands for global loads,
 * PEND_SHARED for shared loads and shuffles. */
enum { PEND_GLOBAL, PEND_SHARED };
struct pending {
    bool any[2];
    /* One pass through a region of code issues all loads of one level together. level: the highest
     * level of the loads under way; waited: the highest level for which the warp waited in this
     * pass. */
    uint8_t level[2], waited[2];
    bool stored; /* whether this pass stored to global memory: later loads cannot move before that
                    store */
    uint32_t words;
    uint64_t *bits[2]; /* one bit for each 64 bytes of the frame */
    uint32_t clock;    /* number of sectors that this warp has used */
    uint64_t slowest;  /* address of a load under way that is new to the block; 0 if none is new */
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
/* Notes whether the warp would wait here for a load, and which registers this instruction loads. */
void count_waits(struct warp *w, const struct insn *pc);
void count_start(struct warp *w);
/* reuse.c: gives a new block an empty set of sectors. reuse_free() frees the set. */
void reuse_start(struct block *b);
void reuse_free(struct block *b);
/* Notes that the warp uses a sector. Returns whether the sector is new to the block. If the sector
 * is not new and the L1 may serve it, counts how many sectors the block used since it last used
 * this sector. */
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
/* Estimates how long the host took for the counted clusters, in plain warp instructions. The
 * estimate depends on the counts alone, so it is the same in every run. */
double count_cost(const struct launch *l);
/* Adds the counts of the host thread to those of the launch. Frees the counts of the host thread.
 */
void count_collect(struct launch *l, struct worker_state *ws);
/* hot.c: hot_note() notes an atomic access of a warp to global memory. hot_work() computes
 * same_word, same_piece and pieces of struct work from these notes. */
void hot_note(struct warp *w, const uint64_t *addr);
void hot_work(struct launch *l, struct work *w, double scale);
void hot_free(struct launch *l);
/* Turns the collected counts into counters of the device, and a modelled time. */
void count_to_counters(struct launch *l);
/* Adds a memset or a copy, called `name`, to the time and the counters of the call. */
void count_transfer(struct emu *e, const char *name, uint64_t read_bytes, uint64_t written_bytes);

/* The work of a launch, scaled to the whole grid: the cost model's input. */
struct work {
    /* instructions by kind, counted once per warp and once per thread */
    double warps[CK_COUNT], threads[CK_COUNT];
    double all_warps, all_threads;
    double instructions; /* instructions of the code that were executed at least once */
    double ld_sectors, st_sectors, ld_bytes, st_bytes; /* of global memory */
    /* 128-byte lines that each access touches, added up */
    double ld_lines, st_lines;
    double local_sectors;
    double fresh_sectors; /* the part of ld_sectors that the block had not used before */
    /* the sectors read again, in the buckets of struct reuse, and the mean distance of each
     * bucket */
    double again[REUSE_BUCKETS], since[REUSE_BUCKETS];
    double waits[2]; /* how often warps waited for loads: global, shared */
    /* waits[0] in three parts, by who had read the data before: nobody, another block, the block
     * itself */
    double waits_first, waits_common, waits_again;
    double footprint; /* distinct bytes of global memory that the launch touches */
    /* About memory that several blocks read: its bytes; how many sectors of it blocks read for the
     * first time; how many sectors of it blocks read again. */
    double common, common_sectors, common_again;
    /* wavefronts of shared memory: all, and those beyond the ideal number */
    double wavefronts, conflicts;
    double merged; /* shared accesses that were merged into another instruction */
    double shared_bytes;
    double tensor[4]; /* tensor-core operations by type: f16 or bf16, tf32, 8-bit, f64 */
    double mma;       /* the part of `tensor` that single warps issue (mma), not warpgroups */
    double atomics, diverged, barriers;
    double issued;        /* instructions of machine code */
    double clocks;        /* clocks summed over warps, as if each ran alone */
    double float_atomics; /* the part of `atomics` that adds floats */
    /* Atomics on global memory (hot.c). same_word: how many atomics change the word that an average
     * atomic changes. same_piece: how many change the 512 bytes around that word, called a piece
     * here. pieces: how many pieces of 512 bytes atomics change. */
    double same_word, same_piece, pieces;
};
enum { TENSOR_F16, TENSOR_TF32, TENSOR_8BIT, TENSOR_F64 };

struct occupancy {
    uint32_t regs;     /* registers per thread, an estimate */
    uint32_t blocks;   /* blocks per SM */
    double share;      /* resident threads, as a share of the most that the SM can hold */
    const char *limit; /* the resource of which there is not enough for one more block */
};
void model_occupancy(const struct launch *l, struct occupancy *out);

struct model {
    double time_ns, launch_ns;
    /* the times of the bottlenecks (docs/emulator-cost.md), except for l1 and blocks */
    double dram_ns, l2_ns, issue_ns, shared_ns, tensor_ns, latency_ns, atomic_ns;
    double dram_bytes;
    const char *bound;   /* the bottleneck with the largest time */
    double lo_ns, hi_ns; /* for 80% of the measured kernels with this bound, the measured time lay
                            in the interval that lo_ns and hi_ns give (model_error.h) */
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
