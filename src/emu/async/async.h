/*
 * async.h - operations in flight, for cp.async, bulk copies, mbarriers and wgmma.
 *
 * When a thread issues an asynchronous operation, we only record it. We complete it at the last
 * legal moment:
 *   - an operation that completes on an mbarrier: when a thread waits for that mbarrier
 *     (async_settle), or when every warp of the cluster is stuck (async_idle);
 *   - an operation in a group (cp.async, bulk stores, wgmma): when its thread waits for the group;
 *   - a bulk store that no thread waits for: when the block ends.
 * So a kernel that forgets a wait reads old data. If the sanitizer is off and the launch has a
 * seed, we complete some operations at once, at random, but never bulk stores.
 *
 * The host thread that runs the cluster owns these structures, so they need no locks.
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
    struct block *block;  /* the block whose shared memory has the box */
    uint32_t base, span;  /* the box: its offset in shared memory, its size in bytes */
    struct tensormap map; /* all zero for plain copies */
    struct async_run *runs;
    uint32_t nruns, runs_cap;
    enum red_op red; /* RED_NONE if it is no reduction */
    enum ptx_type red_type;
    struct block *mbar_block; /* for ASYNC_LOAD, ASYNC_CP_ARRIVE: where the mbarrier is */
    uint32_t mbar_off;
    int32_t tx; /* for ASYNC_LOAD: bytes by which it lowers the mbarrier's transaction count */
    struct block *src_block; /* for ASYNC_LOAD from another block's shared memory: the source */
    uint32_t src_off;
    uint8_t imm[16]; /* for st.async and red.async: the value; `runs` points here */
    uint32_t group;  /* for ASYNC_STORE: the number of its bulk group */
    uint8_t *staged; /* for ASYNC_STORE: a copy of the box; NULL until the store has read it */
    uint32_t cp_seq; /* for ASYNC_CP_ARRIVE: it waits for copies with a smaller cp_rec.seq */
    uint32_t san, san_src; /* san_async_begin() of the box, and of the source in another block */
    const char *what;      /* in findings, for example "TMA load" */
};

/* ---- cp.async ------------------------------------------------------------------------------- */

/* The copies of one execution of cp.async: one copy for each active lane. */
struct cp_rec {
    const struct insn *pc;
    uint32_t mask;        /* lanes with a copy that is not complete yet */
    uint32_t size;        /* bytes that each copy writes */
    uint32_t seq;         /* number of this execution in the warp: 0, 1, 2 ... */
    uint32_t group[WARP]; /* number of the cp.async group */
    uint32_t dst[WARP];   /* shared address */
    const uint8_t *src[WARP];
    uint8_t src_bytes[WARP]; /* bytes to read; zeros follow up to `size` */
    uint32_t san[WARP];      /* what san_async_begin() returned */
};

struct wg_pending; /* warpgroup.c */
#define WG_CLOCKS 32

struct warp_async {
    VEC(struct cp_rec) cp;
    /* The cp.async groups that each lane has committed; cp_rec.seq of the next cp.async. */
    uint32_t cp_committed[WARP], cp_seq;
    struct async_op *bulk, **bulk_tail; /* bulk stores, oldest first */
    uint32_t bulk_committed[WARP];      /* bulk groups that each lane has committed */
    uint32_t polls;                     /* test_waits that found the phase not over */
    uint32_t rng;
    /* From here on: wgmma. A product is one wgmma. */
    VEC(struct wg_pending) wg;
    uint32_t wg_committed, wg_seq; /* committed groups; number of the next product */
    uint32_t wg_clock[WG_CLOCKS];  /* what san_product() returned for product i, at i % WG_CLOCKS */
    bool wg_fenced, wg_ever; /* wgmma.fence ran since the last commit; any product was issued */
    const uint32_t *wg_last; /* registers of the accumulator that was completed last */
    uint64_t wg_last_hash;   /* of the values in these registers then */
    uint32_t wg_last_n;      /* number of these registers */
};

