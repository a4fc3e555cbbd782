/*
 * machine.h - the state of the emulated machine: the device, loaded code, a launch, host threads.
 *
 * All host threads share `struct emu` and the loaded code. While a launch runs, they change only
 * global memory, its shadow (sanitizer/state.h), atomic flags and sums, and what emu->lock guards.
 */
#ifndef EMU_CORE_MACHINE_H
#define EMU_CORE_MACHINE_H

#include "emu/core/core.h"
#include "job/lazy.h"

#define MAX_THREADS_PER_BLOCK 1024
#define MAX_WARPS 32
/* For the cost model, a sampled call runs this many clusters. If they are costly, it runs fewer,
 * but at least SAMPLE_LEAST. Small grids run whole. */
#define SAMPLE_CLUSTERS 48u
#define SAMPLE_LEAST 8u
/* If blocks are independent, these limit the host work of a sample, in units of count_cost(): in
 * all, and per nanosecond of the call's time limit. A costly sample gets fewer clusters. */
#define SAMPLE_COST 2e8
#define SAMPLE_COST_PER_NS 0.01
#define REUSE_BUCKETS 28u
#define MAX_FINDINGS 256
#define MAX_COUNTERS 4096
#define GUARD_BYTES 16384u /* least guard zone on each side of a buffer */
#define GUARD_PATTERN 0xa5
#define MAX_FRAME_BYTES (16u << 20)
#define SMEM_BASE 1024u   /* first shared address of a kernel */
#define SMEM_SCRATCH 512u /* cooperative groups use [SMEM_SCRATCH, SMEM_BASE) */
/* Local memory of each thread for functions that it calls. */
#define LOCAL_STACK_BYTES 8192u

/* ---- memory --------------------------------------------------------------------------------- */

/* Counts of 32-byte sectors that loads read (reuse.c): `fresh` were new to the block, `again` were
 * not. `waits` counts how often a warp waited for fresh sectors. */
struct alloc_reads {
    uint64_t fresh, again, waits;
};

/* The estimated share of a buffer's elements that blocks have written. `most` is `mean` plus four
 * standard errors. */
struct written_share {
    bool known; /* true if no block has run since the estimate */
    double mean, most;
};

struct alloc {
    uint64_t lo, hi;    /* the range [lo, hi), with guard zones */
    uint64_t addr, end; /* the range [addr, end), without them */
    char name[64];
    uint32_t elem_bytes;
    enum job_buffer_role role;
    bool is_global_var; /* for variables of a module, or the heap */
    bool dirty;         /* used since mem_clear_cells() */
    bool shadowed;      /* the buffer may hold unwritten bytes */
    struct lazy *lazy;  /* fills pieces on first touch, in a sampled call; or NULL */
    struct alloc_reads reads;
    /* In a sampled call, these say whether blocks accessed the buffer: `atomics` with atomics,
     * `loaded` with loads, `stored` with stores or atomics. */
    bool atomics, loaded;
    bool stored;
    bool copied; /* the host copied to it from a buffer that kernels may write */
    struct written_share share;
    /* The last store to this buffer in the order of the code. Valid during the launch. */
    const struct insn *store;
    /* Where `store` is. Valid after the launch too. */
    const char *store_kernel, *store_file;
    uint32_t store_line;
    uint32_t rank; /* 0 if the allocation is not a tensor */
    int64_t dims[8];
};

struct emu_mem {
    uint8_t *host;         /* host address of GLOBAL_BASE */
    uint64_t size;         /* bytes of the reserved range */
    struct alloc **allocs; /* sorted by address */
    size_t n;
    uint64_t used, limit; /* bytes in use, and the most that are allowed; without guard zones */
    /* a bit for each byte of global memory, set if the byte was written; NULL without sanitizer */
    uint8_t *init;
    uint8_t *touched; /* per 128 bytes: 1 if a counted launch used them */
    /* Who wrote and read each cell, and when (sanitizer/global.c). */
    uint32_t *writer, *reader;
    uint16_t *wtick, *rtick;
    uint32_t cell_shift; /* log2 of a cell's bytes (1, 2 or 4) */
};

