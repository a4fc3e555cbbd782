/*
 * reuse.c - notes which sectors of global memory a block has used, and how long ago. From this the
 * model computes which reads the caches serve.
 *
 * The unit of time is one used sector of 32 bytes. So the time between two uses of a sector is the
 * amount of data that a cache must hold to still have it. On a GPU all warps of a block run at
 * once; here they take turns. So between two uses by one warp, we assume that every other warp used
 * as many sectors as this warp.
 */
#include "base/util.h"
#include "emu/core/mem.h"

/* The sectors of a block are in a hash table, which later blocks reuse. A key is the sector and, in
 * the bits above, an epoch, which counts these blocks. Slots with the epoch of an earlier block
 * count as empty. */
#define SECTOR_BITS 40
#define MAX_SECTORS (1u << 22)

struct slot {
    uint64_t key;
    /* the last use: its time by the block's and the warp's clock, and the warp */
    uint32_t at, warp_at, warp;
};

/* Counts that are not yet in alloc->reads. */
struct tally {
    struct alloc *of;
    struct alloc_reads n;
};

struct sector_set {
    struct slot *slots;
    uint64_t epoch;
    uint32_t cap, n, clock;  /* clock: how often the block used a sector */
    struct tally tallies[8]; /* for the allocations read last */
    uint32_t next;           /* the tally to reuse */
    struct reuse again[REUSE_BUCKETS];
    uint64_t waits_again;
};

static void add_to_alloc(struct tally *t)
{
    struct alloc_reads *to = t->of ? &t->of->reads : NULL;
    if (to) {
        __atomic_fetch_add(&to->fresh, t->n.fresh, __ATOMIC_RELAXED);
        __atomic_fetch_add(&to->again, t->n.again, __ATOMIC_RELAXED);
        __atomic_fetch_add(&to->waits, t->n.waits, __ATOMIC_RELAXED);
    }
    memset(t, 0, sizeof *t);
}

static struct tally *tally_at(struct sector_set *s, const struct emu_mem *m, uint64_t addr)
{
    for (uint32_t i = 0; i < ARRAY_LEN(s->tallies); i++) {
        const struct alloc *a = s->tallies[i].of;
        if (a && addr >= a->lo && addr < a->hi)
            return &s->tallies[i];
    }
    struct tally *t = &s->tallies[s->next++ % ARRAY_LEN(s->tallies)];
    add_to_alloc(t);
    t->of = mem_find(m, addr);
    return t;
}

static void add_all(struct block *b)
{
    struct sector_set *s = b->sectors;
    for (uint32_t i = 0; i < ARRAY_LEN(s->tallies); i++)
        add_to_alloc(&s->tallies[i]);
    for (uint32_t i = 0; i < REUSE_BUCKETS; i++) {
        __atomic_fetch_add(&b->launch->again[i].sectors, s->again[i].sectors, __ATOMIC_RELAXED);
        __atomic_fetch_add(&b->launch->again[i].since, s->again[i].since, __ATOMIC_RELAXED);
    }
    __atomic_fetch_add(&b->launch->waits_again, s->waits_again, __ATOMIC_RELAXED);
    memset(s->again, 0, sizeof s->again);
    s->waits_again = 0;
}

void reuse_start(struct block *b)
{
    if (!b->sectors)
        b->sectors = xcalloc(1, sizeof *b->sectors);
    add_all(b);
    b->sectors->n = b->sectors->clock = 0;
    /* find_slot() sees 24 bits of the epoch. No host thread runs 2^24 blocks. */
    b->sectors->epoch++;
}

void reuse_free(struct block *b)
{
    if (!b->sectors)
        return;
    add_all(b);
    free(b->sectors->slots);
    free(b->sectors);
    b->sectors = NULL;
}

/* Returns the slot of the key, or the free slot where it belongs. */
static uint32_t find_slot(const struct sector_set *s, uint64_t key)
{
    uint64_t h = key * 0x9e3779b97f4a7c15ull;
    uint32_t i = (uint32_t)(h >> 32) & (s->cap - 1);
    while (s->slots[i].key != key && s->slots[i].key >> SECTOR_BITS == key >> SECTOR_BITS)
        i = (i + 1) & (s->cap - 1);
    return i;
}

static void grow(struct sector_set *s)
{
    struct slot *old = s->slots;
    uint32_t cap = s->cap;
    s->cap = cap ? 2 * cap : 1024;
    s->slots = xcalloc(s->cap, sizeof *s->slots);
    for (uint32_t i = 0; i < cap; i++)
        if (old[i].key >> SECTOR_BITS == (s->epoch & 0xffffff))
            s->slots[find_slot(s, old[i].key)] = old[i];
    free(old);
}

/* When the set is full, every sector counts as new: a block that reads so much finds nothing in a
 * cache. */
bool reuse_note(const struct warp *w, uint64_t sector, bool by_l1)
{
    struct sector_set *s = w->block->sectors;
    uint32_t warp_at = w->pending->clock++;
    if (2 * s->n >= s->cap) {
        if (s->cap >= 2 * MAX_SECTORS)
            return true;
        grow(s);
    }
    uint64_t key = (s->epoch & 0xffffff) << SECTOR_BITS | sector;
    struct slot *u = &s->slots[find_slot(s, key)];
    uint32_t at = s->clock++;
    bool fresh = u->key != key;
    if (fresh) {
        s->n++;
    } else if (by_l1) {
        uint64_t since =
            u->warp == w->id ? (uint64_t)(warp_at - u->warp_at) * w->block->nwarps : at - u->at;
        uint32_t bucket = MIN(63 - (uint32_t)__builtin_clzll(since | 1), REUSE_BUCKETS - 1);
        s->again[bucket].sectors++;
        s->again[bucket].since += since;
    }
    *u = (struct slot){.key = key, .at = at, .warp_at = warp_at, .warp = w->id};
    return fresh;
}

void reuse_loaded(struct warp *w, const struct insn *pc, uint64_t addr, uint32_t sectors,
                  uint32_t fresh)
{
    struct tally *t = tally_at(w->block->sectors, &w->launch->emu->mem, addr);
    t->n.fresh += fresh;
    t->n.again += sectors - fresh;
    if (fresh && pc->kind != CK_ASYNC_COPY)
        w->pending->slowest = addr;
}

void reuse_waited(struct warp *w)
{
    struct sector_set *s = w->block->sectors;
    if (w->pending->slowest)
        tally_at(s, &w->launch->emu->mem, w->pending->slowest)->n.waits++;
    else
        s->waits_again++;
    w->pending->slowest = 0;
}
