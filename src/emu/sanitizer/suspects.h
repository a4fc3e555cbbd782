/*
 * suspects.h - repeats a launch that has races, to say more about each race.
 *
 * The canonical run of a launch uses one host thread (settle.c). It reports each race at the second
 * of the two accesses. It also collects the suspects: the cells (state.h) that are part of a race.
 * Then settle.c repeats the run, which takes exactly the same steps. The second run knows the
 * suspects:
 * - It notes the line and thread of their accesses, so that a finding names both sides.
 * - It follows the values loaded from them (undefined.c). If the kernel does not use a value that
 *   it read in a race, the race becomes a note.
 * - It notes strong accesses to global memory (volatile, relaxed, acquire, release or atomic) and
 *   fences, so that a finding can say which side lacks a fence.
 *
 * Runs with several host threads are not repeated. They may call only race_found(),
 * unwritten_stands(), and the functions that only ask.
 */
#ifndef EMU_SANITIZER_SUSPECTS_H
#define EMU_SANITIZER_SUSPECTS_H

#include "emu/sanitizer/state.h"

/* A key stands for a cell of global memory, or of block b's shared memory. */
static inline uint64_t suspect_global(uint64_t cell)
{
    return cell + 1;
}
static inline uint64_t suspect_shared(const struct block *b, uint32_t cell)
{
    return UINT64_C(1) << 63 | (uint64_t)b->linear << 24 | cell;
}

/* Returns whether this is the second run. */
bool suspects_followed(const struct launch *l);
bool is_suspect(const struct launch *l, uint64_t key);

/* In the second run, call suspect_load() for each cell of a plain load before the check for races,
 * and suspect_store() for each cell of a store after it. Bit k of `bytes` is set if byte k of the
 * load is in the cell. */
void suspect_load(struct warp *w, const struct insn *pc, uint32_t lane, uint64_t key, uint32_t n,
                  uint64_t bytes);
void suspect_store(struct warp *w, const struct insn *pc, uint32_t lane, uint64_t key);

/* A race between this access, which the sanitizer checks now, and an earlier one, the other
 * access. */
struct race {
    uint64_t key;
    bool write;         /* true if this access writes */
    bool after_read;    /* true if the other access reads */
    const char *object; /* as in a finding */
    int64_t index;
    const char *where; /* for example "race between blocks" or "race in shared memory s" */
    const char *what;  /* for example "y[3]" or "byte 12" */
    const char *other; /* who made the other access, if known */
    bool between;      /* true if another block made the other access */
    /* If `between`: 1 + the number of that block, or 0 if unknown; and its clock
     * (block_order.c). */
    uint32_t block;
    uint32_t clock;
};
void race_found(struct warp *w, const struct insn *pc, uint32_t lane, const struct race *r);

/* A race may be the reason for a read of unwritten memory. Then only the race is reported. These
 * two functions note a source line whose reads are reported all the same. unwritten_apart() does so
 * in the second run if no suspect is near the cell, which has 1 << shift bytes. */
void unwritten_apart(struct warp *w, const struct insn *pc, uint64_t key, uint32_t shift);
void unwritten_stands(struct emu *e, uint32_t line);

/* Call it for each strong access to global memory in the second run. */
void suspect_signal(struct warp *w, uint64_t addr, bool write, bool acquire);

#endif
