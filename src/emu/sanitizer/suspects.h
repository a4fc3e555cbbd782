/*
 * suspects.h - repeats a launch that has races, to say more about each race.
 *
 * The canonical run of a launch, on one host thread (core/settle.c), reports each race at the
 * second of the two accesses. It also collects the suspects: the cells (state.h) that are part of a
 * race. Then settle.c repeats the run, with exactly the same steps. The second run knows the
 * suspects:
 * - It notes the line and thread of their accesses, so that a finding names both sides.
 * - It follows the values loaded from them (undefined.c). If the kernel does not use a value that
 *   it read in a race, the race becomes a note.
 * - It notes strong accesses to global memory (volatile, relaxed, acquire, release or atomic), so
 *   that a finding can say which side lacks a fence.
 *
 * Runs with several host threads are not repeated. They may call only race_found(),
 * unwritten_stands(), suspects_followed() and is_suspect().
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

bool suspects_followed(const struct launch *l);
bool is_suspect(const struct launch *l, uint64_t key);

/* In the second run, call suspect_load() for each cell of a plain load before the check for races,
 * and suspect_store() for each cell of a store after it. Bit k of `bytes`: byte k of the load is in
 * the cell. */
void suspect_load(struct warp *w, const struct insn *pc, uint32_t lane, uint64_t key, uint32_t n,
                  uint64_t bytes);
void suspect_store(struct warp *w, const struct insn *pc, uint32_t lane, uint64_t key);

/* A race between this access, which the sanitizer checks now, and an earlier access, which we call
 * the other access. */
struct race {
    uint64_t key;
    bool write;      /* this access writes */
    bool after_read; /* the other access reads */
    const char *object;
    int64_t index;
    const char *where; /* such as "race between blocks" */
    const char *what;
    const char *other;
    bool between; /* another block made the other access */
    /* If `between`: 1 + that block's number, or 0 if unknown; and its clock (block_order.c). */
    uint32_t block;
    uint32_t clock;
};
void race_found(struct warp *w, const struct insn *pc, uint32_t lane, const struct race *r);

/* A race may explain a read of unwritten memory. Then only the race is reported. unwritten_stands()
 * notes a source line whose reads are reported all the same. unwritten_apart() does so in the
 * second run if no suspect is near the cell, which has 1 << shift bytes. */
void unwritten_apart(struct warp *w, const struct insn *pc, uint64_t key, uint32_t shift);
void unwritten_stands(struct emu *e, uint32_t line);

/* In the second run, call it for each strong access to global memory. */
void suspect_signal(struct warp *w, uint64_t addr, bool write, bool acquire);

#endif
