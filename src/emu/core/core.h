/*
 * core.h - the data and functions that all parts of the emulator share.
 *
 * Execution. Before a kernel's first launch, decode.c gives each PTX instruction to the decode
 * function of its opcode. That function fills a struct insn with operand codes, an exec function,
 * and data for the exec function. The exec function performs the instruction for the lanes in
 * w->active. These are the lanes whose guard predicate is true; there is always at least one.
 *
 * Registers. Each PTX register is an array of 32 lanes:
 *     .b8 .b16  uint16_t[32]      .b32  uint32_t[32]      .b64  uint64_t[32]
 *     .b128     __uint128_t[32]   .pred one uint32_t, bit i = lane i
 * An operand code says where an operand lies: its top two bits choose a base (OPND_...), the rest
 * is a byte offset from there. An operand may be a register, a constant or a special register. The
 * constant pool holds each constant 32 times, once for each lane. So opnd(w, in->o[1]) is an array
 * of lanes for any kind of operand.
 *
 * Convergence. A warp is a set of fragments: lanes with the same pc and frame. Fragments that reach
 * the same place merge. An instruction with INSN_ALIGNED needs all live lanes in one fragment and
 * waits for missing lanes. If they cannot come, the core reports barrier divergence and executes
 * the instruction without them.
 *
 * Waiting. An exec function that cannot go on returns EX_WAIT *without having changed anything*,
 * and is called again later. The warps of a cluster run in rounds. If every warp waits and
 * async_idle() completes nothing, emu_stuck(w) is true in the next round, so that mbarrier.try_wait
 * can return false there. After many such rounds the launch ends as a deadlock.
 *
 * Threads. One host thread runs all warps of a cluster. Host threads share global memory, so
 * atomics on it use __atomic builtins. All other data of this file has one host thread that may
 * change it.
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
    EX_NEXT,
    EX_JUMP,    /* exec has set the pc */
    EX_YIELD,   /* done, but let other warps run first */
    EX_WAIT,    /* not done, nothing changed */
    EX_ARRIVED, /* as EX_WAIT, but other warps may now go on; for barriers */
    EX_EXIT,    /* the active lanes have exited */
    EX_FAULT    /* emu_fault() was called */
};
typedef int (*exec_fn)(struct warp *w, const struct insn *in);

enum insn_flags {
    INSN_GUARD = 1,      /* @p */
    INSN_GUARD_NEG = 2,  /* @!p */
    INSN_ALIGNED = 4,    /* needs all live lanes in one fragment */
    INSN_PIN = 8,        /* a wgmma: its registers share their places with no others (regs.c) */
    INSN_BRANCH = 16,    /* ends a basic block */
    INSN_SYNCWARP = 32,  /* waits for the lanes in its mask (shfl, vote, bar.warp) */
    INSN_LEADER = 64,    /* starts a basic block */
    INSN_COMBINES = 128, /* combines values of the lanes in its mask (vote, redux) */
    INSN_CTA = 256       /* a strong access of scope .cta: orders only threads of its block */
};

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
#define OPND_WARP (2u << 30)  /* special registers: %tid, %warpid */
#define OPND_BLOCK (3u << 30) /* special registers: %ctaid, %ntid */
#define OPND_OFF 0x3fffffffu
/* A plain number, for a member that otherwise holds an operand code. */
#define OPND_NUMBER(n) (OPND_CONST | (n))

struct insn {
    exec_fn exec;
    uint32_t o[5];  /* operand codes, the destination first */
    uint32_t guard; /* operand code of the predicate */
    uint16_t nv;
    uint16_t flags;
    uint8_t kind;
    uint8_t sub[4];      /* for exec, such as type and rounding */
    uint32_t rank;       /* rank of the instruction's basic block (flow.h) */
    const uint32_t *v;   /* operand codes of vector operands */
    int64_t imm;         /* for exec, such as an address offset */
    const void *aux;     /* for exec, in the module's arena */
    uint32_t src;        /* index of the instruction in the PTX function */
    uint32_t tensor_ops; /* for CK_TENSOR: 2*m*n*k, the operations of an m x n x k product */
};

