/*
 * tma_swizzle.h - the swizzle of TMA: where a byte of a box lies in shared memory.
 */
#ifndef EMU_ASYNC_TMA_SWIZZLE_H
#define EMU_ASYNC_TMA_SWIZZLE_H

#include "emu/async/tensormap.h"

/* Takes the shared address that a byte would have without a swizzle. Returns its address with the
 * swizzle of t:
 *   - a swizzle of 32 bytes xors bit 4 with bit 7;
 *   - a swizzle of 64 bytes xors bits 4-5 with bits 7-8;
 *   - a swizzle of 128 bytes xors bits 4-6 with bits 7-9. */
static inline uint32_t tensormap_swizzle(const struct tensormap *t, uint32_t addr)
{
    return addr ^ (addr >> 7 & ((1u << t->swizzle) - 1)) << 4;
}

#endif
