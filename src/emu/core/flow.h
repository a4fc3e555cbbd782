/*
 * flow.h - the control flow graph of one PTX function; for regs.c and exits.c.
 */
#ifndef EMU_CORE_FLOW_H
#define EMU_CORE_FLOW_H

#include "emu/ptx/ptx.h"

struct flow_block {
    uint32_t first, end; /* instructions [first, end) */
    uint32_t *succ, nsucc;
    uint32_t *pred, npred;
    uint32_t rank;
};

struct flow {
    struct flow_block *blocks;
    uint32_t n;
    uint32_t *block_of; /* for each instruction: the number of its block */
};

/* Finds the basic blocks of f and the edges between them, and gives each block a rank. An edge
 * leads to a block of higher rank, unless it is a back edge. The blocks after a loop have higher
 * ranks than the loop. Of diverged lanes, those in the block of least rank run first. So they meet
 * the others as early as they can. */
int flow_build(struct flow *out, const struct ptx_func *f, struct arena *a, struct err *err);

/* True if a thread that exited at instruction `exit` went past instruction `at` without executing
 * it. `since` is the thread's last instruction of the same kind as `at` (enum exits_kind), or
 * FLOW_START. There are two cases:
 *   - `at` comes after `since`, and the thread has done work behind `at`: on every path to `exit`
 *     lies a block behind `at` with an instruction that is not a branch, a return or a move.
 *   - `since` comes after `at`, and no loop leads from `since` back to `at`.
 *
 * It is false for a thread that returned before `at`, or that executed `at` in a loop and then left
 * the loop. */
#define FLOW_START UINT32_MAX
bool flow_went_past(const struct flow *g, const struct ptx_func *f, uint32_t since, uint32_t at,
                    uint32_t exit);
/* True in the second case: `since` comes after `at`, and no loop leads back. */
bool flow_is_beyond(const struct flow *g, uint32_t since, uint32_t at);
/* Returns whether instructions a and b lie in two branches of a condition: neither comes after the
 * other, except in a later round of a loop. */
bool flow_in_two_branches(const struct flow *g, uint32_t a, uint32_t b);

#endif