int mem_init(struct emu_mem *m, uint64_t limit, bool shadow, struct err *err);
void mem_release(struct emu_mem *m);
struct alloc *mem_alloc(struct emu_mem *m, const struct device_alloc *spec, struct err *err);
void mem_free(struct emu_mem *m, struct alloc *a);
void mem_clear_cells(struct emu_mem *m, struct alloc *a);
/* Returns the allocation that holds addr, guard zones included, or NULL. */
struct alloc *mem_find(const struct emu_mem *m, uint64_t addr);
void mem_mark_init(struct emu_mem *m, uint64_t addr, uint64_t n, bool init);
void mem_copy_init(struct emu_mem *m, uint64_t to, uint64_t from, uint64_t n);
/* b, kind, seed: see lazy_init(). */
void mem_make_lazy(struct emu_mem *m, struct alloc *a, const struct job_buffer *b,
                   enum lazy_kind kind, uint64_t seed);
static inline uint8_t *mem_host(const struct emu_mem *m, uint64_t addr)
{
    return m->host + (addr - GLOBAL_BASE);
}

/* ---- code ----------------------------------------------------------------------------------- */

/* Estimates about ptxas's machine code (schedule.c). */
struct insn_schedule {
    /* At a region's first instruction: clocks of the region's longest chain of dependent
     * instructions, and how many machine instructions the region has. */
    float chain, issued;
    /* For a load: how many loads are in the longest chain of dependent loads that ends here. */
    uint8_t level;
    bool starts; /* a region begins at this instruction */
};

struct code_func {
    struct ptx_func *src;
    struct code *code;
    struct insn *insns;
    uint32_t n;
    uint32_t index;
    uint32_t frame_bytes;
    uint32_t local_bytes; /* rounded up */
    uint32_t local_size;  /* not rounded up */
    /* For a .func: bytes per lane of its parameters, results and .param variables. */
    uint32_t param_bytes;
    uint32_t regs_live;   /* most 32-bit registers alive at once */
    uint32_t smem_static; /* where a kernel's dynamic shared memory starts */
    uint32_t count_base;  /* place of the function's first instruction in a launch's counts */
    /* Bytes of the smallest access to shared and to global memory, 1 to 4. */
    uint8_t smem_bytes_min, gmem_bytes_min;
    bool decoded, has_calls;
    struct insn_schedule *schedule; /* per instruction, and one for the end */
};

struct code {
    struct ptx_module ptx;
    struct arena arena;
    struct emu *emu;
    struct code_func *funcs;
    uint32_t nfuncs;
    char *consts; /* the constant pool: each constant 32 times */
    uint32_t nconsts, cap_consts, const_bytes_used;
    uint32_t *const_hash;
    uint32_t const_hash_cap;
    uint8_t *const_bank;
    uint32_t const_bytes;
    struct alloc *heap;    /* for malloc(), or NULL */
    uint64_t heap_used;    /* changed atomically */
    struct alloc *grid_ws; /* barrier of cooperative grids, or NULL */
    struct alloc *globals; /* .global variables, or NULL */
    uint32_t ninsns;
    uint32_t smem_most;  /* end of the largest kernel's static shared memory */
    uint32_t smem_first; /* first valid shared address: SMEM_BASE or SMEM_SCRATCH */
};

/* Parses the PTX and places its variables. code_prepare() decodes it. */
enum result_status code_load(struct code **out, struct emu *e, const char *ptx, size_t len,
                             struct err *err);
void code_free(struct code *c);
/* Sets *ok to whether the module's variables hold their initial values. *which names a changed
 * one. */
int code_globals_intact(struct code *c, bool *ok, const char **which, struct err *err);
/* Decodes a function and those that it may call. */
enum result_status code_prepare(struct code *c, struct code_func *f, struct err *err);
struct code_func *code_find(struct code *c, const char *name);
/* Gives dynamic shared memory its address, and sets entry->smem_static to that address. Call it
 * before code_prepare(). */
void code_place_dynamic(struct code *c, struct code_func *entry);
#define HEAP_BYTES (8u << 20)
/* A function's address is above FUNC_BASE. code_from_addr() returns NULL for other addresses. */
#define FUNC_BASE (5ull << 40)
struct code_func *code_from_addr(struct code *c, uint64_t addr);
const struct ptx_insn *insn_src(const struct warp *w, const struct insn *pc);

