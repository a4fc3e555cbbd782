/*
 * core.h - the data and functions that all parts of the emulator share: decoded instructions,
 * warps, blocks, memory, scheduling.
 *
 * From PTX to execution. Before the first launch of a kernel, decode.c gives each ptx_insn to the
 * decode function of its opcode. This function checks the instruction's form (modifiers, operands),
 * translates operands to *operand codes* and puts an exec function and its data into a struct insn.
 * If the decode function does not know the form, it returns 1 or calls dec_unsupported(). At run
 * time
 *
 *     int exec(struct warp *w, const struct insn *in)
 *
 * performs the instruction for the lanes in w->active and returns an enum exec_rc. The guard
 * predicate is already applied to w->active, which is never 0.
 *
 * Registers. A warp's registers are arrays of 32 lanes, one array per PTX register:
 *     .b8 .b16  uint16_t[32]      .b32  uint32_t[32]      .b64  uint64_t[32]
 *     .b128     __uint128_t[32]   .pred one uint32_t, bit i = lane i
 * An operand code is a 32-bit number: the top two bits choose a base (frame, constant pool, special
 * registers of the warp or of the block), the rest is a byte offset. The decoder stores each
 * immediate in the constant pool, once for each lane. So an exec function need not know what kind
 * of operand it has:
 *
 *     static int exec_add_f32(struct warp *w, const struct insn *in)
 *     {
 *         float *d = opnd(w, in->o[0]);
 *         const float *a = opnd(w, in->o[1]), *b = opnd(w, in->o[2]);
 *         FOR_LANES(i, w) d[i] = a[i] + b[i];       // or a plain loop if w->active == ~0u
 *         return EX_NEXT;
 *     }
 *
 * A sink `_` decodes to a scratch register, so exec functions write it like any other register.
 *
 * Convergence. A warp is a set of fragments. The lanes of a fragment have the same pc and frame.
 * The core merges fragments that reach the same place. An instruction marked INSN_ALIGNED needs all
 * live lanes (the lanes of the warp that have not exited) in one fragment, so the core waits for
 * missing lanes. If the missing lanes cannot come, the core reports barrier divergence and executes
 * the instruction without them. If no lane is missing, w->active holds all live lanes for which the
 * guard is true.
 *
 * Waiting. An exec function that cannot go on returns EX_WAIT *without having changed anything*;
 * the core calls it again after other warps have run. The warps of a cluster run in rounds; in a
 * round each warp runs once. When every warp of the cluster waits and async_idle() finds nothing to
 * complete, emu_stuck(w) is true for one round, so that mbarrier.try_wait can return false. If no
 * warp goes on for many rounds, the launch ends as a deadlock.
 *
 * Threads. One host thread runs all warps of a cluster. Host threads share global memory, so
 * atomics on it use __atomic builtins. Everything else in this file belongs to one host thread.
 */
#ifndef EMU_CORE_CORE_H
#define EMU_CORE_CORE_H

#include <pthread.h>

#include "base/strbuf.h"
#include "base/util.h"
#include "device/device.h"
#include "emu/ptx/ptx.h"
#include "job/result.h"

typedef unsigned __int128 u128;

