/*
 * state.h - the sanitizer's state; for the files of this folder.
 *
 * The sanitizer looks for races and for uses of unwritten memory. It divides memory into cells. A
 * shadow notes for each cell who accessed it last.
 *
 * Each warp has a vector clock for happens-before: one entry for each warp of the block, and one
 * for asynchronous copies. A warp's entry for itself is its own clock. Each access of the warp is
 * stamped with this clock. An access of warp u with stamp t is ordered before an access of warp v
 * if v's entry for u is at least t.
 *
 * A release publishes the warp's vector clock under a key, in an hb_obj. An acquire joins the
 * published clock into the warp's vector clock, which means that it takes the larger value of each
 * entry. Release and acquire then advance the warp's own clock.
 *
 * The warp's own clock also advances at each instruction in which lanes of the warp synchronise.
 * So if two accesses of one warp have the same stamp, its lanes did not synchronise between them.
 * Such accesses are unordered if two different lanes made them.
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

/* The entries of a vector clock: entries 0 to MAX_WARPS - 1 are for the warps of the block, entry
 * VC_ASYNC is for asynchronous copies. */
#define VC_ASYNC MAX_WARPS
#define VC_N (MAX_WARPS + 1)
/* Entry VC_WGMMA + u is also a clock of warp u. It says that every wgmma of warp u with a stamp up
 * to this clock has read its operands. */
#define VC_WGMMA VC_N
#define VC_ALL (VC_N + MAX_WARPS)

struct vclock {
    uint32_t t[VC_ALL];
};

/* An entry of the hash table block_san.objs. `vc` is the join of all vector clocks that were
 * released under this key. The key is NULL if the entry is free. */
struct hb_obj {
    const void *key;
    struct vclock vc;
};

/* A slot for an asynchronous operation on shared memory. It is in use until the operation ends. */
struct inflight {
    uint32_t off, n; /* it accesses n bytes, which begin at byte `off` of the shared memory */
    /* write: true if it writes these bytes, false if it reads them. used: false if the slot is
     * free. */
    bool write, used;
    const char *what;   /* the operation's name in a finding, for example "TMA load" */
    uint32_t who;       /* the instruction that started it, as who_of() packs it */
    uint32_t next_free; /* in a free slot: 1 + the index of the next free slot, or 0 */
};

/* block_san.pend has one counter for this many bytes, which is the size of the smallest copy
 * (cp.async of 4 bytes). With more bytes per counter, two copies to neighbouring words would share
 * a counter and seem to overlap. check_inflight() would then search all operations in flight for
 * each of them. */
#define PEND_BYTES 4u

struct block_san {
    uint32_t shift; /* log2 of the bytes in a cell */
    uint32_t ncells;
    uint32_t *wclock, *wwho; /* by cell: the clock and the "who" (see who_of()) of the last write */
    /* rmax: by cell, the clock of the newest read by any warp, or UINT32_MAX if the cell is in
     * `early` or `blank`. rwho: by cell, the "who" of the last read. */
    uint32_t *rmax, *rwho;
    uint32_t *rclock;   /* [warp][cell]: the clock of that warp's last read of the cell */
    uint32_t base, top; /* the first clock of this block; the highest clock in use */
    /* The clock of the last asynchronous copy that completed on an mbarrier. */
    uint32_t async_clock;
    uint32_t fenced[VC_N]; /* by warp: the async proxy sees the warp's writes up to this clock */
    struct hb_obj *objs;   /* hash table by key, with open addressing */
    uint32_t nobjs, cap_objs;
    /* For each PEND_BYTES bytes of shared memory: how many operations in flight read them (pend[0])
     * or write them (pend[1]). A counter stops at 255. */
    uint8_t *pend[2];
    struct inflight *fly; /* slots for the operations in flight */
    /* nfly slots of `fly` were used at some time. free_fly is 1 + the index of the first free slot
     * among them, or 0. live_fly operations are in flight. */
    uint32_t nfly, cap_fly, free_fly, live_fly;
    /* Reads by other blocks of the cluster, of cells that this block had not written yet. */
    struct early_read {
        uint32_t cell, phase; /* phase: the phase of the cluster's barrier at the read */
        char who[96];         /* the line and thread of the read, for a finding */
    } early[16];
    uint32_t nearly;
    bool products; /* true if this block executed wgmmas */
    /* True if warps of this block have synchronised by other means than barriers of the whole
     * block. */
    bool other_sync;
    /* True if `objs` has too many entries (MAX_OBJS, order.c). Then we no longer check for races
     * between warps of this block in global memory. */
    bool g_many;
    /* The last plain access by another block of the cluster to this block's shared memory. `warp`
     * is NULL if there is none. */
    struct remote_access {
        struct warp *warp;
        const struct insn *pc;
        uint32_t lane, phase; /* phase: the phase of the cluster's barrier at the access */
    } remote;
    /* Reads by this block of cells that were not written yet: a hash table in which a newer read
     * replaces an older one. `thread` is 1 + the number of the reading thread, or 0 if the slot is
     * free; `line` is the source line of the read. */
    struct blank_read {
        uint32_t cell, thread, line;
    } blank[1024];
    bool any_blank; /* true if a slot of `blank` is used */
    /* For each byte of shared memory: 0, or 1 + an index in `origins` if the byte holds a copy of
     * an undefined value. The index is that of the load or shuffle which made the value. */
    uint8_t *copies;
    struct undef_read *origins;
    uint32_t norigins;
    bool copying; /* true if undefined bytes were stored to this block's shared memory */
    /* If any_exited: the join of the vector clocks that the exited threads had when they exited. */
    struct vclock exited;
    bool any_exited;
    /* Objects of block_order.c (see below), as indices. Threads of this block have read them
     * without an acquire since the block's last fence. The next fence makes the block depend on
     * them. */
    uint32_t *g_pending, n_pending, cap_pending;
};