void merge_shared(struct code_func *cf);
void schedule_code(struct code_func *cf);
struct reg_plan {
    uint32_t *offset; /* for each register: its offset in the frame, in bytes */
    uint32_t frame_bytes;
    uint32_t *rank;  /* for each instruction: the rank of its basic block (flow.h) */
    uint8_t *leader; /* for each instruction: 1 if it starts a basic block */
    uint32_t regs_live;
};
bool regs_result_is_read(const struct ptx_func *f, const struct ptx_insn *p);
int regs_plan(struct reg_plan *out, const struct ptx_func *f, struct arena *a, struct err *err);
/* Offsets in a frame, in bytes. A sink takes results that PTX writes to `_`. */
#define SINK_OFF 0u /* for numbers, 512 bytes */
#define SINK_PRED_OFF 512u
#define CC_OFF 516u /* carry flags */
#define FRAME_HEAD 576u

/* Special registers of a warp and of a block. Each is 32 x u32. */
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
    /* These differ between blocks. */
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

/* Counts reads of sectors that the block had used before (reuse.c). The distance of such a read is
 * how many sectors the block used since it last used this one. launch.again[k] is for distances
 * from 2^k to 2^(k+1) - 1: `sectors` counts the reads, and `since` adds up their distances. */
struct reuse {
    uint64_t sectors, since;
};

/* Bytes of an input as they were before the kernel wrote to them by mistake. */
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
    uint32_t smem_static; /* SMEM_BASE + static shared memory */
    uint32_t smem_bytes;  /* smem_static + dynamic shared memory */
    uint32_t regs;        /* per thread, from the compiler; 0 if unknown */
    uint32_t spills;      /* bytes per thread */
    /* Registers per thread at the start of a block; 0 without setmaxnreg (register_pool.c). */
    uint32_t pool_regs;
    uint8_t *params;
    uint32_t param_bytes;
    uint32_t local_bytes; /* per thread */
    bool cooperative;
    uint64_t grid_ws;
    bool sanitize, count;
    uint32_t sms;
    uint64_t seed;
    /* Limits for all host threads together: CPU time and warp instructions. 0: none. */
    uint64_t cpu_limit_ns;
    uint64_t max_steps;
    /* A host thread holds a cluster from its start to its end. */
    uint32_t most_held; /* most clusters that all host threads together may hold */
    uint32_t resident;  /* most clusters that each host thread may hold */
    /* Host threads share the members from here on. "Atomic" ones need no lock. */
    uint32_t next_cluster; /* next place in `order`; atomic */
    /* Finds clusters that repeat their state for ever (warp_sched.c). Guarded by emu->lock. */
    struct {
        uint32_t held;      /* clusters held now */
        uint32_t most;      /* limit of `held` */
        uint32_t cycling;   /* held clusters that repeat their state */
        uint32_t confirmed; /* of these, those that did so again since `epoch` changed */
        uint32_t epoch;     /* counts changes of `held` and `cycling` */
    } spin;
    int stop;       /* atomic */
    bool parallel;  /* several host threads, with the sanitizer */
    bool serial;    /* the order of blocks matters, so only one host thread runs */
    int over_limit; /* ran past a limit, so clusters may be missing; atomic */
    bool extra;     /* runs more clusters for verification; these may run past a limit */
    /* Several host threads met a conflict, a finding or a fault, so the launch must run again
     * (settle.c). Atomic. */
    int redo;
    bool keep_undo;
    VEC(struct undo_write) undo; /* guarded by emu->lock */
    /* Sums over the host threads. Atomic. */
    uint64_t steps;
    uint64_t cpu_ns;
    enum result_status status;
    char message[2048];
    uint32_t smem_shift, gmem_shift; /* log2 of a sanitizer cell's bytes */
    /* Cached answers of went_past() in exits.c. Guarded by emu->lock. */
    struct went_past {
        uint32_t since, at, exit;
        bool answer;
    } past[32];
    struct gsync *gsync;       /* block_order.c */
    int gsync_used;            /* a block published something (block_order.c); atomic */
    struct suspects *suspects; /* suspects.h */
    bool turned;               /* run clusters in the order of reverse_in_wave() */
    uint8_t blank;             /* initial byte of registers and local memory */
    uint32_t nsample;          /* count only the first nsample of `order`; 0: all */
    uint32_t *order;           /* clusters to run; NULL: 0, 1, 2 ... */
    bool alone;                /* no block depends on another */
    uint32_t nran;
    /* order[chosen..chosen_end) were chosen because they are at the grid's edges. */
    uint32_t chosen, chosen_end;
    uint32_t wave_end;           /* the present wave ends at this place in `order` */
    struct cluster_trace *trace; /* one per place in `order`, in a sampled call; else NULL */
    uint64_t pieces_before;      /* filled pieces when the launch began */
    double cost;                 /* count_cost() of the counted clusters */
    struct insn_count *total;
    uint64_t diverged;
    struct hot_words *hot; /* words that atomics changed (hot.c); guarded by emu->lock */
    struct reuse again[REUSE_BUCKETS]; /* atomic */
    uint64_t waits_again; /* waits for sectors that the block had used before; atomic */
};

