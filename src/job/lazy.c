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
    *z = (struct lazy){0};
}

uint32_t lazy_piece_bytes(const struct lazy *z, uint64_t piece)
{
    return (uint32_t)MIN(z->bytes - (piece << z->shift), UINT64_C(1) << z->shift);
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
    case LAZY_DOUBLE:
        for (uint32_t i = 0; i < bytes; i += sizeof z->seed)
            memcpy((uint8_t *)dst + i, &z->seed, sizeof z->seed);
        break;
    }
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
