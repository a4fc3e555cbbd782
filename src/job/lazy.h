/*
 * lazy.h - a tensor that is filled piece by piece, when a piece is first read or written.
 *
 * A sample of a kernel's blocks, or of the oracle's units, reads only megabytes of a tensor that
 * may have gigabytes. The caller reserves and owns memory for the whole tensor; untouched pages
 * cost nothing.
 *
 *     struct lazy z;
 *     lazy_init(&z, memory, buffer, LAZY_DATA, seed);
 *     lazy_need(&z, offset, bytes);         these bytes are filled now
 *     lazy_release(&z);                     the memory stays
 */
#ifndef JOB_LAZY_H
#define JOB_LAZY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"
#include "job/job.h"

/* Bytes in a piece, a whole number of elements of every type. The oracle's inputs have fine pieces,
 * because a unit may read scattered elements. */
#define LAZY_PIECE 1024u
#define LAZY_FINE_PIECE 256u

enum lazy_kind {
    LAZY_DATA,   /* from gen_fill() */
    LAZY_POISON, /* with a pattern for each piece (job/poison.h) */
    LAZY_ZERO,
    LAZY_DOUBLE /* one double in all places; the seed holds its bits */
};

struct lazy_patch {
    uint64_t from, bytes;
    uint32_t value, width;
    struct lazy *source; /* NULL = a pattern */
    uint64_t source_from;
};

enum lazy_state { LAZY_UNTOUCHED, LAZY_IN_THE_MAKING, LAZY_THERE };

struct lazy {
    uint8_t *mem;
    uint64_t bytes, npieces;
    uint8_t shift; /* log2 of the bytes in a piece */
    enum lazy_kind kind;
    uint64_t seed;
    enum dtype dtype;
    struct gen_spec gen;
    uint32_t stream;
    atomic_uchar *state; /* enum lazy_state */
    atomic_ullong made;
    VEC(struct lazy_patch) patches; /* later ones overwrite earlier ones */
};

/* lazy_init() takes all kinds but LAZY_DOUBLE. lazy_init_fine() makes LAZY_DATA in fine pieces. */
void lazy_init(struct lazy *z, void *mem, const struct job_buffer *b, enum lazy_kind kind,
               uint64_t seed);
void lazy_init_fine(struct lazy *z, void *mem, const struct job_buffer *b, uint64_t seed);
void lazy_init_doubles(struct lazy *z, double *mem, uint64_t count, double value);
void lazy_release(struct lazy *z);

/* Fills the piece, or waits for the thread that is filling it. */
void lazy_make(struct lazy *z, uint64_t piece);

static inline bool lazy_made(const struct lazy *z, uint64_t piece)
{
    return atomic_load_explicit(&z->state[piece], memory_order_acquire) == LAZY_THERE;
}

/* Fills the pieces of the bytes [from, from + n), which lie inside the memory. n must be > 0. */
static inline void lazy_need(struct lazy *z, uint64_t from, uint64_t n)
{
    for (uint64_t k = from >> z->shift, last = (from + n - 1) >> z->shift; k <= last; k++)
        if (!lazy_made(z, k))
            lazy_make(z, k);
}

/* Sets the bytes [from, from + n) to a pattern of `width` bytes, also in pieces that are filled
 * later. After that, lazy_original() gives the pattern too. No other thread may use the tensor
 * meanwhile. */
void lazy_set(struct lazy *z, uint64_t from, uint64_t n, uint32_t value, uint32_t width);

/* Like lazy_set(), but sets the bytes to those of `source` from `source_from` on. `source` must
 * outlive z and must not change. */
void lazy_copy(struct lazy *z, uint64_t from, uint64_t n, struct lazy *source,
               uint64_t source_from);

/* Writes n bytes to dst: a pattern of 1, 2 or 4 bytes, repeated. dst[0] is byte `phase` of the
 * pattern. */
void lazy_pattern(uint8_t *dst, uint64_t n, uint32_t value, uint32_t width, uint64_t phase);

uint32_t lazy_piece_bytes(const struct lazy *z, uint64_t piece); /* the last one may be short */
/* Copies to dst the bytes that the piece was filled with. A kernel may have changed them in z. */
void lazy_original(const struct lazy *z, uint64_t piece, void *dst);

#endif
