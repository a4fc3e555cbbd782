/*
 * async.h - operations in flight: cp.async, bulk copies, mbarriers and wgmma.
 *
 * When a thread issues an asynchronous operation, we only record it. We complete it at the last
 * legal moment:
 *   - if it completes on an mbarrier: when a thread waits for that mbarrier (async_settle), or
 *     when every warp of the cluster is stuck (async_idle);
 *   - if it is in a group (cp.async, bulk stores, wgmma): when its thread waits for the group;
 *   - a bulk store that no thread waits for: when the block ends.
 * So a kernel that forgets a wait reads old data. Without the sanitizer, a launch with a seed
 * completes some operations at once, at random, but never bulk stores.
 *
 * The host thread of the cluster owns these structures, so they need no locks.
 */
#ifndef EMU_ASYNC_ASYNC_H
#define EMU_ASYNC_ASYNC_H

#include "emu/async/mbarrier.h"
#include "emu/async/tensormap.h"
#include "emu/core/core.h"

/* ---- bulk copies ---------------------------------------------------------------------------- */

enum red_op { RED_NONE, RED_ADD, RED_MIN, RED_MAX, RED_INC, RED_DEC, RED_AND, RED_OR, RED_XOR };

/* A copy moves bytes between the box, a range of shared memory, and outside memory: global memory,
 * or another block's shared memory. A run is a contiguous part of the copy. */
struct async_run {
    uint8_t *outside;    /* NULL beyond the tensor's edge: a load fills with zeros or NaN */
    uint32_t off, bytes; /* the run's offset in the box, and its size */
};

enum async_kind {
    ASYNC_LOAD,     /* into shared memory; completes on an mbarrier */
    ASYNC_STORE,    /* out of shared memory, in a bulk group */
    ASYNC_CP_ARRIVE /* cp.async.mbarrier.arrive */
};

struct async_op {
    struct async_op *next;
    enum async_kind kind;
    struct warp *w; /* w, pc and lane issued the operation */
    const struct insn *pc;
    uint32_t lane;
    struct block *block;  /* the block in whose shared memory the box lies */
    uint32_t base, span;  /* the box: its offset in that memory, and its size in bytes */
    struct tensormap map; /* all zero for plain copies */
    struct async_run *runs;
    uint32_t nruns, runs_cap;
    enum red_op red;
    enum ptx_type red_type;
    struct block *mbar_block; /* for ASYNC_LOAD, ASYNC_CP_ARRIVE: the block that has the mbarrier */
    uint32_t mbar_off;        /* the mbarrier's offset in the shared memory of mbar_block */
    int32_t tx;               /* for ASYNC_LOAD: bytes that it reports to the mbarrier */
    struct block *src_block;  /* if a load reads shared memory: the block that owns it; else NULL */
    uint8_t imm[16];          /* value of st.async and red.async; `runs` points here */
    uint32_t group;
    uint8_t *staged;       /* for ASYNC_STORE: a copy of the box, once it was read */
    uint32_t cp_seq;       /* for ASYNC_CP_ARRIVE: it waits for copies with a smaller cp_rec.seq */
    uint32_t san, san_src; /* what san_async_begin() returned for the box, and for the source */
    const char *what;      /* such as "TMA load" */
};

/* ---- cp.async ------------------------------------------------------------------------------- */

/* One execution of cp.async: one copy for each active lane. */
struct cp_rec {
    const struct insn *pc;
    uint32_t mask; /* lanes whose copy is not complete */
    uint32_t size;
    uint32_t seq; /* number of this execution in the warp */
    uint32_t group[WARP];
    uint32_t dst[WARP]; /* shared address */
    const uint8_t *src[WARP];
    uint8_t src_bytes[WARP]; /* bytes to read; zeros follow up to `size` */
    uint32_t san[WARP];
};

struct wg_pending; /* warpgroup.c */
#define WG_CLOCKS 32

struct warp_async {
    VEC(struct cp_rec) cp;
    /* cp_committed: how many cp.async groups each lane has committed. cp_seq: the cp_rec.seq that
     * the next cp.async gets. */
    uint32_t cp_committed[WARP], cp_seq;
    struct async_op *bulk, **bulk_tail; /* bulk stores, oldest first */
    uint32_t bulk_committed[WARP];      /* bulk groups that each lane has committed */
    uint32_t polls;                     /* test_waits whose phase was not over */
    uint32_t rng;
    /* The members from here on are for wgmma. A product is one wgmma instruction. */
    VEC(struct wg_pending) wg;
    uint32_t wg_committed, wg_seq; /* committed groups; number of the next product */
    uint32_t wg_clock[WG_CLOCKS];  /* san_product() of product i, at i % WG_CLOCKS */
    bool wg_fenced, wg_ever; /* wgmma.fence ran since the last commit; any product was issued */
    const uint32_t *wg_last; /* registers of the last completed accumulator */
    uint64_t wg_last_hash;   /* hash of what these registers held when it was completed */
    uint32_t wg_last_n;
};