/* ---- decoding ------------------------------------------------------------------------------- */

struct decoder {
    struct emu *emu;
    struct code *code;
    struct ptx_module *ptx;
    struct ptx_func *func;
    struct err *err;
    enum result_status status; /* after a failure: RESULT_UNSUPPORTED or RESULT_LOAD_FAILED */
    struct fdecode *f;
};
typedef int (*decode_fn)(struct decoder *d, const struct ptx_insn *p, struct insn *in);
struct decode_entry {
    const char *op;
    decode_fn fn;
};
/* A decode function returns 0, -1 after dec_unsupported() or dec_bad(), or 1 if it does not know
 * this form. Then the core tries the next row with this opcode, in any table. Tables end with
 * {NULL, NULL}. */
extern const struct decode_entry decode_alu_ops[], decode_video_ops[], decode_bit_ops[],
    decode_warp_ops[], decode_call_ops[], decode_fp_ops[], decode_half_ops[], decode_cvt_ops[],
    decode_mem_ops[], decode_flow_ops[], decode_sync_ops[], decode_misc_ops[], decode_int_ops[],
    decode_atom_ops[], decode_tensor_ops[], decode_async_ops[];

int dec_unsupported(struct decoder *d, const struct ptx_insn *p);
int dec_bad(struct decoder *d, const struct ptx_insn *p, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* These set *out to an operand code. `bits` is the width of the destination: 1 (predicate), 16, 32,
 * 64 or 128. dec_src takes the width from `t`, and also accepts special registers, symbols and
 * immediates. A register of another width is an error. */
int dec_dst(struct decoder *d, const struct ptx_insn *p, const struct ptx_opnd *o, uint32_t bits,
            uint32_t *out);
int dec_src(struct decoder *d, const struct ptx_insn *p, const struct ptx_opnd *o, enum ptx_type t,
            uint32_t *out);
int dec_pred(struct decoder *d, const struct ptx_insn *p, const struct ptx_opnd *o, uint32_t *out,
             bool *neg);
/* Decodes an address [reg+imm], [sym+imm] or [imm] as *base + *off. *base is an operand code of
 * *base_bits bits: 32 or 64, or 0 for a variable of the frame, where *off is relative to the
 * frame. */
int dec_addr(struct decoder *d, const struct ptx_insn *p, const struct ptx_opnd *o,
             enum ptx_space sp, uint32_t *base, uint32_t *base_bits, int64_t *off);
/* Decodes a vector {..} or a single operand. Writes *n operand codes to `out`, at most `max`. */
int dec_vec(struct decoder *d, const struct ptx_insn *p, const struct ptx_opnd *o, uint32_t bits,
            bool is_dst, uint32_t *out, uint32_t max, uint32_t *n);
/* Returns the width of a register in bits, or 0 if the operand is not a register. */
uint32_t dec_reg_bits(const struct ptx_opnd *o);
/* Returns memory that lives as long as the module. */
void *dec_alloc(struct decoder *d, size_t n);
void dec_set_v(struct decoder *d, struct insn *in, const uint32_t *codes, uint32_t n);

/* ---- execution state ------------------------------------------------------------------------ */

/* One activation of a function, for the lanes that called it together. */
struct frame {
    char *regs;
    struct code_func *func;
    struct frame *caller;
    const struct insn *ret_pc;
    uint32_t mask;                  /* lanes that have not returned */
    uint32_t depth;                 /* open calls; 0 for the kernel */
    uint32_t local_base, local_top; /* the frame's part of each lane's local memory */
    char *params;                   /* [WARP][func->param_bytes] */
    const struct insn *call;
};

/* Lanes at the same instruction in the same frame. */
struct fragment {
    uint32_t mask;
    const struct insn *pc;
    struct frame *frame;
    uint32_t phase;  /* if `arrived`: the barrier's phase at the arrival */
    uint8_t arrived; /* 1 while a barrier holds the fragment, which then does not merge */
    uint8_t waiting; /* 1 if the fragment had to wait in this warp_run() */
    uint32_t ran;    /* warp.slices when the fragment last gave up its turn, or 0 */
};

/* Where threads meet: block barriers, and warp-wide instructions (shuffles). */
enum exits_kind { EXITS_BARRIER, EXITS_WARP, EXITS_KINDS };

struct warp {
    /* The bases of operand codes: the frame, the constant pool, the special registers of the warp
     * (such as %tid), and those of the block (such as %ctaid). */
    char *base[4];
    uint32_t active; /* lanes for which the guard is true */
    uint32_t mask;   /* lanes of the running fragment */
    uint32_t live;   /* lanes that have not exited */
    struct frame *frame;
    struct block *block;
    struct launch *launch;
    char *local;
    struct fragment frags[WARP];
    uint32_t nfrags, cur;
    uint32_t id;
    uint64_t steps;
    struct undef *undef;          /* set while registers have undefined bits (undefined.c) */
    struct matrix_access *matrix; /* set while a matrix instruction accesses memory */
    struct warp_watch *watch;     /* set while a wgmma in flight uses registers (warpgroup.c) */
    struct warp_async *async;     /* the warp's groups of cp.async and wgmma (async.h) */
    struct warp_san *san;
    const struct insn *pc;
    struct insn_count *counts;
    struct pending *pending; /* set if `counts` is set */
    struct frame *frame0;
    uint32_t slices;          /* how often a fragment of the warp gave up its turn */
    uint32_t diverged;        /* branches that split a fragment */
    uint32_t cluster_arrived; /* lanes after barrier.cluster.arrive and before .wait */
    uint32_t cluster_phase;   /* the barrier's phase at their arrival */
    uint64_t barriers, syncwarps;
    uint64_t call_bytes;
    /* Strong loads and atomics. After a few, a jump ends the warp's turn: the warp may be in a loop
     * that waits for another warp. */
    uint32_t strong;
    /* exits.c: where each lane exited, and where it last met other threads. */
    uint32_t exit_at[WARP], met[EXITS_KINDS][WARP];
    bool unfair; /* the last warp_run() left fragments waiting for their turn */
    /* regs: registers per thread. regs_wanted: registers per thread that a waiting setmaxnreg.inc
     * asks for, or 0 (register_pool.c). */
    uint32_t regs, regs_wanted;
};

struct barrier {
    uint32_t expected; /* threads; 0 means the whole block */
    uint32_t arrived;  /* threads; live lanes of a warp that arrive together count as 32 */
    uint32_t threads;
    uint32_t phase; /* how often the barrier has completed */
    /* barrier.red: the predicates of this phase, and the last phase's results (popc, and, or). */
    uint32_t red_and, red_or, red_popc, result[3];
    bool red_init;
    /* The lowest-numbered warp that arrived in this phase, for findings. */
    struct {
        struct warp *warp;
        struct frame *frame;
        const struct insn *pc;
        uint32_t lane;
    } at;
    /* Where threads arrived in this phase, with the first arrival at each place. */
    struct barrier_place {
        uint32_t place, threads; /* exits_place() of the instruction; threads that arrived there */
        struct warp *warp;
        struct frame *frame;
        const struct insn *pc;
        uint32_t lane;
    } places[4];
    uint32_t nplaces;
    /* Place and live threads when barrier.c last checked for exited threads. */
    uint32_t last_place, last_live;
    /* &key[phase & 1] is the key for san_release() and san_acquire(). */
    char key[2];
};

struct block {
    uint32_t id[3], linear; /* %ctaid; number in the grid */
    uint32_t rank;          /* number in the cluster */
    struct cluster *cluster;
    struct launch *launch;
    struct warp *warps;
    uint32_t nwarps, nthreads, nlive; /* nlive: threads that have not exited */
    uint8_t *smem;
    uint32_t smem_bytes;
    struct barrier bar[16];
    struct block_async *async; /* operations in flight on the block's mbarriers (async.h) */
    struct block_san *san;
    uint64_t steps;
    char *memory; /* registers and local memory, reused by the next block */
    size_t memory_bytes;
    char *spec; /* special registers */
    uint32_t nrunning;
    uint32_t g_clock; /* 1 + fences of cluster or device scope executed (block_order.c) */
    uint32_t regs_free;
    struct sector_set *sectors; /* sectors used so far (reuse.c); NULL if nothing is counted */
    bool started;
};

struct cluster_trace;

struct cluster {
    struct block *blocks;
    uint32_t nblocks;
    struct launch *launch;
    struct barrier bar; /* barrier.cluster */
    bool stuck;         /* see emu_stuck() */
    struct worker_state *ws;
    struct cluster_trace *trace; /* the cluster's stores (machine.h); NULL outside sampled calls */
    uint64_t trace_rng;
    uint32_t trace_stores;
    uint32_t nrunning;
    uint32_t nlive; /* threads that have not exited */
    /* Against deadlocks (warp_sched.c). rounds_stuck: rounds in which no warp could go on and
     * async_idle() completed nothing; 0 again when async_idle() completes something, or after two
     * rounds with progress. polls: calls of polls_in_vain(); 0 again when `state` changes. */
    uint32_t rounds_stuck;
    uint32_t polls;
    uint64_t state;          /* hash of shared memory and of `strongs` */
    uint32_t strongs;        /* strong loads and atomics */
    bool was_stuck, running; /* was_stuck: no warp has gone on since `stuck` */
    uint64_t rng;
    /* Searches for a state that repeats for ever (warp_sched.c).
     * - steps: warp instructions of the cluster. A search begins at `next`; `on` while it runs.
     * - hash: the hash of an earlier state. A newer one replaces it after 1, 2, 4, ... rounds
     *   (`age`, `power`).
     * - reads, writes: the search saw an access to memory that other clusters can reach.
     * - cycles: the last search found a repeated state.
     * - epoch: launch.spin.epoch when launch.spin.confirmed last counted this cluster. */
    struct {
        uint64_t steps, next, hash;
        uint32_t rounds, age, power, epoch;
        bool on, reads, writes, cycles;
    } probe;
};

/* True in the round after one in which no warp of the cluster could go on. */
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
static inline void set_pred(struct warp *w, uint32_t code, uint32_t bits)
{
    uint32_t *p = opnd(w, code);
    *p = (*p & ~w->active) | (bits & w->active);
}

/* ---- memory --------------------------------------------------------------------------------- */

/* The upper bits of a generic address select a window; cvta.to.X returns the offset in it. The
 * upper 8 of the 32 bits of a shared address select the memory: 0 for the executing block, r + 1
 * for block r of the cluster (from mapa). */
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
    MEM_ATOMIC = 4,  /* MEM_READ and MEM_WRITE are set too */
    MEM_STRONG = 8,  /* atomic, volatile, relaxed, acquire, release; two of these do not race */
    MEM_ASYNC = 16,  /* by an asynchronous operation: cp.async, bulk copies, st.async, wgmma */
    MEM_NOALIGN = 32 /* may be unaligned; bulk copies check their own rules */
};

