/*
 * state.h - the sanitizer's state; for the files of this folder.
 *
 * The sanitizer looks for races and for uses of unwritten memory. A shadow notes for each cell of
 * 1, 2 or 4 bytes who accessed it last.
 *
 * Each warp has a vector clock: an entry for each warp of its block, and one for asynchronous
 * copies. Its own entry stamps its accesses. An access of warp u with stamp t is ordered before an
 * access of warp v if v's entry for u is at least t. A release publishes the warp's clock under a
 * key. An acquire joins the published clock: each entry becomes the larger of the two. Releases,
 * acquires and synchronisations of the warp's lanes advance its own entry. Two accesses of one warp
 * with equal stamps are unordered if different lanes made them.
 *
 * Blocks reuse the shadow. Each block starts above all older clocks, so a clock below `base` does
 * not count.
 */
#ifndef EMU_SANITIZER_STATE_H
#define EMU_SANITIZER_STATE_H

#include "emu/core/mem.h"

#define VC_ASYNC MAX_WARPS
#define VC_N (MAX_WARPS + 1)
/* Entry VC_WGMMA + u: every wgmma of warp u with a stamp up to this clock has read its operands.
 * Four warps execute a wgmma together. A warp that waits for it learns only this about the other
 * three. */
#define VC_WGMMA VC_N
#define VC_ALL (VC_N + MAX_WARPS)

struct vclock {
    uint32_t t[VC_ALL];
};

/* The join of all vector clocks that were released under one key. */
struct hb_obj {
    const void *key;
    struct vclock vc;
};

struct inflight {
    uint32_t off, n;
    bool write, used;
    const char *what;   /* such as "TMA load" */
    uint32_t who;       /* who_of() of its instruction */
    uint32_t next_free; /* 1 + index of the next free slot, or 0 */
};

/* A thread's read of an unwritten cell. thread: 1 + the thread's number, or 0 in a free slot. line:
 * source line of the read. */
struct blank_read {
    uint32_t cell, thread, line;
};

/* Bytes per counter of block_san.pend. No copy is smaller, so copies to neighbouring words do not
 * share a counter. */
#define PEND_BYTES 4u

struct block_san {
    uint32_t shift; /* log2 of a cell's bytes */
    uint32_t ncells;
    uint32_t *wclock, *wwho; /* by cell: clock and "who" (who_of()) of the last write */
    /* By cell: clock of the newest read, "who" of the last. rmax is UINT32_MAX for cells in `early`
     * or `blank`. */
    uint32_t *rmax, *rwho;
    uint32_t *rclock;      /* [warp][cell]: clock of the warp's last read */
    uint32_t base, top;    /* first clock of this block; highest clock in use */
    uint32_t async_clock;  /* clock of the last asynchronous copy that completed on an mbarrier */
    uint32_t fenced[VC_N]; /* by warp: the async proxy sees the warp's writes up to this clock */
    struct hb_obj *objs;
    uint32_t nobjs, cap_objs;
    /* For each PEND_BYTES bytes: how many operations in flight read them (pend[0]) or write them
     * (pend[1]), at most 255. */
    uint8_t *pend[2];
    struct inflight *fly;
    /* Slots of `fly`. nfly: how many were ever used. cap_fly: how many there are. free_fly: 1 + the
     * index of a free one, or 0. live_fly: how many are in use. */
    uint32_t nfly, cap_fly, free_fly, live_fly;
    /* Cells that another block of the cluster read before this block wrote them. */
    struct early_read {
        uint32_t cell, phase; /* phase of the cluster's barrier */
        char who[96];
    } early[16];
    uint32_t nearly;
    bool products;   /* the block has issued a wgmma */
    bool other_sync; /* warps synchronised other than at whole-block barriers */
    bool g_many;     /* too many `objs` to check for races between warps in global memory */
    /* Last plain access by another block of the cluster. */
    struct remote_access {
        struct warp *warp;
        const struct insn *pc;
        uint32_t lane, phase;
    } remote;
    /* Last reads of unwritten cells by the block's threads: a hash table by cell and thread. */
    struct blank_read *blank;
    uint32_t nblank, cap_blank;
    /* For each byte of shared memory: 0, or if the byte is a copy of an undefined value, 1 + the
     * index in `origins` of the load or shuffle that made the value. */
    uint8_t *copies;
    struct undef_read *origins;
    uint32_t norigins;
    bool copying;         /* some byte of copies may be set */
    struct vclock exited; /* join of exited threads' clocks */
    bool any_exited;
    /* Objects of block_order.c that the block has read without an acquire. The block depends on
     * them from its next fence on. */
    uint32_t *g_pending, n_pending, cap_pending;
};

struct warp_san {
    struct vclock vc;
    struct vclock rel; /* if has_rel: the vector clock at the last fence */
    /* If has_acq: the join of the clocks that strong reads found since the last fence. */
    struct vclock acq;
    uint32_t min; /* least entry of vc for other warps and asynchronous copies */
    bool has_acq, has_rel;
    uint16_t phase; /* 1 + whole-block barriers that the warp has left */
    struct undef *undef;
};