enum { TRACE_PLACES = 2 };
struct cluster_trace {
    uint64_t bytes;
    /* Addresses of output elements that the cluster wrote; 0 = none. They are drawn so that each
     * store of the cluster to an output is equally likely to be here. */
    uint64_t addr[TRACE_PLACES];
    uint32_t linear;
};

struct worker_state {
    struct launch *l;
    uint32_t index;
    uint64_t rng;
    struct alloc *last;   /* what mem_find() found last */
    uint64_t steps, told; /* instructions executed; how many of them launch->steps includes */
    uint64_t cpu_told;    /* CPU time that launch->cpu_ns includes */
    uint64_t look_ns;     /* when to read the CPU clock */
    struct insn_count *counts;
    uint64_t diverged;
    struct crew *crew; /* threads to start when there is enough work */
};

/* Host threads that run a wave: a range of places in launch.order. */
struct crew {
    void *(*run)(void *ws);
    struct worker_state *ws;
    pthread_t *threads;
    uint32_t n, started;
};

/* Runs the launch and makes its counters. If l->order is set, runs only its first l->nsample
 * clusters. If l->alone is set too, may lower l->nsample (SAMPLE_COST). */
enum result_status launch_run(struct launch *l, uint32_t nthreads, struct err *err);
/* settle.c: like launch_run(), but the order of the host threads does not change the outcome. */
enum result_status launch_settle(struct launch *l, uint32_t nthreads, struct err *err);
/* Call it after launch_run(). Runs order[nran..end) without counting. If they run past a limit,
 * sets over_limit and returns RESULT_OK. */
enum result_status launch_run_more(struct launch *l, uint32_t nthreads, uint32_t end,
                                   struct err *err);

/* ---- the device ----------------------------------------------------------------------------- */

struct seen_finding {
    const struct insn *pc;
    enum finding_kind kind;
    size_t index;
};

struct emu {
    struct device dev;
    const struct job *job;
    struct emu_mem mem;
    struct arena strings;
    /* Guards findings, seen, unwritten_lines, printf_text, and members of struct launch. */
    pthread_mutex_t lock;
    struct finding_vec findings;
    /* Lines on which reads of unwritten memory are reported even if there is a race (suspects.h).
     * 0: free. */
    uint32_t unwritten_lines[16];
    struct seen_finding seen[64];
    struct counter_vec counters;
    struct strbuf printf_text;
    uint64_t launches, steps_last;
    uint64_t launches_of_call;
    /* The clock that kernels read: warp instructions of earlier launches, plus 1000 for each
     * launch, memset and copy. */
    uint64_t clock;
    char last_kernel[256];
    uint32_t nthreads;
    bool sanitize, counting, sampling, timing;
    bool turned; /* a repetition of the last call */
    /* The worker verifies this sampled call, so blocks outside the counted sample run too. */
    bool verifying;
    double verify_left;   /* host work left for these blocks */
    uint32_t ran_in_part; /* launches of this call that ran only some blocks */
    bool in_part_alone;   /* the blocks of the last such launch are independent */
    bool stored_after;    /* a store came after a launch that ran only some blocks */
    /* An upper bound, for the last such launch: bytes that all blocks would store, divided by the
     * bytes that the blocks that ran stored. */
    double in_part_scale;
    uint64_t blocks, blocks_ran;
    VEC(struct cluster_trace) traces;
    /* Modelled time since timing began, and the likely interval of the true time. */
    double model_ns, model_lo_ns, model_hi_ns;
};

/* findings.c: for findings that we record some time after we see them. If this instruction has a
 * finding of this kind, emu_finding_seen() counts a repeat and returns true. */