/* Returns a host pointer to n bytes at addr for one lane. Checks bounds and alignment and tells the
 * sanitizer. n is a power of two, except with MEM_NOALIGN. For a wrong access, calls emu_fault()
 * and returns NULL; the exec function must then return EX_FAULT. But an access to a guard zone of
 * global memory only makes a finding. */
void *mem_at(struct warp *w, const struct insn *pc, uint32_t lane, enum ptx_space sp, uint64_t addr,
             uint32_t n, uint32_t access);
/* Returns the block in whose shared memory addr lies, or NULL. Sets *off to the offset there. */
struct block *smem_block(struct warp *w, uint32_t addr, uint32_t *off);
/* mem_at() for a shared address; faster without the sanitizer. */
void *smem_at(struct warp *w, const struct insn *pc, uint32_t lane, uint32_t addr, uint32_t n,
              uint32_t access);
enum ptx_space generic_space(uint64_t addr);
static inline uint64_t addr_of(const struct warp *w, uint32_t code, uint32_t bits, uint32_t lane,
                               int64_t off)
{
    uint64_t b = bits == 32 ? ((const uint32_t *)opnd(w, code))[lane]
                            : ((const uint64_t *)opnd(w, code))[lane];
    return bits == 32 ? (uint32_t)(b + (uint64_t)off) : b + (uint64_t)off;
}

