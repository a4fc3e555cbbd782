/*
 * lazy.c - fills pieces of a tensor when they are first needed, once each, from any thread.
 */
#include "job/lazy.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "job/gen.h"
#include "job/poison.h"

static void set_up(struct lazy *z, uint32_t piece)
{
    z->shift = (uint8_t)__builtin_ctz(piece);
    z->npieces = (z->bytes + piece - 1) / piece;
    z->state = xcalloc(z->npieces + 1, sizeof *z->state);
}

static void init(struct lazy *z, void *mem, const struct job_buffer *b, enum lazy_kind kind,
                 uint64_t seed, uint32_t piece)
{
    *z = (struct lazy){.mem = mem,
                       .bytes = b->bytes,
                       .kind = kind,
                       .seed = seed,
                       .dtype = b->dtype,
                       .gen = b->gen,
                       .stream = b->stream};
    set_up(z, piece);
}

void lazy_init(struct lazy *z, void *mem, const struct job_buffer *b, enum lazy_kind kind,
               uint64_t seed)
{
    init(z, mem, b, kind, seed, LAZY_PIECE);
}

void lazy_init_fine(struct lazy *z, void *mem, const struct job_buffer *b, uint64_t seed)
{
    init(z, mem, b, LAZY_DATA, seed, LAZY_FINE_PIECE);
}

void lazy_init_doubles(struct lazy *z, double *mem, uint64_t count, double value)
{
    *z = (struct lazy){
        .mem = (uint8_t *)mem, .bytes = count * sizeof *mem, .kind = LAZY_DOUBLE, .dtype = DT_F64};
    memcpy(&z->seed, &value, sizeof value);
    set_up(z, LAZY_PIECE);
}

void lazy_release(struct lazy *z)
{
    free(z->state);
    vec_release(&z->patches);
    *z = (struct lazy){0};
}

uint32_t lazy_piece_bytes(const struct lazy *z, uint64_t piece)
{
    return (uint32_t)MIN(z->bytes - (piece << z->shift), UINT64_C(1) << z->shift);
}

void lazy_pattern(uint8_t *dst, uint64_t n, uint32_t value, uint32_t width, uint64_t phase)
{
    if (width <= 1) {
        memset(dst, (int)(value & 0xff), n);
        return;
    }
    for (uint64_t i = 0; i < n; i++)
        dst[i] = (uint8_t)(value >> 8 * ((phase + i) % width));
}

/* Writes the part of the patch that lies in the piece to dst, the memory of the piece. */
static void apply_patch(const struct lazy *z, const struct lazy_patch *p, uint64_t piece,
                        uint8_t *dst)
{
    uint64_t start = piece << z->shift, end = start + lazy_piece_bytes(z, piece);
    uint64_t lo = MAX(start, p->from), hi = MIN(end, p->from + p->bytes);
    if (lo >= hi)
        return;
    if (p->source) {
        uint64_t at = p->source_from + (lo - p->from);
        lazy_need(p->source, at, hi - lo);
        memcpy(dst + (lo - start), p->source->mem + at, hi - lo);
    } else {
        lazy_pattern(dst + (lo - start), hi - lo, p->value, p->width, lo - p->from);
    }
}

static void add_patch(struct lazy *z, const struct lazy_patch *p)
{
    if (!p->bytes)
        return;
    *vec_push(&z->patches) = *p;
    uint64_t last = (p->from + p->bytes - 1) >> z->shift;
    for (uint64_t k = p->from >> z->shift; k <= last; k++)
        if (lazy_made(z, k))
            apply_patch(z, p, k, z->mem + (k << z->shift));
}

void lazy_set(struct lazy *z, uint64_t from, uint64_t n, uint32_t value, uint32_t width)
{
    add_patch(z, &(struct lazy_patch){.from = from, .bytes = n, .value = value, .width = width});
}

void lazy_copy(struct lazy *z, uint64_t from, uint64_t n, struct lazy *source, uint64_t source_from)
{
    add_patch(z, &(struct lazy_patch){
                     .from = from, .bytes = n, .source = source, .source_from = source_from});
}

void lazy_original(const struct lazy *z, uint64_t piece, void *dst)
{
    uint32_t bytes = lazy_piece_bytes(z, piece);
    uint64_t size = dtype_bytes(z->dtype);
    switch (z->kind) {
    case LAZY_DATA:
        gen_fill(&z->gen, z->dtype, z->seed, z->stream, (piece << z->shift) / size, bytes / size,
                 dst);
        break;
    case LAZY_POISON:
        poison_fill(z->dtype, poison_mix(z->seed ^ piece), bytes, dst);
        break;
    case LAZY_ZERO:
        memset(dst, 0, bytes);
        break;
    case LAZY_DOUBLE:
        for (uint32_t i = 0; i < bytes; i += sizeof z->seed)
            memcpy((uint8_t *)dst + i, &z->seed, sizeof z->seed);
        break;
    }
    for (size_t i = 0; i < z->patches.n; i++)
        apply_patch(z, &z->patches.items[i], piece, dst);
}

void lazy_make(struct lazy *z, uint64_t piece)
{
    unsigned char was = LAZY_UNTOUCHED;
    if (atomic_compare_exchange_strong(&z->state[piece], &was, LAZY_IN_THE_MAKING)) {
        lazy_original(z, piece, z->mem + (piece << z->shift));
        atomic_store_explicit(&z->state[piece], LAZY_THERE, memory_order_release);
        atomic_fetch_add_explicit(&z->made, 1, memory_order_relaxed);
        return;
    }
    while (atomic_load_explicit(&z->state[piece], memory_order_acquire) != LAZY_THERE)
        sched_yield();
}
