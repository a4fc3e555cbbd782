/*
 * core.h - the inside of the emulator: decoded instructions, warps, blocks, memory, scheduling.
 *
 * How an instruction gets to run. At load each ptx_insn is given to the decode function registered
 * for its opcode (decode.c). It checks the form, translates operands to *operand codes* and puts an
 * exec function and its data into a struct insn; or it calls dec_unsupported(). At run time
 *
 *     int exec(struct warp *w, const struct insn *in)
 *
 * performs the instruction for the lanes in w->active (guard predicate already applied, never 0)
 * and returns an enum exec_rc.
 *
 * Registers. A warp's registers are arrays of 32 lanes, one array per PTX register:
 *     .b8 .b16  uint16_t[32]      .b32  uint32_t[32]      .b64  uint64_t[32]
 *     .b128     __uint128_t[32]   .pred one uint32_t, bit i = lane i
 * An operand code is a 32-bit number: the top two bits choose a base (frame, constant pool, special
 * registers of the warp or of the block), the rest is a byte offset. Immediates are broadcast into
 * the constant pool at decode time, so that an exec function never asks what kind of operand it
 * has:
 *
 *     static int exec_add_f32(struct warp *w, const struct insn *in)
 *     {
 *         float *d = opnd(w, in->o[0]);
 *         const float *a = opnd(w, in->o[1]), *b = opnd(w, in->o[2]);
 *         FOR_LANES(i, w) d[i] = a[i] + b[i];       // or a plain loop if w->active == ~0u
 *         return EX_NEXT;
 *     }
 *
 * A sink `_` decodes to a scratch register, so it may be written without asking.
 *
 * Convergence. A warp is a set of fragments (lanes with the same pc and frame); the core merges
 * them as they meet. An instruction marked INSN_ALIGNED is executed only when every lane of the
 * warp that has not exited is active in one fragment; the core waits for them (and reports barrier
 * divergence when they cannot come). w->active then holds all live lanes.
 *
 * Waiting. An exec function that cannot go on returns EX_WAIT *without having changed anything*; it
 * is called again after others have run. When every warp of the cluster waits and async_idle()
 * finds nothing to complete, emu_stuck(w) turns true for one round so that try_wait can return
 * false; if nothing moves for many rounds the launch ends as a deadlock.
 *
 * Threads. One host thread runs all warps of a cluster; global memory is shared between host
 * threads, so atomics on it use __atomic builtins. Everything else here is owned by one thread.
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
    EX_NEXT,    /* done: the next instruction */
    EX_JUMP,    /* the fragment's pc was set (branches, calls; core only) */
    EX_YIELD,   /* done, but let others run first (nanosleep, failed try_wait) */
    EX_WAIT,    /* not done and nothing changed: call again later */
    EX_ARRIVED, /* as EX_WAIT, but something changed: others may go on (barriers; core only) */
    EX_EXIT,    /* the active lanes are gone */
    EX_FAULT    /* emu_fault() was called: the launch ends */
};
typedef int (*exec_fn)(struct warp *w, const struct insn *in);

enum insn_flags {
    INSN_GUARD = 1,
    INSN_GUARD_NEG = 2,
    INSN_ALIGNED = 4,   /* needs the whole warp converged */
    INSN_PIN = 8,       /* operand registers are written later (wgmma): never share their slots */
    INSN_BRANCH = 16,   /* ends a basic block */
    INSN_SYNCWARP = 32, /* waits for the lanes of a member mask (core: shfl, vote, bar.warp) */
    INSN_LEADER = 64,   /* starts a basic block */
    INSN_VARYING = 128  /* core's own */
};

/* What an instruction counts as. */
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
#define OPND_WARP (2u << 30)  /* special registers that differ between warps: %tid */
#define OPND_BLOCK (3u << 30) /* special registers that differ between blocks: %ctaid */
#define OPND_OFF 0x3fffffffu
/* A plain number in the place of an operand, so that nobody takes it for a register. */
#define OPND_NUMBER(n) (OPND_CONST | (n))

struct insn {
    exec_fn exec;
    uint32_t o[5];       /* operand codes: destination first */
    uint32_t guard;      /* operand code of the predicate if INSN_GUARD */
    uint16_t nv;         /* operands in v */
    uint8_t flags;       /* enum insn_flags */
    uint8_t kind;        /* enum count_kind */
    uint8_t sub[4];      /* the decoder's own small facts: type, width, rounding, ... */
    uint32_t rank;       /* scheduling order of its basic block */
    const uint32_t *v;   /* operand codes of vector operands, if any */
    int64_t imm;         /* address offset, immediate, branch target, ... */
    const void *aux;     /* decoder's data, in the module's arena */
    uint32_t src;        /* index of the ptx_insn it came from */
    uint32_t tensor_ops; /* CK_TENSOR: operations (2*m*n*k) per execution */
};