struct block_async {
    struct async_op *ops, **tail; /* operations on this block's mbarriers; oldest first */
    struct wg_cache *wg_cache;    /* warpgroup.c */
};

struct warp_async *warp_async(struct warp *w);
struct block_async *block_async(struct block *b);

/* Decides at random whether an operation completes at once. With the sanitizer, or in a launch
 * without a seed, it never does. */
bool async_eager(struct warp *w);

/* ---- engine (async.c) ----------------------------------------------------------------------- */

struct async_op *async_new(struct warp *w, const struct insn *pc, uint32_t lane, enum async_kind k,
                           const char *what);
struct async_run *async_add_run(struct async_op *op);
void async_free(struct async_op *op);
/* Starts an operation. A store joins its thread's open bulk group. Any other operation completes at
 * once if async_eager() says so; otherwise it joins the list of op->mbar_block. */
void async_start(struct async_op *op);
/* Completes operations in flight that complete on this mbarrier, oldest first. Stops when the
 * mbarrier's phase is over, because a thread that waits for the phase does not wait for the rest.
 * Returns the number of completed operations. */
int async_settle(struct block *b, uint32_t mbar_off);
/* Completes the committed bulk groups of the active lanes, except the newest `keep` of each lane.
 * If read_only, only reads the sources of their stores and does not write the destinations yet. */
void async_bulk_wait(struct warp *w, uint32_t keep, bool read_only);

static inline uint64_t *mbar_word(struct block *b, uint32_t off)
{
    return (uint64_t *)(void *)(b->smem + off);
}
/* mbar_apply() changes the mbarrier at offset `off` of b's shared memory:
 *   - MBAR_FN_ARRIVE: n threads arrive;
 *   - MBAR_FN_DROP: n threads arrive, and do not take part in later phases;
 *   - MBAR_FN_EXPECT: the phase waits for n more bytes;
 *   - MBAR_FN_COMPLETE: n bytes have come.
 * It returns EX_NEXT, or EX_FAULT if there is no mbarrier at `off`. */
enum mbar_fn { MBAR_FN_ARRIVE, MBAR_FN_DROP, MBAR_FN_EXPECT, MBAR_FN_COMPLETE };
int mbar_apply(struct warp *w, const struct insn *pc, uint32_t lane, struct block *b, uint32_t off,
               enum mbar_fn fn, int32_t n);

/* Completes cp.async copies of the lanes in `mask` with a cp_rec.seq below `limit`. Unless `all`,
 * leaves out uncommitted copies and the newest `keep` groups of each lane. */
void cp_complete(struct warp *w, uint32_t mask, uint32_t limit, bool all, uint32_t keep);
void wg_release(struct warp *w);
void wg_cache_free(struct wg_cache *c);
void wg_check_exit(struct warp *w);

/* Combines n bytes of elements of type t: sets each element of dst to (dst op src). Each element
 * changes atomically, because other host threads may change it too. */
void async_reduce(enum red_op op, enum ptx_type t, uint8_t *dst, const uint8_t *src, uint32_t n);
enum red_op red_op_of(const char *mod);
bool red_fits(enum red_op op, enum ptx_type t);

/* ---- decode functions ----------------------------------------------------------------------- */

int decode_mbarrier(struct decoder *d, const struct ptx_insn *p, struct insn *in);
int decode_cp_async(struct decoder *d, const struct ptx_insn *p, struct insn *in);
int decode_cp_bulk(struct decoder *d, const struct ptx_insn *p, struct insn *in);
int decode_cluster(struct decoder *d, const struct ptx_insn *p, struct insn *in);
int decode_st_async(struct decoder *d, const struct ptx_insn *p, struct insn *in);
int decode_proxy_fence(struct decoder *d, const struct ptx_insn *p, struct insn *in);
int decode_tensormap(struct decoder *d, const struct ptx_insn *p, struct insn *in);

/* Returns the state space that the modifiers name, or SP_GENERIC if they name none. */
enum ptx_space async_space(const struct ptx_insn *p);

#endif
