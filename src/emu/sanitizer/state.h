/*
 * state.h - the sanitizer's state; for the files of this folder.
 *
 * The sanitizer looks for races and for uses of unwritten memory. It divides memory into cells. A
 * shadow notes for each cell who accessed it last.
 *
 * Each warp has a vector clock for happens-before: one entry for each warp of the block, and one
 * for asynchronous copies. A warp's entry for itself is its own clock. Each access of the warp is
 * stamped with this clock. An access of warp u with stamp t is ordered before an access of warp v
 * if v's entry for u is at least t. A release publishes the warp's vector clock under a key, in an
 * hb_obj. An acquire joins the published clock into the warp's vector clock, which means that it
 * takes the larger value of each entry. Release and acquire then advance the warp's own clock. An
 * instruction in which the lanes of a warp synchronise also advances the warp's own clock. So two
 * accesses of different lanes of a warp with the same stamp are unordered.
 *
 * A wgmma is one operation of four warps. A warp that has waited for the wgmma knows that all four
 * warps have read their operands, but it knows nothing else about the other three. So the vector
 * clock has separate entries (VC_WGMMA) for these reads.
 *
 * Clocks never go back, not even when a block reuses the shadow of an earlier block. A new block
 * starts above all clocks in the shadow. So if the clock of a write in a cell is at least `base`,
 * the cell was written since this block started.
 */
#ifndef EMU_SANITIZER_STATE_H
#define EMU_SANITIZER_STATE_H

#include "emu/core/mem.h"

#define VC_ASYNC MAX_WARPS
#define VC_N (MAX_WARPS + 1)
/* Entry VC_WGMMA + warp: the wgmmas of this warp up to this clock have read their operands. */
#define VC_WGMMA VC_N
#define VC_ALL (VC_N + MAX_WARPS)

struct vclock {
    uint32_t t[VC_ALL];
};

struct hb_obj { /* the vector clocks released under a key, joined */
    const void *key;
    struct vclock vc;
};

struct inflight { /* an asynchronous operation on shared memory that has not ended */
    uint32_t off, n;
    bool write, used;
    const char *what;
    uint32_t who; /* the access that started it, as who_of() packs it */
    uint32_t next_free;
};

/* block_san.pend has one entry for this many bytes, the size of the smallest copy (cp.async of 4
 * bytes). With more bytes per entry, copies to neighbouring words would seem to overlap, and each
 * would look through all operations in flight. */
#define PEND_BYTES 4u

struct block_san {
    uint32_t shift; /* log2 of bytes per cell */
    uint32_t ncells;
    uint32_t *wclock, *wwho; /* clock and "who" (see who_of()) of the last write */
    uint32_t *rmax, *rwho;   /* clock of the newest read by any warp, or UINT32_MAX if the cell is
                              * in `early` or `blank`; "who" of the last read */
    uint32_t *rclock;        /* [warp][cell]: clock of that warp's last read */
    uint32_t base, top;      /* the first clock of this block; the highest clock in use */
    uint32_t async_clock;
    uint32_t fenced[VC_N]; /* by warp: the async proxy sees the warp's writes up to this clock */
    struct hb_obj *objs;
    uint32_t nobjs, cap_objs;
    /* for each PEND_BYTES: how many reads [0] and writes [1] are in flight, at most 255 */
    uint8_t *pend[2];
    struct inflight *fly;
    uint32_t nfly, cap_fly, free_fly, live_fly;
    struct early_read { /* another block of the cluster read a cell before this block wrote it */
        uint32_t cell, phase; /* phase: that of the cluster's barrier */
        char who[96];
    } early[16];
    uint32_t nearly;
    bool products; /* this block executed wgmmas */
    /* true if warps of this block have synchronised by other means than barriers of the whole
     * block */
    bool other_sync;
    /* true if `objs` has too many entries (MAX_OBJS, order.c); then we no longer check for races
     * between warps of this block in global memory */
    bool g_many;
    struct remote_access { /* the last plain access by another block of the cluster, or none */
        struct warp *warp;
        const struct insn *pc;
        uint32_t lane, phase; /* phase: that of the cluster's barrier */
    } remote;
    struct blank_read { /* this block read a cell that was not written yet */
        uint32_t cell, warp, lane, line;
    } blank[64];
    uint32_t nblank;
    uint8_t *copies; /* for each byte: 1 + index in `origins` of the undefined value in it, or 0 */
    struct undef_read *origins;
    uint32_t norigins;
    bool copying;         /* undefined bytes were stored to this block's shared memory */
    struct vclock exited; /* covers all accesses of the threads that have exited */
    bool any_exited;
    uint32_t *g_pending, n_pending, cap_pending; /* objects of block_order.c that a thread read; the
                                                  * block depends on them from its next fence on */
};

