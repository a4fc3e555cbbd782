/*
 * lazy.h - a tensor that is made piece by piece, as it is looked at.
 *
 * Of a tensor of gigabytes a sample of a kernel's blocks, or a handful of the oracle's units, sees
 * megabytes. The memory is the caller's (address space is cheap); a piece of it is filled when
 * somebody needs it for the first time, from whichever thread that is.
 *
 *     struct lazy z;
 *     lazy_init(&z, memory, buffer, LAZY_DATA, seed);
 *     lazy_need(&z, offset, bytes);         these bytes are there now
 *     lazy_release(&z);                     the memory stays
 *
 * Memory that was made and then written to can be told from what was made (lazy_original), so it is
 * known what a sample of blocks wrote.
 */
#ifndef JOB_LAZY_H
#define JOB_LAZY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "job/job.h"

#define LAZY_PIECE 1024u /* bytes: a whole number of elements of every type */

enum lazy_kind {
    LAZY_DATA,   /* what gen_fill makes of the buffer's spec and the seed */
    LAZY_POISON, /* job/poison.h's, with a pattern for each piece */
    LAZY_DOUBLE  /* all doubles are the one whose bits are the seed */
};

enum lazy_state { LAZY_UNTOUCHED, LAZY_IN_THE_MAKING, LAZY_THERE };

struct lazy {
    uint8_t *mem;
    uint64_t bytes, npieces;
    enum lazy_kind kind;
    uint64_t seed;
    enum dtype dtype;
    struct gen_spec gen;
    uint32_t stream;
    atomic_uchar *state; /* of each piece: enum lazy_state */
};

/* LAZY_DATA or LAZY_POISON of a buffer; so many doubles of one value. */
void lazy_init(struct lazy *z, void *mem, const struct job_buffer *b, enum lazy_kind kind,
               uint64_t seed);
void lazy_init_doubles(struct lazy *z, double *mem, uint64_t count, double value);
void lazy_release(struct lazy *z);

/* Makes the piece, or waits for the thread that is at it. */
void lazy_make(struct lazy *z, uint64_t piece);

static inline bool lazy_made(const struct lazy *z, uint64_t piece)
{
    return atomic_load_explicit(&z->state[piece], memory_order_acquire) == LAZY_THERE;
}

/* [from, from + n) bytes, n > 0, inside the memory. */
static inline void lazy_need(struct lazy *z, uint64_t from, uint64_t n)
{
    for (uint64_t k = from / LAZY_PIECE, last = (from + n - 1) / LAZY_PIECE; k <= last; k++)
        if (!lazy_made(z, k))
            lazy_make(z, k);
}

/* The bytes of a piece (the last one may be short), and what it held when it was made. */
uint32_t lazy_piece_bytes(const struct lazy *z, uint64_t piece);
void lazy_original(const struct lazy *z, uint64_t piece, void *dst);

#endif