/* ---- reports -------------------------------------------------------------------------------- */

/* Records a finding and ends the launch with status `st`. Returns EX_FAULT. Lane -1 means the whole
 * warp. */
int emu_fault(struct warp *w, const struct insn *pc, int lane, enum result_status st,
              enum finding_kind kind, const char *fmt, ...) __attribute__((format(printf, 6, 7)));
/* Records a finding if the sanitizer is on. Further findings of this kind and source line are only
 * counted. The parameters are as in struct result_finding; `object` and `other` may be NULL. */
void emu_finding(struct warp *w, const struct insn *pc, int lane, enum finding_kind kind,
                 const char *object, int64_t index, const char *other, const char *fmt, ...)
    __attribute__((format(printf, 8, 9)));
bool emu_sanitizing(const struct warp *w);

/* ---- sanitizer hooks for asynchronous operations -------------------------------------------- */

/* After an acquire, the warp's accesses come after all accesses that were released under the same
 * key. For an mbarrier, the key is the mbarrier's host address. */
void san_release(struct warp *w, const void *key);
void san_acquire(struct warp *w, const void *key);
/* Call it when an asynchronous operation begins to read or write these bytes. The sanitizer reports
 * conflicting accesses before san_async_end() as FIND_ASYNC; `what` names the operation. Returns an
 * id for san_async_end(), or 0 if there is nothing to watch. */