/* A "who" says in one word who made an access:
 *   bit 31         the access was strong (volatile, atomic, relaxed, acquire or release)
 *   bits 26 to 30  the warp
 *   bits 21 to 25  the lane
 *   bits 0 to 20   1 + the instruction's number among all decoded instructions, or 0
 * WHO_ASYNC stands for an asynchronous copy, and for a write by another block of the cluster. */
#define WHO_STRONG 0x80000000u
#define WHO_ASYNC 0x7fffffffu
static inline uint32_t who_of(const struct warp *w, const struct insn *pc, uint32_t lane,
                              uint32_t access)
{
    uint32_t id = w->frame->func->count_base + (uint32_t)(pc - w->frame->func->insns) + 1;
    return (access & MEM_STRONG ? WHO_STRONG : 0) | w->id << 26 | lane << 21 |
           (id < 1u << 21 ? id : 0);
}
static inline uint32_t who_warp(uint32_t who)
{
    return who >> 26 & 31;
}
static inline uint32_t who_lane(uint32_t who)
{
    return who >> 21 & 31;
}
static inline uint32_t who_insn(uint32_t who)
{
    return who & 0x1fffffu;
}

/* Returns the instruction that made an access, or NULL if it is unknown. */
const struct insn *san_insn(const struct warp *w, uint32_t who);
/* Writes, for example, "line 41, block (0,0,0) thread (3,0,0)". */
void san_describe_access(const struct warp *w, uint32_t who, char *buf, size_t n);
/* Copies the bytes that this lane's store will write to buf. Returns their number, or 0 if pc is
 * not a plain store. */
uint32_t san_store_bytes(const struct warp *w, const struct insn *pc, uint32_t lane,
                         uint8_t buf[128]);

/* Call it when an asynchronous copy has completed at clock t. The key is the host address of the
 * copy's mbarrier. */
void san_async_key(struct block *b, const void *key, uint32_t t);

/* ---- block_order.c -------------------------------------------------------------------------- */

/* An object is an address of global memory through which blocks signal each other
 * (block_order.c). */

struct gsync;
struct gsync *block_order_open(void);
void block_order_close(struct gsync *g);

/* Call block_fence() at a fence of cluster or device scope, block_publish() at a strong write of
 * global memory, and block_observe() at a strong read of it. */
void block_fence(struct warp *w);
void block_publish(struct warp *w, uint64_t addr);
void block_observe(struct warp *w, uint64_t addr, bool acquire);

/* The largest clock of a block that we store. It stands for all larger clocks too. */
#define MAX_BLOCK_CLOCK 255u
/* Returns whether accesses of a block with stamps up to this clock are ordered before this warp's
 * present access. block: the number of that block + 1. */
bool block_ordered(struct warp *w, uint32_t block, uint32_t clock);
bool block_depends(struct warp *w);

/* global.c: checks and notes one lane's access to n bytes of global memory. */
void san_global_lane(struct warp *w, const struct insn *pc, uint32_t lane, uint64_t addr,
                     uint32_t n, uint32_t access);

/* ---- undefined.c ---------------------------------------------------------------------------- */

/* Call it when a lane loads n bytes and those in the mask `bad` are unwritten. If it returns false,
 * the caller must report `text` now. Otherwise undefined.c will, when the value is used. */
bool undef_read(struct warp *w, const struct insn *pc, uint32_t lane, uint32_t n, uint64_t bad,
                const char *object, int64_t index, const char *text);
/* These follow copies of undefined bytes in shared memory. While block_san.copying is set, call
 * undef_shared_stored() after each store, undef_shared_clear() after each asynchronous write, and
 * undef_shared_load() at each load. undef_shared_copies() returns a mask of the bytes that hold
 * copies. */
void undef_shared_stored(struct warp *w, const struct insn *pc, uint32_t lane, struct block *b,
                         uint32_t off, uint32_t n);
void undef_shared_clear(struct block_san *s, uint32_t off, uint32_t n);
uint64_t undef_shared_copies(const struct block_san *s, uint32_t off, uint32_t n);
void undef_shared_load(struct warp *w, const struct insn *pc, uint32_t lane, struct block_san *s,
                       uint32_t off, uint32_t n, uint32_t access);
/* Forgets all copies, for a new block. With release = true, also frees the tables. */
void undef_shared_reset(struct block *b, bool release);
/* Returns a mask of the undefined bytes of the present store. */
uint64_t undef_stored(const struct warp *w, const struct insn *pc, uint32_t lane);

/* shared.c: checks and notes one lane's access to n bytes of block b's shared memory, from byte
 * `off` on. */
void san_shared_lane(struct warp *w, const struct insn *pc, uint32_t lane, struct block *b,
                     uint32_t off, uint32_t n, uint32_t access);

#endif