bool emu_finding_seen(struct warp *w, const struct insn *pc, enum finding_kind kind);
void emu_make_finding(const struct warp *w, const struct insn *pc, int lane, enum finding_kind kind,
                      const char *object, int64_t index, const char *other, const char *text,
                      struct result_finding *out);
void emu_add_finding(struct emu *e, const struct result_finding *f);

/* ---- execution (warp.c) --------------------------------------------------------------------- */

enum slice_rc {
    SLICE_RAN,
    SLICE_WAITS, /* the warp could not execute any instruction */
    SLICE_DONE,
    SLICE_FAULT
};
/* Runs at most `budget` instructions of a warp: a slice. */
enum slice_rc warp_run(struct warp *w, uint32_t budget);
/* These functions write launch->blank: frame_poison() to a frame's registers, warp_poison() to
 * bytes [from, from + n) of the lanes' local memory. */
void frame_poison(struct frame *fr, const struct launch *l);
void warp_poison(struct warp *w, const struct launch *l, uint32_t lanes, uint32_t from, uint32_t n);
int exec_exit(struct warp *w, const struct insn *in);
int exec_ret(struct warp *w, const struct insn *in);
int exec_unsupported(struct warp *w, const struct insn *in);
struct frame *frame_push(struct warp *w, struct code_func *f, uint32_t lanes);
void warp_release(struct warp *w);
void call_return_values(struct warp *w, struct frame *callee, uint32_t lanes);
/* barrier.c. Call it when these lanes have exited: barriers that waited only for them complete. */
void barrier_exited(struct warp *w, uint32_t lanes);
/* register_pool.c. register_pool_at_start() computes launch->pool_regs. register_pool_waits()
 * returns a warp that waits for registers and says why, or returns NULL. */
int decode_setmaxnreg(struct decoder *d, const struct ptx_insn *p, struct insn *in);
uint32_t register_pool_at_start(const struct launch *l);
struct warp *register_pool_waits(const struct block *b, char *why, size_t n);
const struct insn *dec_target(struct decoder *d, uint32_t index);
/* Splits the running fragment: lanes in `taken` go on at `pc`, the others at the next instruction.
 * Returns EX_JUMP. */
int warp_branch(struct warp *w, uint32_t taken, const struct insn *pc);
int warp_call(struct warp *w, uint32_t lanes, struct frame *callee);
int warp_return(struct warp *w, uint32_t lanes);
void warp_exit_lanes(struct warp *w, uint32_t lanes);

/* ---- lanes that have exited (exits.c) ------------------------------------------------------- */

void exits_start(struct warp *w);
/* Notes that these lanes have executed pc, at which threads meet. */
void exits_met(struct warp *w, enum exits_kind kind, uint32_t lanes, const struct insn *pc);
void exits_left(struct warp *w, uint32_t lanes, const struct insn *pc);
/* Returns those of `lanes` that exited and went around the instruction at `place`: they executed
 * code after it, but not the instruction. */
uint32_t exits_past(struct warp *w, uint32_t lanes, enum exits_kind kind, uint32_t place);
uint32_t exits_place(const struct warp *w, const struct insn *pc);
/* Returns whether `since` comes after `at` in the code, and no loop leads back to `at`. */
bool exits_beyond(struct launch *l, uint32_t since, uint32_t at);
/* Returns whether two instructions of the running function lie in two branches of a condition. */
bool exits_in_two_branches(const struct warp *w, const struct insn *a, const struct insn *b);
/* Returns the lanes with which the warp started. */
uint32_t warp_lanes(const struct warp *w);

/* ---- the sanitizer -------------------------------------------------------------------------- */

/* Hooks. undefined.c marks registers that have undefined bits. */

/* Call it before each instruction while warp.undef is set. */
void undef_step(struct warp *w, const struct insn *pc);
/* Call it for a shuffle, vote, match or reduction while warp.undef is set, when all lanes have
 * arrived. Lane i executes the instruction at[i], and gets values from the lanes in from[i]. */
void undef_exchange(struct warp *w, const struct insn *const at[WARP], const uint32_t from[WARP]);
/* Call it when the results of shuffle `pc` are undefined in these lanes. If it returns true,
 * undefined.c will report `text` when the kernel first uses a result. If it returns false, the
 * caller must report the shuffle. */
bool undef_absent(struct warp *w, const struct insn *pc, uint32_t lanes, const char *text);

/* Notes which bytes are undefined in the memory that a matrix instruction accesses. It accesses
 * memory in segments of at most 64 bytes. */
