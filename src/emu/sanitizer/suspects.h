/*
 * suspects.h - what the second run of a launch with races adds to its findings.
 *
 * The first run reports each race when it sees the second of the two accesses, and collects the
 * cells that are part of a race: the suspects. settle.c then repeats the run, which is the same
 * step by step. Now the sanitizer knows the suspects before they are touched:
 *
 * - It notes the line and thread of each access to a suspect, so that a finding names both sides.
 * - It follows values that are loaded from a suspect (undefined.c). If the kernel uses none of the
 *   values that a race can change, the race becomes a note.
 * - It notes strong accesses and fences, so that a finding says which side lacks a fence.
 *
 * Only one host thread runs a launch when these functions are called.
 */
#ifndef EMU_SANITIZER_SUSPECTS_H
#define EMU_SANITIZER_SUSPECTS_H

#include "emu/sanitizer/state.h"

/* A cell of global memory, and a cell of a block's shared memory. */
static inline uint64_t suspect_global(uint64_t cell)
{
    return cell + 1;
}
static inline uint64_t suspect_shared(const struct block *b, uint32_t cell)
{
    return UINT64_C(1) << 63 | (uint64_t)b->linear << 24 | cell;
}

/* Whether this is the second run. */
bool suspects_followed(const struct launch *l);
bool is_suspect(const struct launch *l, uint64_t key);

/* In the second run, call the first for each load from a cell before checking it, the second for
 * each store after checking it. `bytes` are the bytes of the access, of n, that are in the cell,
 * one bit each. */
void suspect_load(struct warp *w, const struct insn *pc, uint32_t lane, uint64_t key, uint32_t n,
                  uint64_t bytes);
void suspect_store(struct warp *w, const struct insn *pc, uint32_t lane, uint64_t key);

struct race {
    uint64_t key;
    bool write;         /* this access writes; else it reads */
    bool after_read;    /* the other access reads; else it writes */
    const char *object; /* as in a finding */
    int64_t index;
    const char *where; /* "race between blocks", "race in shared memory s" */
    const char *what;  /* "y[3]", "byte 12" */
    const char *other; /* who made the other access, as far as the shadow knows */
    uint32_t block;    /* global memory: its block + 1, and that block's clock; 0 = unknown */
    uint32_t clock;
};
/* Reports a race. */
void race_found(struct warp *w, const struct insn *pc, uint32_t lane, const struct race *r);

/* Whether a read of another block is ordered before this access; global.c answers. */
bool san_global_ordered(struct warp *w, uint32_t block, uint32_t clock);

/* In the second run: notes a strong access to global memory. */
void suspect_signal(struct warp *w, uint64_t addr, bool write, bool acquire);

#endif
