/*
 * mbarrier.h - the arithmetic of an mbarrier, one 64-bit word in shared memory.
 *
 * Invariants of a valid word:
 *   1. `pending` (arrivals that the phase still waits for) and `expected` (arrivals of each phase)
 *      are below 2^20. A phase is over when `pending` and `tx` are both zero. Then the next phase
 *      begins at once: `pending` gets the value of `expected`, and the phase bit flips.
 *   2. `tx` (bytes that copies still have to bring) may be negative for a while, because copies may
 *      complete before a thread announces them with expect_tx.
 *
 * mbarrier_insn.c waits, and async.c completes copies.
 */
#ifndef EMU_ASYNC_MBARRIER_H
#define EMU_ASYNC_MBARRIER_H

#include <stdbool.h>
#include <stdint.h>

#define MBAR_MAX_COUNT ((1u << 20) - 1)
#define MBAR_MAX_TX ((1 << 20) - 1)

struct mbar {
    uint32_t pending, expected; /* invariant 1 */
    int32_t tx;                 /* invariant 2 */
    bool phase;
};

enum mbar_rc {
    MBAR_OK,
    MBAR_FLIPPED,   /* the phase is over, and the next phase has begun */
    MBAR_UNDERFLOW, /* more arrivals than the phase still expects */
    MBAR_TX_RANGE   /* `tx` would be out of range */
};

uint64_t mbar_pack(const struct mbar *b);
/* Returns false if the word is not an initialised mbarrier. */
bool mbar_unpack(struct mbar *b, uint64_t word);
void mbar_init(struct mbar *b, uint32_t count);
/* `drop` also lowers the arrivals of all later phases by `count`. */
enum mbar_rc mbar_arrive(struct mbar *b, uint32_t count, bool drop);
enum mbar_rc mbar_expect_tx(struct mbar *b, int32_t bytes);
enum mbar_rc mbar_complete_tx(struct mbar *b, int32_t bytes);
/* True if the phase with this phase bit is over, so that a wait for it may end. */
static inline bool mbar_done(const struct mbar *b, bool parity)
{
    return b->phase != parity;
}

#endif