struct matrix_access {
    uint32_t segment;   /* the segment that the instruction accesses at the moment */
    uint64_t undefined; /* bit p: at[p] has undefined bytes */
    struct matrix_segment {
        uint64_t bytes;   /* bit k: byte k is undefined */
        uint32_t origins; /* bit i: undef.read[i] made some of these bytes */
    } at[64];
};
/* undef_bits() returns a register's undefined bits in a lane, and adds their origins to *origins.
 * undef_mark() sets both. undef_store_segment() notes a matrix store's undefined bytes, or reports
 * them if this memory must not hold any. */
uint64_t undef_bits(const struct warp *w, const struct ptx_opnd *o, uint32_t lane,
                    uint32_t *origins);
void undef_mark(struct warp *w, const struct ptx_opnd *o, uint32_t lane, uint64_t bits,
                uint32_t origins);
void undef_store_segment(struct warp *w, enum ptx_space sp, uint64_t addr, uint64_t bytes,
                         uint32_t origins);
void san_warp_sync(struct warp *w, uint32_t mask);
/* Call it at a fence. Scope 0: block, 1: cluster, 2: device. */
void san_fence(struct warp *w, uint32_t scope);
/* Call it when the warp issues a wgmma. Returns its stamp (sanitizer/state.h). */
uint32_t san_product(struct warp *w);
/* Call it when w has waited for the wgmma that warp number `warp` issued with stamp t. */
void san_product_done(struct warp *w, uint32_t warp, uint32_t t);
/* Call it when the warp leaves a barrier of the whole block. */
void san_barrier_full(struct warp *w, const void *key);
void san_exit(struct warp *w);
/* Call it before a barrier of the whole block or cluster changes its phase. Accesses of exited
 * lanes then count as made before it. */
void san_exits_release(struct block *b, const void *key);
void san_launch_begin(struct launch *l);
void san_launch_end(struct launch *l);
/* Reports outputs with unwritten bytes. */
void san_unwritten(struct emu *e);
/* suspects.c. Call suspects_open() before the first run. suspects_follow() begins a second run, or
 * returns false if none is needed. suspects_settle() then decides which races become findings. */
void suspects_open(struct launch *l);
void suspects_close(struct launch *l);
bool suspects_follow(struct launch *l);
void suspects_settle(struct launch *l);
void san_block_create(struct block *b);
void san_block_start(struct block *b);
void san_block_end(struct block *b); /* after its last warp has ended */
void san_block_destroy(struct block *b);

/* ---- counters (count.c) and the cost model (model.c) ---------------------------------------- */

struct insn_count {
    uint64_t warps, threads; /* executions by warps; by threads */
    /* 32-byte sectors moved. In shared memory: wavefronts, which are passes through the banks. */
    uint64_t sectors;
    uint64_t bytes;
    uint64_t extra;    /* shared memory: wavefronts beyond the ideal number */
    uint64_t merged;   /* shared memory: executions merged into another instruction */
    uint64_t lines;    /* global memory: 128-byte lines of each access, added up */
    uint64_t fresh;    /* global memory: sectors read that were new to the block */
    uint64_t waits[2]; /* how often a warp waited before the instruction, by PEND_... */
};