/* ---- decoding ------------------------------------------------------------------------------- */

struct decoder {
    struct emu *emu;
    struct code *code;
    struct ptx_module *ptx;
    struct ptx_func *func;
    struct err *err;
    enum result_status status; /* of a failure: UNSUPPORTED or LOAD_FAILED */
    struct fdecode *f;         /* private to decode.c */
};
typedef int (*decode_fn)(struct decoder *d, const struct ptx_insn *p, struct insn *in);
struct decode_entry {
    const char *op;
    decode_fn fn;
};
/* Tables of each room, ended by {NULL, NULL}; an opcode may stand in several tables: a decode
 * function returns 1 for "not mine", 0 for done, -1 after dec_unsupported()/dec_bad(). */
extern const struct decode_entry decode_alu_ops[], decode_video_ops[], decode_bit_ops[],
    decode_warp_ops[], decode_call_ops[], decode_fp_ops[], decode_half_ops[], decode_cvt_ops[],
    decode_mem_ops[], decode_flow_ops[], decode_sync_ops[], decode_misc_ops[], decode_int_ops[],
    decode_atom_ops[], decode_tensor_ops[], decode_async_ops[];

/* "unsupported: <text> at file:line" / "bad instruction ..."; both return -1. */
int dec_unsupported(struct decoder *d, const struct ptx_insn *p);
int dec_bad(struct decoder *d, const struct ptx_insn *p, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Operand codes. `bits` is what the instruction reads or writes: 1 (predicate), 16, 32, 64, 128; a
 * register of another width is an error. dec_src also takes immediates, special registers and
 * symbols; `t` says how to read an immediate (float constants). */
int dec_dst(struct decoder *d, const struct ptx_insn *p, const struct ptx_opnd *o, uint32_t bits,
            uint32_t *out);
int dec_src(struct decoder *d, const struct ptx_insn *p, const struct ptx_opnd *o, enum ptx_type t,
            uint32_t *out);
/* A predicate source, negation resolved into *neg. */
int dec_pred(struct decoder *d, const struct ptx_insn *p, const struct ptx_opnd *o, uint32_t *out,
             bool *neg);
/* [reg+imm], [sym+imm], [imm]: *base is an operand code of *base_bits (32 or 64) wide lanes. */
int dec_addr(struct decoder *d, const struct ptx_insn *p, const struct ptx_opnd *o,
             enum ptx_space sp, uint32_t *base, uint32_t *base_bits, int64_t *off);
/* Registers of a vector operand {..} (or of a single register: one): codes to out[], count to *n.
 */
int dec_vec(struct decoder *d, const struct ptx_insn *p, const struct ptx_opnd *o, uint32_t bits,
            bool is_dst, uint32_t *out, uint32_t max, uint32_t *n);
/* Width of the register an operand is (0 if it is not a register). */
uint32_t dec_reg_bits(const struct ptx_opnd *o);
/* Memory that lives as long as the module. */
void *dec_alloc(struct decoder *d, size_t n);
/* Copies operand codes to in->v. */
void dec_set_v(struct decoder *d, struct insn *in, const uint32_t *codes, uint32_t n);

/* ---- execution state ------------------------------------------------------------------------ */

/* One activation of a function, shared by the lanes that called together. */
struct frame {
    char *regs;
    struct code_func *func;
    struct frame *caller;
    const struct insn *ret_pc; /* in the caller */
    uint32_t mask;             /* lanes still inside */
    uint32_t depth;
    uint32_t local_base, local_top; /* bytes of each lane's local memory in use below / with us */
    char *params;                   /* [WARP][func->param_bytes] */
    const struct insn *call;        /* the call, to copy results back */
};

struct fragment {
    uint32_t mask;
    const struct insn *pc;
    struct frame *frame;
    uint32_t phase;  /* of the barrier it arrived at */
    uint8_t arrived; /* at a barrier: never merged until released */
    uint8_t waiting; /* its last step was EX_WAIT */
    uint32_t ran;    /* slices since another fragment of the warp ran */
};

struct warp {
    char *base[4];   /* of operand codes: frame, constants, special registers of warp, block */
    uint32_t active; /* lanes executing now, guard applied */
    uint32_t mask;   /* lanes of the running fragment */
    uint32_t live;   /* lanes not exited */
    struct frame *frame;
    struct block *block;
    struct launch *launch;
    char *local; /* [WARP][launch->local_bytes] */
    struct fragment frags[WARP];
    uint32_t nfrags, cur;
    uint32_t id;              /* within the block */
    uint64_t steps;           /* warp instructions executed */
    struct undef *undef;      /* set while registers hold what nobody wrote: undefined.c */
    struct warp_watch *watch; /* set while registers of a wgmma in flight are watched */
    struct warp_async *async; /* emutensor's: cp.async groups, wgmma groups */
    struct warp_san *san;
    const struct insn *pc;     /* being executed */
    struct insn_count *counts; /* of the host thread, or NULL */
    struct pending *pending;   /* with counts: loads under way */
    struct frame *frame0;      /* the entry's */
    uint32_t slices;
    uint32_t diverged;        /* branches that split a fragment */
    uint32_t cluster_arrived; /* lanes between arrive and wait of barrier.cluster */
    uint32_t cluster_phase;   /* of that arrival */
    uint64_t barriers, syncwarps;
    uint64_t call_bytes; /* of the frames of open calls */
    uint32_t strong;     /* strong loads and atomics since the last switch: it may be spinning */
    bool unfair;         /* the last slice ran out while others of the warp waited their turn */
};

struct barrier {
    uint32_t expected; /* threads; 0 = all of the block */
    uint32_t arrived;  /* in threads, a whole warp counting as 32 */
    uint32_t threads;  /* arrived, as they are */
    uint32_t phase;
    uint32_t red_and, red_or, red_popc, result[3];
    bool red_init;
    char key[2]; /* addresses for the sanitizer: a phase, and the next */
};

struct block {
    uint32_t id[3], linear;
    uint32_t rank; /* in its cluster */
    struct cluster *cluster;
    struct launch *launch;
    struct warp *warps;
    uint32_t nwarps, nthreads, nlive; /* nlive: threads not exited */
    uint8_t *smem;
    uint32_t smem_bytes; /* static + dynamic */
    struct barrier bar[16];
    struct block_async *async; /* emutensor's: mbarriers' waiters, bulk copies in flight */
    struct block_san *san;
    uint64_t steps;
    char *memory; /* registers, local memory: one allocation, reused by the next block */
    size_t memory_bytes;
    char *spec;                 /* special registers of the block */
    uint32_t nrunning;          /* warps */
    uint32_t g_clock;           /* the sanitizer's: device-wide fences so far, + 1 */
    struct sector_set *sectors; /* with counts: what this block has read */
    bool started;
};

struct cluster {
    struct block *blocks;
    uint32_t nblocks;
    struct launch *launch;
    struct barrier bar; /* barrier.cluster */
    bool stuck;         /* see emu_stuck() */
    struct cluster_async *async;
    struct worker_state *ws; /* host thread */
    uint64_t stored;         /* bytes to global memory, in counted launches */
    uint32_t nrunning;       /* warps */
    uint32_t nlive;          /* threads */
    uint32_t rounds_stuck;
    uint32_t polls;   /* rounds in which waits had to return false, since `state` was seen */
    uint64_t state;   /* of shared memory and of `strongs` */
    uint32_t strongs; /* strong accesses to memory so far */
    bool was_stuck, running;
    uint64_t rng;
    struct { /* is it going round in circles? see sched.c */
        uint64_t steps, next, hash;
        uint32_t rounds, age, power, epoch;
        bool on, reads, writes, cycles;
    } probe;
};

/* True for one round when nothing else can move: a try_wait may return false now. */
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

/* Generic addresses: windows by the upper bits. Offsets in a window are what cvta.to.X gives.
 * Shared addresses are 32 bits: (0 << 24 | offset) is the executing block's own memory,
 * ((rank + 1) << 24 | offset) is a block of the cluster (what mapa returns). */
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
    MEM_ATOMIC = 4,  /* read-modify-write: with READ|WRITE */
    MEM_STRONG = 8,  /* volatile, relaxed, acquire, release: no data race with its like */
    MEM_ASYNC = 16,  /* by the async proxy: TMA, cp.async.bulk, wgmma operands */
    MEM_NOALIGN = 32 /* natural alignment is not required (bulk copies check their own) */
};