struct warp_san {
    struct vclock vc;
    /* If has_rel: the vector clock as it was at the warp's last fence. */
    struct vclock rel;
    /* If has_acq: the join of the published clocks that the warp's strong reads found since its
     * last fence. */
    struct vclock acq;
    uint32_t min; /* the least of vc's entries for the other warps and for asynchronous copies */
    bool has_acq, has_rel;
    uint16_t phase;      /* 1 + the number of whole-block barriers that the warp has left */
    struct undef *undef; /* state of undefined.c; allocated when first needed */
};

/* A "who" says in one word who made an access:
 *   bit 31         whether the access was strong (volatile, atomic, relaxed, acquire or release)
 *   bits 26 to 30  the warp
 *   bits 21 to 25  the lane
 *   bits 0 to 20   1 + the instruction's number among all decoded instructions, or 0 if unknown
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

/* Returns the instruction that a "who" names, or NULL if it is unknown. */
const struct insn *san_insn(const struct warp *w, uint32_t who);
/* Writes to buf a text that names the access, such as "line 41, block (0,0,0) thread (3,0,0)". */
void san_describe_access(const struct warp *w, uint32_t who, char *buf, size_t n);
/* Copies to buf the bytes that this lane's store will write to memory. Returns how many bytes these
 * are, or 0 if the instruction is not a plain store. */
uint32_t san_store_bytes(const struct warp *w, const struct insn *pc, uint32_t lane,
                         uint8_t buf[128]);

/* Notes that an asynchronous copy completed at clock t. A warp that acquires this key (the address
 * of the copy's mbarrier) is then ordered after the copy. */
void san_async_key(struct block *b, const void *key, uint32_t t);

/* ---- block_order.c -------------------------------------------------------------------------- */

/* block_order.c orders blocks by the signals that they give each other. An object is an address of
 * global memory at which some block gave a signal: it made a strong write after a fence. A block
 * depends on an object when it has received such a signal. Either one of its threads read the
 * object with an acquire. Or one of its threads read it without an acquire, and a thread of the
 * block has executed a fence since. */

struct gsync; /* the state of block_order.c for one launch */
struct gsync *block_order_open(void);
void block_order_close(struct gsync *g);

/* Call it when the warp executes a fence of cluster or device scope. */
void block_fence(struct warp *w);
/* Call it when the warp makes a strong write to global memory. */
void block_publish(struct warp *w, uint64_t addr);
/* Call it when the warp makes a strong read of global memory. */
void block_observe(struct warp *w, uint64_t addr, bool acquire);

/* The largest clock of a block that the shadow and the objects can hold. A larger clock is stored
 * as this number. */
#define MAX_BLOCK_CLOCK 255u
/* Returns whether all accesses that a block made with stamps up to this clock are ordered before
 * the present access of this warp. `block` is the number of the block + 1. */
bool block_ordered(struct warp *w, uint32_t block, uint32_t clock);
/* Returns whether this warp's block depends on any object. If so, two accesses that seem unordered
 * may be ordered through other blocks. */
bool block_depends(struct warp *w);

/* global.c: checks one lane's access to n bytes of global memory, reports what is wrong with it,
 * and notes the access in the shadow. */
void san_global_lane(struct warp *w, const struct insn *pc, uint32_t lane, uint64_t addr,
                     uint32_t n, uint32_t access);

/* ---- undefined.c ---------------------------------------------------------------------------- */

/* Call it when this lane loads n bytes, some of which were never written. Bit k of `bad` is set if
 * byte k was never written. A finding about this load will have this object, index and text.
 * Returns true if undefined.c will report the load when the loaded value is first used, false if
 * the caller must report the load now. */
bool undef_read(struct warp *w, const struct insn *pc, uint32_t lane, uint32_t n, uint64_t bad,
                const char *object, int64_t index, const char *text);
/* A store may copy undefined bytes to shared memory. While block_san.copying is set, call
 * undef_shared_stored() after each store to shared memory, undef_shared_clear() after each
 * asynchronous write, and undef_shared_load() at each load. undef_shared_copies() returns a mask:
 * bit k is set if byte off + k holds such a copy. */
void undef_shared_stored(struct warp *w, const struct insn *pc, uint32_t lane, struct block *b,
                         uint32_t off, uint32_t n);
void undef_shared_clear(struct block_san *s, uint32_t off, uint32_t n);
uint64_t undef_shared_copies(const struct block_san *s, uint32_t off, uint32_t n);
void undef_shared_load(struct warp *w, const struct insn *pc, uint32_t lane, struct block_san *s,
                       uint32_t off, uint32_t n, uint32_t access);
/* With release = false: forgets all copies of undefined bytes; call it when a new block starts.
 * With release = true: frees the memory for these notes; call it before b->san is freed. */
void undef_shared_reset(struct block *b, bool release);
/* Returns a mask of the undefined bytes of the store under way: bit k stands for byte k. The caller
 * marks these bytes as unwritten. */
uint64_t undef_stored(const struct warp *w, const struct insn *pc, uint32_t lane);

/* shared.c: checks one lane's access to n bytes of block b's shared memory, which begin at byte
 * `off`. Reports what is wrong with the access, and notes it in the shadow. */
void san_shared_lane(struct warp *w, const struct insn *pc, uint32_t lane, struct block *b,
                     uint32_t off, uint32_t n, uint32_t access);

#endif