/* The loads in flight of a warp. PEND_SHARED stands for shared loads and shuffles. */
enum { PEND_GLOBAL, PEND_SHARED };
struct pending {
    bool any[2];
    /* A pass through a region issues all loads of one insn_schedule.level together. level: the
     * highest in flight. waited: the highest for which the warp has waited in this pass. */
    uint8_t level[2], waited[2];
    bool stored; /* this pass stored to global memory; later loads cannot move before the store */
    uint32_t words;
    uint64_t *bits[2]; /* one bit per 64 bytes of the frame that wait for a load */
    uint32_t clock;
    uint64_t slowest; /* address of a load in flight that reads a sector new to the block, or 0 */
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
/* Call it before pc. Notes whether the warp waits here for a load, and which registers pc loads. */
void count_waits(struct warp *w, const struct insn *pc);
void count_start(struct warp *w);
void reuse_start(struct block *b);
void reuse_free(struct block *b);
/* Returns whether the sector is new to the block. If it is not, and the L1 may serve it (by_l1),
 * counts the read in struct reuse. */
bool reuse_note(const struct warp *w, uint64_t sector, bool by_l1);
void reuse_loaded(struct warp *w, const struct insn *pc, uint64_t addr, uint32_t sectors,
                  uint32_t fresh);
void reuse_waited(struct warp *w);
static inline void uncount_insn(struct warp *w, const struct insn *pc, uint32_t mask)
{
    struct insn_count *c = count_at(w, pc);
    c->warps--;
    c->threads -= (uint32_t)__builtin_popcount(mask);
}

struct work;
struct insn_count *count_alloc(struct launch *l);
void count_begin(struct launch *l);
/* Estimates host work of the counted clusters, in plain warp instructions. It depends on the counts
 * alone, so it is the same in every run. */
double count_cost(const struct launch *l);
/* Adds the thread's counts to the launch's, and frees them. */
void count_collect(struct launch *l, struct worker_state *ws);
/* hot.c: notes atomics on global memory for hot_work(), which sets work.same_word and so on. */
void hot_note(struct warp *w, const uint64_t *addr);
void hot_work(struct launch *l, struct work *w, double scale);
void hot_free(struct launch *l);
void count_to_counters(struct launch *l);
void count_transfer(struct emu *e, const char *name, uint64_t read_bytes, uint64_t written_bytes);

/* The counts of a launch that the cost model uses, scaled to the whole grid. */
struct work {
    double warps[CK_COUNT], threads[CK_COUNT];
    double all_warps, all_threads;
    double instructions; /* instructions executed at least once */
    /* Global memory: sectors moved, bytes asked for, 128-byte lines. */
    double ld_sectors, st_sectors, ld_bytes, st_bytes;
    double ld_lines, st_lines;
    double local_sectors;
    double fresh_sectors;
    /* As struct reuse; `since` is the mean distance. */
    double again[REUSE_BUCKETS], since[REUSE_BUCKETS];
    double waits[2];
    /* Parts of waits[PEND_GLOBAL]: waits for data that no block had read, that another block had
     * read, and that the same block had read. */
    double waits_first, waits_common, waits_again;
    double footprint; /* distinct bytes */
    /* Memory that several blocks read: its bytes, reads of sectors new to the block, reads of
     * sectors that the block had used. */
    double common, common_sectors, common_again;
    double wavefronts, conflicts; /* shared memory: all; beyond the ideal number */
    double merged;
    double shared_bytes;
    double tensor[4]; /* by TENSOR_... */
    double mma;       /* the part of `tensor` that mma does, and not wgmma */
    double atomics, diverged, barriers;
    double issued;        /* machine instructions */
    double clocks;        /* sum over warps of the clocks that each would take alone */
    double float_atomics; /* part of `atomics` that adds floats */
    /* How many atomics change the same word as an average atomic, how many the same piece of 512
     * bytes, and how many pieces there are (hot.c). */
    double same_word, same_piece, pieces;
};
enum { TENSOR_F16, TENSOR_TF32, TENSOR_8BIT, TENSOR_F64 }; /* TENSOR_F16 includes bf16 */

struct occupancy {
    uint32_t regs;   /* per thread, an estimate */
    uint32_t blocks; /* how many blocks an SM holds at once */
    double share;
    const char *limit; /* what one more block lacks */
};
void model_occupancy(const struct launch *l, struct occupancy *out);

struct model {
    double time_ns, launch_ns;
    /* The bottlenecks of docs/emulator-cost.md, except `l1` and `blocks`. */
    double dram_ns, l2_ns, issue_ns, shared_ns, tensor_ns, latency_ns, atomic_ns;
    double dram_bytes;
    const char *bound; /* the largest bottleneck */
    /* Interval of the true time. It held for 80% of measured kernels with this bound
     * (model_error.h). */
    double lo_ns, hi_ns;
};
void model_time(const struct launch *l, const struct work *w, const struct occupancy *o,
                struct model *out);
/* Models a memset or copy of this many bytes. */
void model_transfer(const struct job_gpu *g, double bytes, struct model *out);

/* record.c: reads the inputs of model_time() from a line of text. Returns -1 if the line has an
 * unknown field. */
int record_get(const char *line, struct launch *l, struct work *w, struct occupancy *o);
/* Appends the launch to the file that HONE_MODEL_INPUTS names, if set. */
void record_launch(const struct launch *l, const struct work *w, const struct occupancy *o,
                   const struct model *m);

#endif
