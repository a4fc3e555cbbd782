/*
 * async.h - operations in flight, for cp.async, bulk copies, mbarriers and wgmma.
 *
 * When a thread issues an asynchronous operation, we only record it, with the warp, lane and
 * instruction that issued it. We complete it at the last legal moment:
 *   - an operation that completes on an mbarrier: when a thread waits for that mbarrier
 *     (async_settle), or when every warp of the cluster is stuck (async_idle);
 *   - an operation in a group (cp.async, bulk stores, wgmma): when its thread waits for the group;
 *   - a bulk store that no thread waits for: when the block ends.
 * A cp.async or a wgmma that no thread waits for never completes. So a kernel that forgets a wait
 * reads old data. While an operation is in flight, the sanitizer knows which bytes the operation
 * reads or writes. If the sanitizer is off and the launch has a seed, we complete some operations,
 * chosen at random, as soon as they are issued. We never do this with bulk stores.
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

/* A copy moves bytes between a box and outside memory. The box is the range of shared memory that
 * the copy writes or reads. Outside memory is global memory, or another block's shared memory. A
 * run is a contiguous part of the copy. */
struct async_run {
    /* The run's place in outside memory. NULL if this part of the box lies beyond the tensor's
     * edge: then a load fills it with zeros or NaN. */
    uint8_t *outside;
    uint32_t off, bytes; /* the run's offset in the box, and its size in bytes */
};

enum async_kind {
    ASYNC_LOAD,     /* a copy into shared memory, which completes on an mbarrier */
    ASYNC_STORE,    /* a copy out of shared memory, in a bulk group */
    ASYNC_CP_ARRIVE /* cp.async.mbarrier.arrive */
};

struct async_op {
    struct async_op *next;
    enum async_kind kind;
    /* The warp, lane and instruction that issued the operation. */
    struct warp *w;
    const struct insn *pc;
    uint32_t lane;
    /* The block whose shared memory the operation writes (ASYNC_LOAD) or reads (ASYNC_STORE). */
    struct block *block;
    uint32_t base, span;  /* the box in that memory: its offset, its size in bytes */
    struct tensormap map; /* says how to swizzle and to fill; all zero for plain copies */
    struct async_run *runs;
    uint32_t nruns, runs_cap;
    enum red_op red; /* for a reduction: its operator and type; else RED_NONE */
    enum ptx_type red_type;
    /* For ASYNC_LOAD and ASYNC_CP_ARRIVE: the mbarrier on which the operation completes. */
    struct block *mbar_block;
    uint32_t mbar_off;
    int32_t tx; /* for ASYNC_LOAD: bytes by which it lowers the mbarrier's transaction count */
    /* For an ASYNC_LOAD from the shared memory of another block: that block and the offset. */
    struct block *src_block;
    uint32_t src_off;
    uint8_t imm[16]; /* for st.async and red.async: the value to write; `runs` points here */
    uint32_t group;  /* for ASYNC_STORE: the number of its bulk group */
    uint8_t *staged; /* for ASYNC_STORE: a copy of the box; NULL until the store has read the box */
    /* For ASYNC_CP_ARRIVE: it waits for the thread's copies whose cp_rec.seq is below cp_seq. */
    uint32_t cp_seq;
    /* The sanitizer's numbers of this operation (san_async_begin()): one for the box, one for the
     * source in another block. */
    uint32_t san, san_src;
    const char *what; /* the operation's name in findings, for example "TMA load" */
};

/* ---- cp.async ------------------------------------------------------------------------------- */

/* The copies of one execution of cp.async: one copy for each active lane. */
struct cp_rec {
    const struct insn *pc;
    uint32_t mask;            /* lanes with a copy that is not complete yet */
    uint32_t size;            /* bytes that each copy writes */
    uint32_t seq;             /* number of this execution in the warp: 0, 1, 2 ... */
    uint32_t group[WARP];     /* by lane: number of the cp.async group */
    uint32_t dst[WARP];       /* by lane: the shared address */
    const uint8_t *src[WARP]; /* by lane: the source */
    uint8_t src_bytes[WARP]; /* by lane: bytes to read from the source; zeros follow up to `size` */
    uint32_t san[WARP];      /* by lane: what san_async_begin() returned */
};

struct wg_pending; /* warpgroup.c */
#define WG_CLOCKS 32