/* Host pointer to n bytes at addr for one lane; does bounds, alignment (n a power of two) and the
 * sanitizer's bookkeeping. NULL after emu_fault(): return EX_FAULT. A small overrun (guard zone, or
 * within shared memory) is a finding and still gives usable memory. `pc` names the source line. */
void *mem_at(struct warp *w, const struct insn *pc, uint32_t lane, enum ptx_space sp, uint64_t addr,
             uint32_t n, uint32_t access);
/* The block a shared address means, and the offset; NULL if the rank is out of range. */
struct block *smem_block(struct warp *w, uint32_t addr, uint32_t *off);
/* Shared memory of this block, whole warp at once (ldmatrix etc.): same as mem_at, cheaper. */
void *smem_at(struct warp *w, const struct insn *pc, uint32_t lane, uint32_t addr, uint32_t n,
              uint32_t access);
/* Space and offset of a generic address. */
enum ptx_space generic_space(uint64_t addr);
/* Effective address of lane: operand code, its width, offset. */
static inline uint64_t addr_of(const struct warp *w, uint32_t code, uint32_t bits, uint32_t lane,
                               int64_t off)
{
    uint64_t b = bits == 32 ? ((const uint32_t *)opnd(w, code))[lane]
                            : ((const uint64_t *)opnd(w, code))[lane];
    return bits == 32 ? (uint32_t)(b + (uint64_t)off) : b + (uint64_t)off;
}