#define WARP 32
#define FULL 0xffffffffu
#define FOR_LANES(i, w)                                                                       \
    for (uint32_t m_##i = (w)->active, i; m_##i && ((i = (uint32_t)__builtin_ctz(m_##i)), 1); \
         m_##i &= m_##i - 1)

struct warp;
struct block;
struct cluster;
struct launch;
struct insn;
struct emu;
struct code;

enum exec_rc {
    EX_NEXT,    /* done: go on with the next instruction */
    EX_JUMP,    /* exec has set the fragment's pc; only for branches, calls and returns */
    EX_YIELD,   /* done, but other warps should run first (nanosleep, a try_wait that fails) */
    EX_WAIT,    /* not done, and nothing changed: the core calls exec again later */
    EX_ARRIVED, /* as EX_WAIT, but now other warps may be able to go on; only for barriers */
    EX_EXIT,    /* the active lanes have exited */
    EX_FAULT    /* exec has called emu_fault(), so the launch ends */
};
typedef int (*exec_fn)(struct warp *w, const struct insn *in);

enum insn_flags {
    INSN_GUARD = 1,     /* has a guard predicate: @p */
    INSN_GUARD_NEG = 2, /* the guard is negated: @!p */
    INSN_ALIGNED = 4,   /* needs all live lanes of the warp in one fragment */
    /* A wgmma, which still uses its registers after it was issued. No other register may share
     * their place in the frame. */
    INSN_PIN = 8,
    INSN_BRANCH = 16,   /* ends a basic block */
    INSN_SYNCWARP = 32, /* waits for the lanes that its mask names (shfl, vote, bar.warp) */
    INSN_LEADER = 64,   /* starts a basic block */
    INSN_COMBINES = 128 /* combines the values of all lanes that its mask names (vote, redux) */
};

/* The class under which the counters count an instruction. */
enum count_kind {
    CK_OTHER,
    CK_INT,
    CK_FP32,
    CK_FP64,
    CK_HALF,
    CK_SFU,
    CK_CVT,
    CK_MOVE,
    CK_PRED,
    CK_BRANCH,
    CK_BARRIER,
    CK_SHUFFLE,
    CK_LD_GLOBAL,
    CK_ST_GLOBAL,
    CK_LD_SHARED,
    CK_ST_SHARED,
    CK_LD_LOCAL,
    CK_ST_LOCAL,
    CK_LD_CONST,
    CK_ATOMIC,
    CK_ASYNC_COPY,
    CK_TENSOR,
    CK_FENCE,
    CK_COUNT
};

#define OPND_FRAME 0u
#define OPND_CONST (1u << 30)
#define OPND_WARP (2u << 30)  /* special registers of the warp: %tid, %warpid */
#define OPND_BLOCK (3u << 30) /* special registers of the block: %ctaid, %ntid */
#define OPND_OFF 0x3fffffffu
/* A plain number in the place of an operand code, marked so that no code reads it as a register. */
#define OPND_NUMBER(n) (OPND_CONST | (n))

struct insn {
    exec_fn exec;
    uint32_t o[5];  /* operand codes, the destination first */
    uint32_t guard; /* if INSN_GUARD is set: operand code of the predicate */
    uint16_t nv;    /* number of operands in v */
    uint8_t flags;  /* enum insn_flags */
    uint8_t kind;   /* enum count_kind */
    uint8_t sub[4]; /* small numbers that the decoder leaves for exec, such as type and rounding */
    uint32_t rank;  /* rank of its basic block (flow.h) */
    const uint32_t *v;   /* operand codes of vector operands, if any */
    int64_t imm;         /* a number for exec, such as an address offset or an immediate */
    const void *aux;     /* further data that the decoder leaves for exec, in the module's arena */
    uint32_t src;        /* index of the ptx_insn that was decoded */
    uint32_t tensor_ops; /* if kind is CK_TENSOR: operations per execution, which is 2*m*n*k */
};

/* ---- decoding ------------------------------------------------------------------------------- */

struct decoder {
    struct emu *emu;
    struct code *code;
    struct ptx_module *ptx;
    struct ptx_func *func;
    struct err *err;
    enum result_status status; /* after a failure: RESULT_UNSUPPORTED or RESULT_LOAD_FAILED */
    struct fdecode *f;         /* private to decode.c */
};
typedef int (*decode_fn)(struct decoder *d, const struct ptx_insn *p, struct insn *in);
struct decode_entry {
    const char *op;
    decode_fn fn;
};
/* The tables of decode functions, each ended by {NULL, NULL}. A decode function returns 0 when
 * done, -1 after dec_unsupported() or dec_bad(), and 1 if it does not know this form. After 1 the
 * core tries the next row with this opcode, which may be in another table. */
extern const struct decode_entry decode_alu_ops[], decode_video_ops[], decode_bit_ops[],
    decode_warp_ops[], decode_call_ops[], decode_fp_ops[], decode_half_ops[], decode_cvt_ops[],
    decode_mem_ops[], decode_flow_ops[], decode_sync_ops[], decode_misc_ops[], decode_int_ops[],
    decode_atom_ops[], decode_tensor_ops[], decode_async_ops[];

/* dec_unsupported() sets the error "unsupported: <text> at file:line". dec_bad() sets the error
 * "bad instruction ...". Both return -1. */
int dec_unsupported(struct decoder *d, const struct ptx_insn *p);
int dec_bad(struct decoder *d, const struct ptx_insn *p, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* dec_dst and dec_src set *out to an operand code. For dec_dst, `bits` is the width that the
 * instruction writes: 1 (predicate), 16, 32, 64 or 128. dec_src takes the width from `t`. A
 * register of another width is an error. dec_src also accepts special registers, symbols, and
 * immediates, which it reads as values of type `t`. */
int dec_dst(struct decoder *d, const struct ptx_insn *p, const struct ptx_opnd *o, uint32_t bits,
            uint32_t *out);
int dec_src(struct decoder *d, const struct ptx_insn *p, const struct ptx_opnd *o, enum ptx_type t,
            uint32_t *out);
/* Decodes a predicate that the instruction reads. Sets *neg to whether the predicate is negated. */
int dec_pred(struct decoder *d, const struct ptx_insn *p, const struct ptx_opnd *o, uint32_t *out,
             bool *neg);
/* Decodes an address [reg+imm], [sym+imm] or [imm]. *base is an operand code whose lanes are
 * *base_bits (32 or 64) wide, and *off is the offset to add. For a variable of the frame (.local,
 * or .param of a function) *base_bits is 0 and *off is relative to the frame. */
int dec_addr(struct decoder *d, const struct ptx_insn *p, const struct ptx_opnd *o,
             enum ptx_space sp, uint32_t *base, uint32_t *base_bits, int64_t *off);
/* Decodes a vector operand {..} or a single operand. Writes its operand codes to out[], at most
 * `max`, and their number to *n. */
int dec_vec(struct decoder *d, const struct ptx_insn *p, const struct ptx_opnd *o, uint32_t bits,
            bool is_dst, uint32_t *out, uint32_t max, uint32_t *n);
/* Returns the width of a register operand, or 0 if the operand is not a register. */
uint32_t dec_reg_bits(const struct ptx_opnd *o);
/* Returns memory that lives as long as the module. */
void *dec_alloc(struct decoder *d, size_t n);
/* Copies operand codes to in->v. */
void dec_set_v(struct decoder *d, struct insn *in, const uint32_t *codes, uint32_t n);

/* ---- execution state ------------------------------------------------------------------------ */

/* One activation of a function, shared by the lanes that called the function together. */
struct frame {
    char *regs;
    struct code_func *func;
    struct frame *caller;
    const struct insn *ret_pc;      /* the instruction at which the caller goes on */
    uint32_t mask;                  /* lanes that have not returned yet */
    uint32_t depth;                 /* how many calls lead to this frame; 0 in the kernel's frame */
    uint32_t local_base, local_top; /* this frame's part of each lane's local memory */
    char *params;                   /* [WARP][func->param_bytes] */
    const struct insn *call;        /* the call instruction, which says where the results go */
};

/* Lanes of a warp that are at the same instruction in the same frame. */
struct fragment {
    uint32_t mask; /* the lanes */
    const struct insn *pc;
    struct frame *frame;
    uint32_t phase; /* if `arrived`: the phase that the barrier had when the fragment arrived */
    /* 1 if the fragment has arrived at a barrier. It merges with no other fragment until the
     * barrier lets it go. */
    uint8_t arrived;
    uint8_t waiting; /* 1 if the fragment had to wait in the present call of warp_run() */
    uint32_t ran;    /* the value of warp.slices when the fragment last gave up its turn, or 0 */
};

/* The kinds of instructions at which threads meet: barriers of the block, and warp-wide
 * instructions (shuffles, votes and the like). */
enum exits_kind { EXITS_BARRIER, EXITS_WARP, EXITS_KINDS };

struct warp {
    /* The bases of operand codes: the frame, the constants, the special registers of the warp, and
     * those of the block. */
    char *base[4];
    uint32_t active; /* lanes that execute this instruction: those for which the guard is true */
    uint32_t mask;   /* lanes of the running fragment */
    uint32_t live;   /* lanes that have not exited */
    struct frame *frame;
    struct block *block;
    struct launch *launch;
    char *local; /* [WARP][launch->local_bytes] */
    struct fragment frags[WARP];
    uint32_t nfrags, cur;         /* number of fragments; index of the running fragment */
    uint32_t id;                  /* number of the warp in the block */
    uint64_t steps;               /* warp instructions executed */
    struct undef *undef;          /* set while registers hold undefined bits (undefined.c) */
    struct matrix_access *matrix; /* set while a matrix instruction accesses memory (machine.h) */
    struct warp_watch *watch;     /* set while a wgmma in flight uses registers (warpgroup.c) */
    struct warp_async *async;     /* the warp's groups of cp.async and of wgmma (async.h) */
    struct warp_san *san;         /* the sanitizer's state (sanitizer/state.h), or NULL */
    const struct insn *pc;        /* the instruction being executed */
    struct insn_count *counts;    /* the host thread's counts, or NULL if nothing is counted */
    struct pending *pending;      /* the loads under way; set if `counts` is set */
    struct frame *frame0;         /* the frame of the kernel itself */
    uint32_t slices;              /* how often a fragment of the warp has given up its turn */
    uint32_t diverged;            /* number of branches that split a fragment */
    uint32_t cluster_arrived; /* lanes that arrived at barrier.cluster and have not waited yet */
    uint32_t cluster_phase;   /* the barrier's phase at that arrival */
    uint64_t barriers, syncwarps; /* how many barriers and warp-wide syncs it has executed */
    uint64_t call_bytes;          /* bytes of the frames of calls that have not returned */
    /* Counts strong loads (MEM_STRONG) and atomics. If a jump follows more than a few of them, the
     * warp may be waiting in a loop. Then run() in warp.c ends the warp's turn and sets this count
     * to 0. */
    uint32_t strong;
    /* Set by exits.c if the sanitizer is on. exit_at: where each lane exited. met: where each lane
     * last met other threads. */
    uint32_t exit_at[WARP], met[EXITS_KINDS][WARP];
    /* True if the last call of warp_run() ended while other fragments waited for their turn. */
    bool unfair;
    /* For register_pool.c. regs: registers of each thread. regs_wanted: the count for which
     * setmaxnreg.inc waits, or 0. */
    uint32_t regs, regs_wanted;
};

struct barrier {
    uint32_t expected; /* number of threads for which the barrier waits; 0 means the whole block */
    /* Number of threads that arrived. A warp whose live lanes arrive together counts as 32. */
    uint32_t arrived;
    uint32_t threads; /* number of threads that arrived, counted one by one */
    uint32_t phase;   /* how often the barrier has completed */
    /* For barrier.red. red_and, red_or and red_popc combine the predicates of the threads that
     * arrived in this phase. result[] holds the three results (popc, and, or) of the phase that
     * completed last. */
    uint32_t red_and, red_or, red_popc, result[3];
    bool red_init;
    /* The arrival of the lowest-numbered warp in this phase. Findings about the barrier name it. */
    struct {
        struct warp *warp;
        struct frame *frame;
        const struct insn *pc;
        uint32_t lane;
    } at;
    /* The barrier instructions at which threads arrived in this phase. */
    struct barrier_place {
        uint32_t place, threads; /* exits_place() of the instruction; how many threads arrived */
        /* How the first warp arrived at this instruction; the members are as in `at`. */
        struct warp *warp;
        struct frame *frame;
        const struct insn *pc;
        uint32_t lane;
    } places[4];
    uint32_t nplaces;
    /* barrier.c checks whether threads exited before the barrier. These are the place of the
     * barrier (exits_place()) and the number of live threads at the last such check. We do not
     * check the same pair twice in a row. */
    uint32_t last_place, last_live;
    /* The addresses of these two bytes are keys for san_release() and san_acquire(): &key[0] for
     * even phases, &key[1] for odd phases. */
    char key[2];
};

struct block {
    uint32_t id[3], linear; /* %ctaid; number of the block in the grid */
    uint32_t rank;          /* number of the block in its cluster */
    struct cluster *cluster;
    struct launch *launch;
    struct warp *warps;
    uint32_t nwarps, nthreads, nlive; /* nlive: threads that have not exited */
    uint8_t *smem;
    uint32_t smem_bytes; /* as in struct launch (machine.h) */
    struct barrier bar[16];
    struct block_async *async; /* operations in flight on this block's mbarriers (async.h) */
    struct block_san *san;     /* the sanitizer's state (sanitizer/state.h), or NULL */
    uint64_t steps;
    char *memory; /* registers and local memory: one allocation, which the next block reuses */
    size_t memory_bytes;
    char *spec;        /* special registers of the block */
    uint32_t nrunning; /* warps that have not ended */
    /* 1 + the number of fences of cluster or device scope that the block has executed
     * (block_order.c). */
    uint32_t g_clock;
    uint32_t regs_free; /* registers that warps gave back by setmaxnreg.dec */
    /* The sectors (32 bytes of global memory) that this block has used. NULL if nothing is
     * counted. */
    struct sector_set *sectors;
    bool started;
};

struct cluster_trace;

struct cluster {
    struct block *blocks;
    uint32_t nblocks;
    struct launch *launch;
    struct barrier bar;      /* barrier.cluster */
    bool stuck;              /* see emu_stuck() */
    struct worker_state *ws; /* state of its host thread */
    /* In a sampled call: where to note what the cluster stores (machine.h). Otherwise NULL. */
    struct cluster_trace *trace;
    uint64_t trace_rng;
    uint32_t trace_stores; /* how many stores to outputs its warps have executed */
    uint32_t nrunning;     /* warps that have not ended */
    uint32_t nlive;        /* threads that have not exited */
    /* The members from here to `was_stuck` help to find a deadlock (warp_sched.c). rounds_stuck and
     * polls count rounds in which no warp could go on and async_idle() completed nothing.
     * rounds_stuck becomes 0 when async_idle() completes an operation, or when warps go on in two
     * rounds in a row. polls becomes 0 when `state` changes. */
    uint32_t rounds_stuck;
    uint32_t polls;
    uint64_t state;   /* hash of shared memory and of `strongs` */
    uint32_t strongs; /* number of strong loads and atomics so far */
    /* was_stuck: `stuck` was set, and no warp has gone on since. running: the cluster has started
     * and has not ended. */
    bool was_stuck, running;
    uint64_t rng;
    /* The search for a state that repeats for ever (warp_sched.c).
     * - steps counts the cluster's warp instructions. A search begins when it reaches `next`.
     * - on is true during a search. Each round then compares the state's hash with `hash`, the hash
     *   of an earlier state.
     * - age counts the rounds since `hash` was set. When it reaches `power`, `hash` is set to the
     *   present hash, and `power` doubles.
     * - rounds counts all rounds of the search.
     * - reads and writes say whether the cluster, during the search, has read or written memory
     *   that other clusters can reach too.
     * - cycles is the result of the last search: whether a state was repeated.
     * - epoch is the value that launch.spin.epoch (machine.h) had when this cluster was last
     *   counted in launch.spin.confirmed. */
    struct {
        uint64_t steps, next, hash;
        uint32_t rounds, age, power, epoch;
        bool on, reads, writes, cycles;
    } probe;
};

/* Returns true for one round when no warp of the cluster can go on. A try_wait may then return
 * false. */
static inline bool emu_stuck(const struct warp *w)
{
    return w->block->cluster->stuck;
}

static inline void *opnd(const struct warp *w, uint32_t code)
{
    return w->base[code >> 30] + (code & OPND_OFF);
}
static inline uint32_t opnd_pred(const struct warp *w, uint32_t code)
{
    return *(const uint32_t *)opnd(w, code);
}
/* Writes predicate bits of the active lanes. */
static inline void set_pred(struct warp *w, uint32_t code, uint32_t bits)
{
    uint32_t *p = opnd(w, code);
    *p = (*p & ~w->active) | (bits & w->active);
}

/* ---- memory --------------------------------------------------------------------------------- */

/* The upper bits of a generic address select a window. cvta.to.X returns the offset in the window.
 * A shared address has 32 bits. Its upper 8 bits say whose memory it is in: 0 means the executing
 * block, and r + 1 means block r of the cluster. Addresses from mapa are of the second kind. The
 * lower 24 bits are an offset in that memory. */
#define WIN_SHARED (1ull << 40)
#define WIN_LOCAL (2ull << 40)
#define WIN_CONST (3ull << 40)
#define WIN_PARAM (4ull << 40)
#define WIN_MASK (~0xffffffffull)
#define GLOBAL_BASE (1ull << 44)
#define SMEM_RANK_SHIFT 24
#define SMEM_OFF_MASK 0xffffffu

enum mem_access {
    MEM_READ = 1,
    MEM_WRITE = 2,
    MEM_ATOMIC = 4, /* a read-modify-write; MEM_READ and MEM_WRITE are set too */
    /* An atomic, volatile, relaxed, acquire or release access. Two such accesses do not race with
     * each other. */
    MEM_STRONG = 8,
    MEM_ASYNC = 16, /* made by the async proxy: TMA, cp.async.bulk, operands of wgmma */
    /* The address need not be a multiple of the access size. Bulk copies have alignment rules of
     * their own, which they check themselves. */
    MEM_NOALIGN = 32
};

/* Returns a host pointer to n bytes at addr for one lane. Checks bounds and alignment (n is a power
 * of two, except with MEM_NOALIGN) and tells the sanitizer. If something is wrong, calls
 * emu_fault() and returns NULL; the caller must then return EX_FAULT. If the access runs past a
 * buffer of global memory into its guard zone, this is only a finding, and the caller may use the
 * pointer. `pc` is the instruction that makes the access. */
void *mem_at(struct warp *w, const struct insn *pc, uint32_t lane, enum ptx_space sp, uint64_t addr,
             uint32_t n, uint32_t access);
/* Returns the block whose shared memory addr points to, or NULL if there is no such block in the
 * cluster. Sets *off to the offset in that memory. */
struct block *smem_block(struct warp *w, uint32_t addr, uint32_t *off);
/* Does the same as mem_at() for a shared address. It is faster than mem_at() if the address is in
 * this block's own memory and the sanitizer is off. */
void *smem_at(struct warp *w, const struct insn *pc, uint32_t lane, uint32_t addr, uint32_t n,
              uint32_t access);
/* Returns the space of a generic address. */
enum ptx_space generic_space(uint64_t addr);
/* Returns a lane's effective address. `code` is the operand code of the base address, `bits` its
 * width, `off` the offset to add. */
static inline uint64_t addr_of(const struct warp *w, uint32_t code, uint32_t bits, uint32_t lane,
                               int64_t off)
{
    uint64_t b = bits == 32 ? ((const uint32_t *)opnd(w, code))[lane]
                            : ((const uint64_t *)opnd(w, code))[lane];
    return bits == 32 ? (uint32_t)(b + (uint64_t)off) : b + (uint64_t)off;
}

/* ---- reports -------------------------------------------------------------------------------- */

/* Ends the launch with status `st`, which is RESULT_FAULT, RESULT_HANG or RESULT_UNSUPPORTED.
 * Records a message and a finding (a mistake of the kernel, with its place). Returns EX_FAULT. A
 * `lane` of -1 means the whole warp. */
int emu_fault(struct warp *w, const struct insn *pc, int lane, enum result_status st,
              enum finding_kind kind, const char *fmt, ...) __attribute__((format(printf, 6, 7)));
/* Records a finding and lets the launch go on. Does nothing when the sanitizer is off. For each
 * kind and source line, it records the first finding and only counts further ones. `object` and
 * `other` may be NULL. */
void emu_finding(struct warp *w, const struct insn *pc, int lane, enum finding_kind kind,
                 const char *object, int64_t index, const char *other, const char *fmt, ...)
    __attribute__((format(printf, 8, 9)));
bool emu_sanitizing(const struct warp *w);

/* ---- sanitizer hooks for asynchronous operations -------------------------------------------- */

/* These two functions order accesses (happens-before). A release publishes, under a key, that the
 * warp's accesses so far are done. The key is, for example, the host address of an mbarrier. After
 * an acquire of the key, the warp's accesses are ordered after all accesses that were released
 * under that key. */
void san_release(struct warp *w, const void *key);
void san_acquire(struct warp *w, const void *key);
/* Call it when an asynchronous operation begins. Until san_async_end() the operation reads (write =
 * false) or writes n bytes of b's shared memory, which begin at byte `off`. If another access
 * conflicts with the operation before san_async_end(), the sanitizer reports FIND_ASYNC. The report
 * names the operation with the text `what`. Returns an id for san_async_end(), or 0 if there is
 * nothing to watch. */
uint32_t san_async_begin(struct warp *w, const struct insn *pc, uint32_t lane, struct block *b,
                         uint32_t off, uint32_t n, bool write, const char *what);
void san_async_end(struct block *b, uint32_t id);
/* Call it when an asynchronous operation has written these bytes of b's shared memory. They count
 * as written from now on. If `key` is not NULL, the write is released under this key. */
void san_async_written(struct block *b, uint32_t off, uint32_t n, const void *key);
/* Call it when the active lanes execute fence.proxy.async. */
void san_proxy_fence(struct warp *w);
/* Call it before the async proxy reads these bytes of b's shared memory. It reports FIND_ASYNC if b
 * wrote some of them with ordinary stores and has executed no fence.proxy.async since. */
void san_proxy_check(struct warp *w, const struct insn *pc, struct block *b, uint32_t off,
                     uint32_t n, const char *what);

/* ---- hooks that async.c implements ---------------------------------------------------------- */

/* Call it before a block's first instruction. The block then has no operation in flight. */
void async_block_begin(struct block *b);
/* Call it after all threads exited. It completes pending stores, reports operations that no thread
 * waited for, and frees the state. */
void async_block_end(struct block *b);
void async_warp_exit(struct warp *w);
/* Call it when every warp of the cluster waits. For each block it completes the oldest operation in
 * flight that completes on an mbarrier. Returns how many it completed. */
int async_idle(struct cluster *c);
/* Call it before each instruction while warp->watch is set. It reports uses of registers that a
 * wgmma in flight still reads or writes. */
void async_touch(struct warp *w, const struct insn *in);
/* Encodes a tensor map of 128 bytes. This is the emulator's version of the `tensormap` operation in
 * device.h. */
enum result_status emu_tensormap(const struct job_tensormap *t, uint64_t addr, uint8_t out[128],
                                 struct err *err);

/* ---- counters ------------------------------------------------------------------------------- */

/* Counts the bytes that a bulk copy reads from or writes to global memory. Callers also report
 * bytes of shared memory; count_bytes() ignores these. */
enum count_bytes { CB_GLOBAL_LD, CB_GLOBAL_ST, CB_SHARED_LD, CB_SHARED_ST, CB_DSMEM, CB_COUNT };
void count_bytes(struct warp *w, const struct insn *pc, enum count_bytes what, uint64_t bytes);

#endif
