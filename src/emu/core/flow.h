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
    uint32_t *block_of; /* the block of each instruction */
};

/* Finds basic blocks, edges and ranks. Ranks order the blocks. If there is an edge from block a to
 * block b that is no back edge, b has the higher rank. The blocks after a loop have higher ranks
 * than the loop's blocks. The lanes of a warp that have diverged are in different blocks. The
 * emulator lets those in the block of least rank run first, so lanes meet again as early as they
 * can. */
int flow_build(struct flow *out, const struct ptx_func *f, struct arena *a, struct err *err);

/* Returns whether a thread that exited at instruction `exit` went past instruction `at` without
 * executing it. `since` is the last instruction of the same kind as `at` (enum exits_kind) that
 * the thread executed. It is FLOW_START if there is none. The answer is true in two cases:
 *   - `at` comes after `since`, and the thread has done work behind `at`. For this, some basic
 * block behind `at` must lie on every path from the start of the function to `exit`, and must have
 *     an instruction other than branches, returns and moves.
 *   - `since` comes after `at`, and no loop leads from `since` back to `at`.
 * The answer is false for a thread that returned before `at`. It is also false for a thread that
 * executed `at` in a loop and then left the loop. */
#define FLOW_START UINT32_MAX
bool flow_went_past(const struct flow *g, const struct ptx_func *f, uint32_t since, uint32_t at,
                    uint32_t exit);
/* Returns whether instruction `since` comes after `at`, and no loop leads from `since` back to
 * `at`. */
bool flow_is_beyond(const struct flow *g, uint32_t since, uint32_t at);

#endif
