/*
 * mbarrier.c - arithmetic on the word of an mbarrier. See mbarrier.h.
 */
#include "emu/async/mbarrier.h"

#define VALID (1ull << 63)
#define TX_BIAS (1 << 21)

static bool tx_ok(int32_t tx)
{
    return tx >= -MBAR_MAX_TX && tx <= MBAR_MAX_TX;
}

uint64_t mbar_pack(const struct mbar *b)
{
    return VALID | (uint64_t)b->phase << 62 | (uint64_t)(uint32_t)(b->tx + TX_BIAS) << 40 |
           (uint64_t)b->expected << 20 | b->pending;
}

bool mbar_unpack(struct mbar *b, uint64_t word)
{
    b->pending = (uint32_t)(word & MBAR_MAX_COUNT);
    b->expected = (uint32_t)(word >> 20 & MBAR_MAX_COUNT);
    b->tx = (int32_t)(word >> 40 & 0x3fffff) - TX_BIAS;
    b->phase = word >> 62 & 1;
    /* We must check tx too: the pattern that fills fresh shared memory also has the VALID bit, but
     * its tx is out of range. */
    return (word & VALID) && tx_ok(b->tx);
}

void mbar_init(struct mbar *b, uint32_t count)
{
    *b = (struct mbar){.pending = count, .expected = count};
}

static enum mbar_rc settle(struct mbar *b)
{
    if (b->pending || b->tx)
        return MBAR_OK;
    b->phase = !b->phase;
    b->pending = b->expected;
    return MBAR_FLIPPED;
}

enum mbar_rc mbar_arrive(struct mbar *b, uint32_t count, bool drop)
{
    if (count > b->pending)
        return MBAR_UNDERFLOW;
    b->pending -= count;
    if (drop)
        b->expected -= count;
    return settle(b);
}

enum mbar_rc mbar_expect_tx(struct mbar *b, int32_t bytes)
{
    if (!tx_ok(bytes) || !tx_ok(b->tx + bytes))
        return MBAR_TX_RANGE;
    b->tx += bytes;
    return MBAR_OK;
}

enum mbar_rc mbar_complete_tx(struct mbar *b, int32_t bytes)
{
    if (!tx_ok(bytes) || !tx_ok(b->tx - bytes))
        return MBAR_TX_RANGE;
    b->tx -= bytes;
    return settle(b);
}
