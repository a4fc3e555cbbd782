/*
 * async.h - operations in flight, for cp.async, bulk copies, mbarriers and wgmma.
 *
 * When a thread issues an asynchronous operation, we only record it, with the warp, lane and
 * instruction that issued it. We complete it at the last legal moment:
 *   - with an mbarrier: when a thread waits for that mbarrier (async_settle), or when every warp of
 *     the cluster is stuck (async_idle);
 *   - in a group (cp.async, bulk stores, wgmma): when its thread waits for the group;
 *   - a bulk store that no thread waits for: when the block ends.
 * A cp.async or a wgmma that no thread waits for never completes. So a kernel that forgets a wait
 * reads old data. While the operation is in flight, the sanitizer knows which bytes it reads or
 * writes. If the sanitizer is off and the launch has a seed, some operations other than bulk stores
 * complete at once, at random.
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

/* A contiguous part of a copy: its place in outside memory (global, or another block's shared
 * memory) and its offset in the box. */
struct async_run {
    uint8_t *outside; /* NULL: the run is outside the tensor; fill the box with zeros or NaN */
    uint32_t off, bytes;
};

enum async_kind {
    ASYNC_LOAD,     /* into shared memory; completes on an mbarrier */
    ASYNC_STORE,    /* out of shared memory, in a bulk group */
    ASYNC_CP_ARRIVE /* cp.async.mbarrier.arrive */
};

struct async_op {
    struct async_op *next;
    enum async_kind kind;
    struct warp *w; /* the warp that issued the operation */
    const struct insn *pc;
    uint32_t lane;
    /* the block whose shared memory the operation writes (LOAD) or reads (STORE) */
    struct block *block;
    uint32_t base, span;  /* the bytes of that memory: address, size */
    struct tensormap map; /* swizzle and fill; zero for plain copies */
    struct async_run *runs;
    uint32_t nruns, runs_cap;
    enum red_op red;
    enum ptx_type red_type;
    /* for LOAD and CP_ARRIVE: the mbarrier on which the operation completes */
    struct block *mbar_block;
    uint32_t mbar_off;
    int32_t tx;
    /* for LOAD from shared memory of another block */
    struct block *src_block;
    uint32_t src_off;
    uint8_t imm[16]; /* for st.async and red.async: the value to write; `runs` points here */
    /* for STORE: the number of its bulk group */
    uint32_t group;
    uint8_t *staged; /* a copy of the box; NULL until the store has read it */
    /* for CP_ARRIVE: it waits for the thread's cp.async copies with a number below cp_seq */
    uint32_t cp_seq;
    bool noinc;
    uint32_t san, san_src; /* the ids that san_async_begin() returned */
    const char *what;
};

/* ---- cp.async ------------------------------------------------------------------------------- */

struct cp_rec {
    const struct insn *pc;
    uint32_t mask; /* lanes whose copies are not complete yet */
    uint32_t size;
    uint32_t seq;
    uint32_t group[WARP];
    uint32_t dst[WARP]; /* shared address */
    const uint8_t *src[WARP];
    uint8_t src_bytes[WARP];
    uint32_t san[WARP];
};

struct wg_pending; /* warpgroup.c */
#define WG_CLOCKS 32

struct warp_async {
    VEC(struct cp_rec) cp;
    uint32_t cp_committed[WARP], cp_seq;
    struct async_op *bulk, **bulk_tail; /* stores, oldest first */
    uint32_t bulk_committed[WARP];
    uint32_t polls; /* number of test_waits that failed */
    uint32_t rng;
    /* wgmma */
    VEC(struct wg_pending) wg;
    uint32_t wg_committed, wg_seq;
    uint32_t wg_clock[WG_CLOCKS]; /* the sanitizer's clock of product i is at i % WG_CLOCKS */
    bool wg_fenced, wg_ever;
    const uint32_t *wg_last; /* registers of the last completed accumulator */
    uint64_t wg_last_hash;   /* hash of the values that those registers had then */
    uint32_t wg_last_n;
};

struct block_async {
    struct async_op *ops, **tail; /* operations that complete on this block's mbarriers, oldest
                                     first */
    struct wg_cache *wg_cache;    /* warpgroup.c */
};

struct warp_async *warp_async(struct warp *w); /* allocates it on first use */
struct block_async *block_async(struct block *b);

/* Returns whether an operation should complete at once. Never true if the sanitizer is on or the
 * launch has no seed. */
bool async_eager(struct warp *w);

/* ---- engine (async.c) ----------------------------------------------------------------------- */

struct async_op *async_new(struct warp *w, const struct insn *pc, uint32_t lane, enum async_kind k,
                           const char *what);
struct async_run *async_add_run(struct async_op *op);
void async_free(struct async_op *op);
/* Starts the operation: adds it to the list of the mbarrier's block, or to the warp's bulk group.
 * If async_eager(), completes it at once instead, unless it is a store. */
void async_start(struct async_op *op);
/* Completes all operations that complete on this mbarrier; returns how many there were. */
int async_settle(struct block *b, uint32_t mbar_off);
/* Completes the bulk groups of the active lanes, except the newest `keep`. If read_only, only reads
 * the sources of these groups, and writes nothing yet. */
void async_bulk_wait(struct warp *w, uint32_t keep, bool read_only);

/* Returns the word of an mbarrier of this block, without any check. */
static inline uint64_t *mbar_word(struct block *b, uint32_t off)
{
    return (uint64_t *)(void *)(b->smem + off);
}
/* Applies fn to an mbarrier. Reports misuse as a finding of w, pc and lane. */
enum mbar_fn { MBAR_FN_ARRIVE, MBAR_FN_DROP, MBAR_FN_EXPECT, MBAR_FN_COMPLETE };
int mbar_apply(struct warp *w, const struct insn *pc, uint32_t lane, struct block *b, uint32_t off,
               enum mbar_fn fn, int32_t n);

/* cpasync.c: completes copies of the lanes in `mask` with a sequence number (cp_seq) below `limit`.
 * If `all`, completes all of them, else all but those of the newest `keep` groups. */
void cp_complete(struct warp *w, uint32_t mask, uint32_t limit, bool all, uint32_t keep);
/* warpgroup.c */
void wg_release(struct warp *w);
void wg_cache_free(struct wg_cache *c);
void wg_check_exit(struct warp *w);

/* reduce.c: reduces n bytes element by element; each element is atomic for other host threads. */
void async_reduce(enum red_op op, enum ptx_type t, uint8_t *dst, const uint8_t *src, uint32_t n);
/* Returns the operator that a modifier names; RED_NONE if it names none. */
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

/* Returns the space that the modifiers name (.shared, .shared::cta, .shared::cluster or .global),
 * or SP_GENERIC if they name none. */
enum ptx_space async_space(const struct ptx_insn *p);

#endif
