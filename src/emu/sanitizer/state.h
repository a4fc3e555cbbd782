/*
 * state.h - the sanitizer's state; for the files of this folder.
 *
 * The sanitizer looks for races and for uses of unwritten memory. A shadow notes for each cell of
 * 1, 2 or 4 bytes who accessed it last.
 *
 * Each warp has a vector clock: one entry for each warp of its block, and one for asynchronous
 * copies. Its own entry stamps its accesses. An access of warp u with stamp t is ordered before an
 * access of warp v if v's entry for u is at least t. A release publishes the warp's vector clock
 * under a key. An acquire joins the published clock into the warp's: each entry becomes the larger
 * of the two. Both then advance the warp's own entry. Each synchronisation of the warp's lanes does
 * too. So two accesses of one warp with equal stamps are unordered if different lanes made them.
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

/* An asynchronous operation on n bytes of shared memory. */
struct inflight {
    uint32_t off, n;
    bool write, used;
    const char *what;   /* for example "TMA load" */
    uint32_t who;       /* who_of() of its instruction */
    uint32_t next_free; /* 1 + the index of the next free slot, or 0 */
};

/* `thread` is 1 + the thread's number, or 0 in a free slot. `line` is the read's source line. */
struct blank_read {
    uint32_t cell, thread, line;
};

/* Bytes per counter of block_san.pend: the size of the smallest copy, so that copies to
 * neighbouring words do not share a counter. */
#define PEND_BYTES 4u

struct block_san {
    uint32_t shift; /* log2 of the bytes in a cell */
    uint32_t ncells;
    uint32_t *wclock, *wwho; /* by cell: clock and "who" (see who_of()) of the last write */
    /* By cell: clock of the newest read, "who" of the last read. rmax is UINT32_MAX for cells in
     * `early` or `blank`. */
    uint32_t *rmax, *rwho;
    uint32_t *rclock;      /* [warp][cell]: clock of the warp's last read */
    uint32_t base, top;    /* the first clock of this block; the highest clock in use */
    uint32_t async_clock;  /* clock of the last asynchronous copy that completed on an mbarrier */
    uint32_t fenced[VC_N]; /* by warp: the async proxy sees the warp's writes up to this clock */
    struct hb_obj *objs;
    uint32_t nobjs, cap_objs;
    /* For each PEND_BYTES bytes: how many operations in flight read them (pend[0]) or write them
     * (pend[1]), at most 255. */
    uint8_t *pend[2];
    struct inflight *fly;
    /* nfly slots were ever used, live_fly are in use. free_fly is 1 + the index of a free one, or
     * 0. */
    uint32_t nfly, cap_fly, free_fly, live_fly;
    /* Reads by other blocks of the cluster, of cells that this block had not written yet. */
    struct early_read {
        uint32_t cell, phase; /* phase: of the cluster's barrier at the read */
        char who[96];
    } early[16];
    uint32_t nearly;
    bool products;   /* this block executed wgmmas */
    bool other_sync; /* warps synchronised other than at whole-block barriers */
    bool g_many;     /* too many `objs` to check for races between warps in global memory */
    /* The last plain access by another block of the cluster to this block's memory. */
    struct remote_access {
        struct warp *warp;
        const struct insn *pc;
        uint32_t lane, phase;
    } remote;
    /* Reads by this block of unwritten cells: a hash table with the last read of each cell by each
     * thread. */
    struct blank_read *blank;
    uint32_t nblank, cap_blank;
    /* By byte of shared memory: 0, or for a copy of an undefined value, 1 + the index of its load
     * or shuffle in `origins`. */
    uint8_t *copies;
    struct undef_read *origins;
    uint32_t norigins;
    bool copying;         /* some byte of `copies` may be set */
    struct vclock exited; /* join of the clocks of exited threads */
    bool any_exited;
    /* Objects of block_order.c that this block has read without an acquire. Its next fence makes
     * the block depend on them. */
    uint32_t *g_pending, n_pending, cap_pending;
};