/* ---- reports -------------------------------------------------------------------------------- */

/* Ends the launch: RESULT_FAULT, _HANG or _UNSUPPORTED with a message and a finding; returns
 * EX_FAULT. lane -1: the warp. */
int emu_fault(struct warp *w, const struct insn *pc, int lane, enum result_status st,
              enum finding_kind kind, const char *fmt, ...) __attribute__((format(printf, 6, 7)));
/* A finding that does not stop the launch (does nothing when the sanitizer is off). `object` and
 * `other` may be NULL. Deduplicated by kind and line. */
void emu_finding(struct warp *w, const struct insn *pc, int lane, enum finding_kind kind,
                 const char *object, int64_t index, const char *other, const char *fmt, ...)
    __attribute__((format(printf, 8, 9)));
bool emu_sanitizing(const struct warp *w);

/* ---- sanitizer hooks for asynchronous operations ----------------------------------------------
 */

/* Happens-before. A release publishes what the warp's active lanes did before it under a key (the
 * host address of an mbarrier, say); an acquire orders what follows after all that was released
 * under that key. */
void san_release(struct warp *w, const void *key);
void san_acquire(struct warp *w, const void *key);
/* Bytes of shared memory an asynchronous operation will read (write = false) or write until
 * san_async_end: another access that conflicts is a FIND_ASYNC naming `what`. The id is > 0. */
uint32_t san_async_begin(struct warp *w, const struct insn *pc, uint32_t lane, struct block *b,
                         uint32_t off, uint32_t n, bool write, const char *what);
void san_async_end(struct block *b, uint32_t id);
/* Shared bytes became written by an async operation that has completed: initialised, and (with key)
 * released under it. */
void san_async_written(struct block *b, uint32_t off, uint32_t n, const void *key);
/* fence.proxy.async by the active lanes; and: were generic writes by this block to these bytes
 * fenced before the async proxy reads them? Reports FIND_ASYNC if not. */
void san_proxy_fence(struct warp *w);
void san_proxy_check(struct warp *w, const struct insn *pc, struct block *b, uint32_t off,
                     uint32_t n, const char *what);

/* ---- hooks the asynchronous part implements (async.c) -----------------------------------------
 */

void async_block_begin(struct block *b); /* before the first instruction; state is fresh */
void async_block_end(struct block *b);   /* all threads exited: pending stores complete here, what
                                            was never waited for is reported; frees the state */
void async_warp_exit(struct warp *w);
/* Every warp of the cluster waits: complete something that is in flight. Returns how many. */
int async_idle(struct cluster *c);
/* Called before each instruction while warp->watch is set. */
void async_touch(struct warp *w, const struct insn *in);
/* Tensor map of 128 bytes, encoded by the device's tensormap operation; see device.h. */
enum result_status emu_tensormap(const struct job_tensormap *t, uint64_t addr, uint8_t out[128],
                                 struct err *err);

/* ---- counters ---------------------------------------------------------------------------------
 */

/* Bytes moved by an operation that is no plain load or store (bulk copies, ldmatrix). */
enum count_bytes { CB_GLOBAL_LD, CB_GLOBAL_ST, CB_SHARED_LD, CB_SHARED_ST, CB_DSMEM, CB_COUNT };
void count_bytes(struct warp *w, const struct insn *pc, enum count_bytes what, uint64_t bytes);

#endif