struct warp_async {
    VEC(struct cp_rec) cp;
    /* cp_committed: by lane, how many cp.async groups it has committed. cp_seq: cp_rec.seq of the
     * next cp.async. */
    uint32_t cp_committed[WARP], cp_seq;
    struct async_op *bulk, **bulk_tail; /* bulk stores, oldest first */
    uint32_t bulk_committed[WARP];      /* by lane: how many bulk groups it has committed */
    uint32_t polls;                     /* how many test_waits found that the phase is not over */
    uint32_t rng;
    /* The members from here on are for wgmma. A product is one wgmma. */
    VEC(struct wg_pending) wg;
    uint32_t wg_committed, wg_seq; /* how many groups are committed; number of the next product */
    uint32_t wg_clock[WG_CLOCKS];  /* what san_product() returned for product i, at i % WG_CLOCKS */
    /* wg_fenced: wgmma.fence was executed since the last commit. wg_ever: the warp has issued a
     * product. */
    bool wg_fenced, wg_ever;
    const uint32_t *wg_last; /* registers of the accumulator that was completed last */
    uint64_t wg_last_hash;   /* hash of the values that these registers had then */
    uint32_t wg_last_n;      /* how many registers these are */
};

struct block_async {
    /* The operations that complete on this block's mbarriers, oldest first. */
    struct async_op *ops, **tail;
    struct wg_cache *wg_cache; /* warpgroup.c */
};

/* These return w->async and b->async. They allocate it on first use. */
struct warp_async *warp_async(struct warp *w);
struct block_async *block_async(struct block *b);

/* Decides at random whether an operation should complete at once. Returns false if the sanitizer is
 * on or the launch has no seed. */
bool async_eager(struct warp *w);

/* ---- engine (async.c) ----------------------------------------------------------------------- */

struct async_op *async_new(struct warp *w, const struct insn *pc, uint32_t lane, enum async_kind k,
                           const char *what);
struct async_run *async_add_run(struct async_op *op);
void async_free(struct async_op *op);
/* Starts the operation. A store is added to its thread's open bulk group, the one that is not
 * committed yet. Any other operation is added to the list of the mbarrier's block, or completed at
 * once if async_eager() says so. */
void async_start(struct async_op *op);
/* Completes all operations in flight that complete on this mbarrier. Returns their number. */
int async_settle(struct block *b, uint32_t mbar_off);
/* Completes the committed bulk groups of the active lanes, except the newest `keep` groups of each
 * lane. If read_only is true, only reads the sources of these groups, and writes nothing yet. */
void async_bulk_wait(struct warp *w, uint32_t keep, bool read_only);

/* Returns the word of an mbarrier of this block, without any check. */
static inline uint64_t *mbar_word(struct block *b, uint32_t off)
{
    return (uint64_t *)(void *)(b->smem + off);
}
/* mbar_apply() changes an mbarrier in one of four ways: n threads arrive; n threads arrive and drop
 * out; n more bytes are expected; n bytes have come. It reports misuse at w, pc and lane. Returns
 * EX_NEXT, or EX_FAULT if there is no mbarrier at `off`. */
enum mbar_fn { MBAR_FN_ARRIVE, MBAR_FN_DROP, MBAR_FN_EXPECT, MBAR_FN_COMPLETE };
int mbar_apply(struct warp *w, const struct insn *pc, uint32_t lane, struct block *b, uint32_t off,
               enum mbar_fn fn, int32_t n);

/* cpasync.c: for the lanes in `mask`, completes the copies with a cp_rec.seq below `limit`. If
 * `all` is false, leaves out copies that are not committed yet, and those of the newest `keep`
 * groups of each lane. */
void cp_complete(struct warp *w, uint32_t mask, uint32_t limit, bool all, uint32_t keep);
/* warpgroup.c: wg_release() and wg_cache_free() free memory. Call wg_check_exit() when the warp
 * exits. It reports products that the warp has not waited for. */
void wg_release(struct warp *w);
void wg_cache_free(struct wg_cache *c);
void wg_check_exit(struct warp *w);

/* reduce.c: combines n bytes of src into dst, element by element. Each element of dst is changed
 * atomically, because other host threads may change it too. */
void async_reduce(enum red_op op, enum ptx_type t, uint8_t *dst, const uint8_t *src, uint32_t n);
/* Returns the operator that a modifier names, or RED_NONE if it names none. */
enum red_op red_op_of(const char *mod);
/* Returns whether a bulk reduction may use this operator with this type. */
bool red_fits(enum red_op op, enum ptx_type t);

/* ---- decode functions ----------------------------------------------------------------------- */

int decode_mbarrier(struct decoder *d, const struct ptx_insn *p, struct insn *in);
int decode_cp_async(struct decoder *d, const struct ptx_insn *p, struct insn *in);
int decode_cp_bulk(struct decoder *d, const struct ptx_insn *p, struct insn *in);
int decode_cluster(struct decoder *d, const struct ptx_insn *p, struct insn *in);
int decode_st_async(struct decoder *d, const struct ptx_insn *p, struct insn *in);
int decode_proxy_fence(struct decoder *d, const struct ptx_insn *p, struct insn *in);
int decode_tensormap(struct decoder *d, const struct ptx_insn *p, struct insn *in);

/* Returns the space that the modifiers name (.shared, .shared::cta, .shared::cluster or .global),
 * or SP_GENERIC if they name none. */
enum ptx_space async_space(const struct ptx_insn *p);

#endif