struct block_async {
    struct async_op *ops, **tail; /* complete on this block's mbarriers; oldest first */
    struct wg_cache *wg_cache;    /* warpgroup.c */
};

/* These return w->async and b->async, allocated on first use. */
struct warp_async *warp_async(struct warp *w);
struct block_async *block_async(struct block *b);

/* Does an operation complete at once? Decides at random, as the top of this file says. */
bool async_eager(struct warp *w);

/* ---- engine (async.c) ----------------------------------------------------------------------- */

struct async_op *async_new(struct warp *w, const struct insn *pc, uint32_t lane, enum async_kind k,
                           const char *what);
struct async_run *async_add_run(struct async_op *op);
void async_free(struct async_op *op);
/* A store joins its thread's open bulk group. Other operations join the list of the mbarrier's
 * block, or complete at once if async_eager() says so. */
void async_start(struct async_op *op);
/* Completes operations in flight that complete on this mbarrier, oldest first, until its phase is
 * over: a thread that waits for the phase does not wait for the others. Returns their number. */
int async_settle(struct block *b, uint32_t mbar_off);
/* Completes the committed bulk groups of the active lanes, except the newest `keep` of each lane.
 * If read_only is true, only reads their sources. */
void async_bulk_wait(struct warp *w, uint32_t keep, bool read_only);

static inline uint64_t *mbar_word(struct block *b, uint32_t off)
{
    return (uint64_t *)(void *)(b->smem + off);
}
/* mbar_apply() changes an mbarrier: n threads arrive, n threads arrive and drop out, n more bytes
 * are expected, or n bytes have come. Returns EX_NEXT, or EX_FAULT if there is no mbarrier at
 * `off`.
 */
enum mbar_fn { MBAR_FN_ARRIVE, MBAR_FN_DROP, MBAR_FN_EXPECT, MBAR_FN_COMPLETE };
int mbar_apply(struct warp *w, const struct insn *pc, uint32_t lane, struct block *b, uint32_t off,
               enum mbar_fn fn, int32_t n);

/* Completes cp.async copies of the lanes in `mask` with a cp_rec.seq below `limit`. If `all` is
 * false, leaves out uncommitted copies and the newest `keep` groups of each lane. */
void cp_complete(struct warp *w, uint32_t mask, uint32_t limit, bool all, uint32_t keep);
/* wg_check_exit() reports products that an exiting warp has not waited for. */
void wg_release(struct warp *w);
void wg_cache_free(struct wg_cache *c);
void wg_check_exit(struct warp *w);

/* Combines n bytes of src into dst, element by element. Each element changes atomically, because
 * other host threads may change it too. */
void async_reduce(enum red_op op, enum ptx_type t, uint8_t *dst, const uint8_t *src, uint32_t n);
/* Returns RED_NONE if the modifier names no operator. */
enum red_op red_op_of(const char *mod);
/* May a bulk reduction use this operator with this type? */
bool red_fits(enum red_op op, enum ptx_type t);

/* ---- decode functions ----------------------------------------------------------------------- */

int decode_mbarrier(struct decoder *d, const struct ptx_insn *p, struct insn *in);
int decode_cp_async(struct decoder *d, const struct ptx_insn *p, struct insn *in);
int decode_cp_bulk(struct decoder *d, const struct ptx_insn *p, struct insn *in);
int decode_cluster(struct decoder *d, const struct ptx_insn *p, struct insn *in);
int decode_st_async(struct decoder *d, const struct ptx_insn *p, struct insn *in);
int decode_proxy_fence(struct decoder *d, const struct ptx_insn *p, struct insn *in);
int decode_tensormap(struct decoder *d, const struct ptx_insn *p, struct insn *in);

/* Returns the space that the modifiers name, or SP_GENERIC if they name none. */
enum ptx_space async_space(const struct ptx_insn *p);

#endif
