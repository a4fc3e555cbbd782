/*
 * suspects.h - repeats a launch that has races, to say more about each race.
 *
 * The canonical run of a launch (one host thread; see settle.c) reports each race when it sees the
 * second of the two accesses. It also collects the suspects: the cells that are part of a race.
 * (The sanitizer divides memory into cells of 1 to 4 bytes; see state.h.) settle.c then repeats the
 * run, which takes exactly the same steps. In this second run the sanitizer knows the suspects from
 * the start:
 *
 * - It notes the line and thread of accesses to a suspect, so that a finding names both sides.
 * - It follows values that are loaded from a suspect (undefined.c). If a race is between a read and
 *   a write, and the kernel does not use the value that was read, the race becomes a note.
 * - It notes strong accesses to global memory: volatile, relaxed, acquire, release or atomic ones.
 *   For each it also notes how many fences the block has executed. So a finding can say which side
 *   lacks a fence.
 *
 * One host thread does both runs, so most functions here take no lock. Other launches run on
 * several host threads (launch->parallel), and are not repeated. There, race_found() collects
 * nothing, and unwritten_stands() takes a lock. The functions that only ask are safe. No other
 * function may be called there.
 */
#ifndef EMU_SANITIZER_SUSPECTS_H
#define EMU_SANITIZER_SUSPECTS_H

#include "emu/sanitizer/state.h"

/* A key stands for a cell: suspect_global() returns the key of a cell of global memory,
 * suspect_shared() that of a cell of block b's shared memory. */
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

/* In the second run, call suspect_load() for each cell of a plain load, before the load is checked
 * for races. Call suspect_store() for each cell of a store, after the store was checked. Both
 * ignore cells that are not suspects. The load has n bytes; bit k of `bytes` is set if byte k of
 * the load is in the cell. */
void suspect_load(struct warp *w, const struct insn *pc, uint32_t lane, uint64_t key, uint32_t n,
                  uint64_t bytes);
void suspect_store(struct warp *w, const struct insn *pc, uint32_t lane, uint64_t key);

/* A race of two accesses to a cell. "This access" is the one that the sanitizer checks now; "the
 * other access" came before it. */
struct race {
    uint64_t key;
    bool write;         /* true if this access writes, false if it reads */
    bool after_read;    /* true if the other access reads, false if it writes */
    const char *object; /* name of the object, as in a finding */
    int64_t index;      /* index of the element in the object, as in a finding */
    const char *where;  /* for example "race between blocks" or "race in shared memory s" */
    const char *what;   /* for example "y[3]" or "byte 12" */
    const char *other;  /* text that says who made the other access, as far as the shadow knows */
    bool between;       /* true if another block made the other access */
    /* Only if `between`. `block` is 1 + the number of the block that made the other access, or 0 if
     * the sanitizer does not know it. `clock` is that block's clock then (block_order.c). */
    uint32_t block;
    uint32_t clock;
};
/* Reports a race. */
void race_found(struct warp *w, const struct insn *pc, uint32_t lane, const struct race *r);

/* A race may be the reason for a read of unwritten memory: the write comes too late. So if there is
 * a race, we report a read of unwritten memory only if the race cannot be its reason. We decide
 * that for whole source lines. These two functions note a line whose reads must be reported.
 * unwritten_apart() notes the line of pc if this is the second run and no suspect is near the cell
 * with this key. A cell has 1 << shift bytes. unwritten_stands() notes the line in any case. */
void unwritten_apart(struct warp *w, const struct insn *pc, uint64_t key, uint32_t shift);
void unwritten_stands(struct emu *e, uint32_t line);

/* Call it for each strong access to global memory in the second run. */
void suspect_signal(struct warp *w, uint64_t addr, bool write, bool acquire);

#endif