struct warp_san {
    struct vclock vc;
    struct vclock rel; /* vc at the last fence, if has_rel */
    struct vclock acq; /* if has_acq: the clocks that strong reads found since the last fence */
    uint32_t min;      /* the least of vc's entries for the other warps and for asynchronous
                        * copies */
    bool has_acq, has_rel;
    uint16_t phase;      /* barriers of the whole block that the warp has left, plus one */
    struct undef *undef; /* state of undefined.c; allocated when first needed */
};

/* A "who" identifies an access in one word: warp, lane, instruction (0 if unknown), strong or not.
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

/* Returns the instruction of a who, or NULL. */
const struct insn *san_insn(const struct warp *w, uint32_t who);
/* Writes a text such as "line 41, block (0,0,0) thread (3,0,0)" to buf. */
void san_describe_access(const struct warp *w, uint32_t who, char *buf, size_t n);
/* Copies the bytes that this lane's store would write to buf and returns their number; 0 if the
 * instruction is not a plain store. */
uint32_t san_store_bytes(const struct warp *w, const struct insn *pc, uint32_t lane,
                         uint8_t buf[128]);

/* Notes that an asynchronous copy completed at clock t under this key. */
void san_async_key(struct block *b, const void *key, uint32_t t);

/* ---- block_order.c -------------------------------------------------------------------------- */

struct gsync; /* the state of block_order.c for one launch */
struct gsync *block_order_open(void);
void block_order_close(struct gsync *g);

/* Call these at a fence of cluster or device scope, at a strong write, and at a strong read of
 * global memory. */
void block_fence(struct warp *w);
void block_publish(struct warp *w, uint64_t addr);
void block_observe(struct warp *w, uint64_t addr, bool acquire);

/* The shadow and the objects of block_order.c hold clocks of blocks up to this number. A higher
 * clock counts as this number. */
#define MAX_BLOCK_CLOCK 255u
/* Returns whether all accesses that a block made with stamps up to this clock are ordered before
 * the present access of this warp. `block` is the number of the block + 1. */
bool block_ordered(struct warp *w, uint32_t block, uint32_t clock);
/* Returns whether this warp's block depends on any object of block_order.c. If so, other blocks may
 * have ordered the accesses of this block. */
bool block_depends(struct warp *w);

/* global.c */
void san_global_lane(struct warp *w, const struct insn *pc, uint32_t lane, uint64_t addr,
                     uint32_t n, uint32_t access);

/* ---- undefined.c ---------------------------------------------------------------------------- */

/* Call it when this lane loads n bytes. The bytes whose bit is set in `bad` were never written.
 * Returns true if undefined.c will report the load when the loaded value is first used, false if
 * the caller must report the load now. */
bool undef_read(struct warp *w, const struct insn *pc, uint32_t lane, uint32_t n, uint64_t bad,
                const char *object, int64_t index, const char *text);
/* A store may copy undefined bytes to shared memory. While block_san.copying is set, call
 * undef_shared_stored() after each store to shared memory, undef_shared_clear() after each
 * asynchronous write, and undef_shared_load() at each load. undef_shared_copies() says which bytes
 * hold such copies. */
void undef_shared_stored(struct warp *w, const struct insn *pc, uint32_t lane, struct block *b,
                         uint32_t off, uint32_t n);
void undef_shared_clear(struct block_san *s, uint32_t off, uint32_t n);
uint64_t undef_shared_copies(const struct block_san *s, uint32_t off, uint32_t n);
void undef_shared_load(struct warp *w, const struct insn *pc, uint32_t lane, struct block_san *s,
                       uint32_t off, uint32_t n, uint32_t access);
/* Forgets the copies, for a block that starts. If `release`, frees the memory for them instead. */
void undef_shared_reset(struct block *b, bool release);
/* Returns which bytes of the store under way are undefined. The caller marks them as unwritten. */
uint64_t undef_stored(const struct warp *w, const struct insn *pc, uint32_t lane);

/* shared.c */
void san_shared_lane(struct warp *w, const struct insn *pc, uint32_t lane, struct block *b,
                     uint32_t off, uint32_t n, uint32_t access);

#endif