struct warp_san {
    struct vclock vc;
    struct vclock rel; /* if has_rel: the vector clock at the warp's last fence */
    /* If has_acq: the join of the clocks that strong reads found since the last fence. */
    struct vclock acq;
    uint32_t min; /* least entry of `vc` for other warps and asynchronous copies */
    bool has_acq, has_rel;
    uint16_t phase; /* 1 + the number of whole-block barriers that the warp has left */
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

/* Returns the instruction of a "who", or NULL if it is unknown. */
const struct insn *san_insn(const struct warp *w, uint32_t who);
/* Writes, for example, "line 41, block (0,0,0) thread (3,0,0)". */
void san_describe_access(const struct warp *w, uint32_t who, char *buf, size_t n);
/* Copies to buf the bytes that this lane's store will write. Returns their number, or 0 if the
 * instruction is not a plain store. */
uint32_t san_store_bytes(const struct warp *w, const struct insn *pc, uint32_t lane,
                         uint8_t buf[128]);

/* Notes that an asynchronous copy completed at clock t, on the mbarrier whose address is the
 * key. */
void san_async_key(struct block *b, const void *key, uint32_t t);

/* ---- block_order.c -------------------------------------------------------------------------- */

/* An object is an address of global memory through which blocks signal each other
 * (block_order.c). */

struct gsync;
struct gsync *block_order_open(void);
void block_order_close(struct gsync *g);

/* Call block_fence() at a fence of cluster or device scope, the other two at a strong write and a
 * strong read of global memory. */
void block_fence(struct warp *w);
void block_publish(struct warp *w, uint64_t addr);
void block_observe(struct warp *w, uint64_t addr, bool acquire);

/* Larger clocks of a block are stored as this number. */
#define MAX_BLOCK_CLOCK 255u
/* Returns whether the accesses of a block with stamps up to this clock are ordered before the
 * present access of this warp. `block` is the number of the block + 1. */
bool block_ordered(struct warp *w, uint32_t block, uint32_t clock);
/* Returns whether this warp's block depends on any object. */
bool block_depends(struct warp *w);

/* global.c: checks one lane's access to n bytes of global memory, reports errors, and notes the
 * access in the shadow. */
void san_global_lane(struct warp *w, const struct insn *pc, uint32_t lane, uint64_t addr,
                     uint32_t n, uint32_t access);

/* ---- undefined.c ---------------------------------------------------------------------------- */

/* Call it when this lane loads n bytes and those in the mask `bad` were never written. Returns true
 * if undefined.c will report this text at the first use of the value, false if the caller must
 * report it now. */
bool undef_read(struct warp *w, const struct insn *pc, uint32_t lane, uint32_t n, uint64_t bad,
                const char *object, int64_t index, const char *text);
/* These follow copies of undefined bytes in shared memory. While block_san.copying is set, call
 * undef_shared_stored() after each store, undef_shared_clear() after each asynchronous write, and
 * undef_shared_load() at each load. undef_shared_copies() returns a mask of such bytes. */
void undef_shared_stored(struct warp *w, const struct insn *pc, uint32_t lane, struct block *b,
                         uint32_t off, uint32_t n);
void undef_shared_clear(struct block_san *s, uint32_t off, uint32_t n);
uint64_t undef_shared_copies(const struct block_san *s, uint32_t off, uint32_t n);
void undef_shared_load(struct warp *w, const struct insn *pc, uint32_t lane, struct block_san *s,
                       uint32_t off, uint32_t n, uint32_t access);
/* Forgets all copies, for a new block. With release = true, frees the tables. */
void undef_shared_reset(struct block *b, bool release);
/* Returns a mask of the undefined bytes of the store under way. */
uint64_t undef_stored(const struct warp *w, const struct insn *pc, uint32_t lane);

/* shared.c: as san_global_lane(), but for block b's shared memory from byte `off` on. */
void san_shared_lane(struct warp *w, const struct insn *pc, uint32_t lane, struct block *b,
                     uint32_t off, uint32_t n, uint32_t access);

#endif