uint32_t san_async_begin(struct warp *w, const struct insn *pc, uint32_t lane, struct block *b,
                         uint32_t off, uint32_t n, bool write, const char *what);
void san_async_end(struct block *b, uint32_t id);
/* Call it when an asynchronous operation has written these bytes. If `key` is not NULL, the write
 * is released under the key, as by san_release(). */
void san_async_written(struct block *b, uint32_t off, uint32_t n, const void *key);
void san_proxy_fence(struct warp *w);
/* Call it before the async proxy reads these bytes. Reports FIND_ASYNC if b wrote some of them with
 * ordinary stores and no fence.proxy.async followed. */
void san_proxy_check(struct warp *w, const struct insn *pc, struct block *b, uint32_t off,
                     uint32_t n, const char *what);

/* ---- hooks that async.c implements ---------------------------------------------------------- */

void async_block_begin(struct block *b);
/* Call it after all threads exited. Completes pending stores, and reports operations that no thread
 * waited for. */
void async_block_end(struct block *b);
void async_warp_exit(struct warp *w);
/* Call it when every warp waits. For each block of the cluster, completes the oldest operation that
 * is in flight on the block's mbarriers. Returns how many it completed. */
int async_idle(struct cluster *c);
/* Call it before each instruction while warp->watch is set. Reports uses of registers that a wgmma
 * in flight needs. */
void async_touch(struct warp *w, const struct insn *in);
/* Implements the operation `tensormap` of device.h. */
enum result_status emu_tensormap(const struct job_tensormap *t, uint64_t addr, uint8_t out[128],
                                 struct err *err);

/* ---- counters ------------------------------------------------------------------------------- */

/* Counts what a bulk copy moves. Ignores bytes of shared memory. */
enum count_bytes { CB_GLOBAL_LD, CB_GLOBAL_ST, CB_SHARED_LD, CB_SHARED_ST, CB_DSMEM, CB_COUNT };
void count_bytes(struct warp *w, const struct insn *pc, enum count_bytes what, uint64_t bytes);

#endif
