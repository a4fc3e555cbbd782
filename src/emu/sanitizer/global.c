/*
 * global.c - checks accesses to global memory: reads of unwritten bytes, races, writes to inputs,
 * outputs left unwritten.
 *
 * The shadow has two words for each cell of 1, 2 or 4 bytes. The writer word says which block wrote
 * the cell last, at which of its clocks, and whether the write was strong (volatile, relaxed,
 * release or atomic). The reader word says which block has read the cell. block_order.c decides
 * whether accesses of two blocks are ordered.
 *
 * With several host threads (launch->parallel), we lock a cell while we check and note an access.
 * So we find the same conflicts in every order of the threads.
 */
#include <sched.h>
#include <sys/mman.h>

#include "base/util.h"
#include "emu/sanitizer/suspects.h"

/* A word holds the number of a block + 1, or CELL_MANY for several blocks. Bits 23 to 30 of a
 * writer word hold the block's clock. */
#define CELL_STRONG 0x80000000u
#define CELL_BLOCK 0x003fffffu
#define CELL_MANY 0x003fffffu
/* In a writer word: other blocks did atomics on the cell before this block's last atomic. */
#define CELL_OTHERS 0x00400000u
/* In a reader word: several warps of the block have read the cell. emu_mem.rtick then holds a phase
 * (unsettled_readers()). */
#define CELL_WARPS 0x00800000u

static uint32_t cell_of(const struct warp *w, uint32_t access)
{
    return (access & MEM_STRONG ? CELL_STRONG : 0) | MIN(w->block->g_clock, MAX_BLOCK_CLOCK) << 23 |
           ((w->block->linear + 1) & CELL_BLOCK);
}

/* Returns t counted from the start of this block: findings must not depend on earlier blocks. */
static uint32_t in_block(const struct warp *w, uint32_t t)
{
    return t - (w->block->san->base - 1);
}

/* A second shadow, made of ticks, serves to find races between warps of one block. A tick holds the
 * warp of the last access and the warp's clock (state.h). A tick is 0 if the clock is above
 * TICK_CLOCK or the access is asynchronous. Then we do not check the order. */
#define TICK_WARP 11
#define TICK_CLOCK 0x07ffu
static uint16_t tick_of(const struct warp *w, uint32_t access)
{
    uint32_t t = in_block(w, w->san->vc.t[w->id]);
    return (uint16_t)(access & MEM_ASYNC || t > TICK_CLOCK ? 0 : w->id << TICK_WARP | t);
}
static bool tick_before(const struct warp *w, uint32_t tick)
{
    return tick == 0 || tick >> TICK_WARP == w->id ||
           (tick & TICK_CLOCK) <= in_block(w, w->san->vc.t[tick >> TICK_WARP]);
}

static uint32_t cell_clock(uint32_t v)
{
    return v >> 23 & 0xff;
}

/* Returns whether the access that a shadow word describes is ordered before this warp's present
 * access. A missed race is better than a false one. So accesses of several blocks count as ordered
 * if this block depends on any object of block_order.c. */
static bool ordered(struct warp *w, uint32_t cell)
{
    return (cell & CELL_BLOCK) == CELL_MANY ? block_depends(w)
                                            : block_ordered(w, cell & CELL_BLOCK, cell_clock(cell));
}

/* ---- shadow --------------------------------------------------------------------------------- */

static bool init_range(const struct emu_mem *m, uint64_t addr, uint64_t n)
{
    uint64_t o = addr - GLOBAL_BASE, e = o + n;
    for (; o < e && o % 8; o++)
        if (!(m->init[o / 8] >> (o % 8) & 1))
            return false;
    for (; o + 8 <= e; o += 8)
        if (m->init[o / 8] != 0xff)
            return false;
    for (; o < e; o++)
        if (!(m->init[o / 8] >> (o % 8) & 1))
            return false;
    return true;
}

static void set_init(struct emu_mem *m, uint64_t addr, uint64_t n)
{
    uint64_t o = addr - GLOBAL_BASE, e = o + n;
    while (o < e) {
        if (o % 8 == 0 && e - o >= 8) {
            m->init[o / 8] = 0xff;
            o += 8;
            continue;
        }
        uint32_t bit = (uint32_t)(o % 8), k = (uint32_t)MIN(e - o, 8u - bit);
        __atomic_fetch_or(&m->init[o / 8], (uint8_t)(((1u << k) - 1) << bit), __ATOMIC_RELAXED);
        o += k;
    }
}

/* Marks the undefined bytes of a store as unwritten. Call it after set_init(). */
static void unset_init(struct warp *w, const struct insn *pc, uint32_t lane, uint64_t addr)
{
    for (uint64_t bad = undef_stored(w, pc, lane); bad; bad &= bad - 1) {
        uint64_t o = addr - GLOBAL_BASE + (uint32_t)__builtin_ctzll(bad);
        __atomic_fetch_and(&w->launch->emu->mem.init[o / 8], (uint8_t) ~(1u << o % 8),
                           __ATOMIC_RELAXED);
    }
}

/* Inputs are complete before the launch, and every write to one is a finding. */
static bool watched(const struct alloc *a)
{
    return a->role != JOB_INPUT;
}

/* ---- locks ---------------------------------------------------------------------------------- */

/* A line is LOCK_CELLS neighbouring cells. Lock i guards lines i, i + LOCKS, ... */
enum { LOCKS = 1024, LOCK_CELLS = 32 };
static struct cell_lock {
    _Alignas(64) char held;
} locks[LOCKS];

static void lock_one(struct cell_lock *k)
{
    while (__atomic_test_and_set(&k->held, __ATOMIC_ACQUIRE))
        sched_yield();
}

/* Takes or releases the locks of n cells from c on. Takes them in the order of their numbers, to
 * avoid deadlocks. */
static void lock_cells(const struct launch *l, uint64_t c, uint64_t n, bool lock)
{
    if (!l->parallel)
        return;
    uint64_t first = c / LOCK_CELLS, lines = (c + n - 1) / LOCK_CELLS - first + 1;
    uint64_t from = first % LOCKS, to = from + lines;
    for (uint64_t i = lines >= LOCKS || to > LOCKS ? 0 : from; i < MIN(to, (uint64_t)LOCKS); i++) {
        if (lines < LOCKS && i < from && i + LOCKS >= to)
            continue;
        if (lock)
            lock_one(&locks[i]);
        else
            __atomic_clear(&locks[i].held, __ATOMIC_RELEASE);
    }
}

/* ---- cells ---------------------------------------------------------------------------------- */

/* An access is settled if this warp made it. It is also settled if another warp of this block made
 * it and this warp has synchronised with all others since. Returns 0 if every cell is unused or its
 * last access is settled, and another value otherwise. */
static uint32_t unsettled(const struct warp *w, const uint32_t *cell, const uint16_t *tick,
                          uint64_t n)
{
    uint32_t bad = 0, me = (w->block->linear + 1) & CELL_BLOCK, id = w->id;
    uint32_t min = in_block(w, w->san->min);
    for (uint64_t i = 0; i < n; i++)
        bad |=
            (uint32_t)(cell[i] != 0) &
            ((uint32_t)((cell[i] & (CELL_BLOCK | CELL_OTHERS)) != me) |
             ((uint32_t)(tick[i] >> TICK_WARP != id) & (uint32_t)((tick[i] & TICK_CLOCK) > min)));
    return bad;
}

/* Does the same as unsettled() for reader words. With CELL_WARPS, a tick is the phase of the newest
 * read: 1 + the number of whole-block barriers before the read. */
static uint32_t unsettled_readers(const struct warp *w, const uint32_t *cell, const uint16_t *tick,
                                  uint64_t n)
{
    uint32_t bad = unsettled(w, cell, tick, n), several = 0;
    for (uint64_t i = 0; i < n; i++)
        several |= (cell[i] & CELL_WARPS) * (uint32_t)(tick[i] >= w->san->phase);
    return bad | several;
}

static bool cells_quiet(const struct warp *w, uint64_t c, uint64_t n, bool write)
{
    const struct emu_mem *m = &w->launch->emu->mem;
    return !unsettled(w, m->writer + c, m->wtick + c, n) &&
           (!write || !unsettled_readers(w, m->reader + c, m->rtick + c, n));
}

/* Returns the new writer word of a cell after an atomic, for a run with one host thread. `was` is
 * the word before the atomic; `now` describes the atomic alone. CELL_OTHERS notes that a later
 * plain load of this block is not ordered after the atomics of other blocks. */
static uint32_t after_atomics(uint32_t was, uint32_t now)
{
    bool others =
        (was & CELL_STRONG) && ((was & CELL_OTHERS) || (was & CELL_BLOCK) != (now & CELL_BLOCK));
    return now | (others ? CELL_OTHERS : 0);
}

/* Like after_atomics(), but for several host threads: with the new word, later accesses must still
 * find a conflict with the access that `was` describes. */
static uint32_t add_atomic(uint32_t was, uint32_t now)
{
    if (was && (was & CELL_BLOCK) != (now & CELL_BLOCK))
        return CELL_STRONG | CELL_MANY;
    return was && !(was & CELL_STRONG) ? was : now;
}

static void note_readers(const struct warp *w, uint64_t c, uint64_t n, uint16_t tick)
{
    struct emu_mem *m = &w->launch->emu->mem;
    uint32_t *cell = m->reader + c, me = (w->block->linear + 1) & CELL_BLOCK;
    uint16_t *t = m->rtick + c;
    if (!unsettled_readers(w, cell, t, n)) {
        for (uint64_t i = 0; i < n; i++) {
            cell[i] = me;
            t[i] = tick;
        }
        return;
    }
    for (uint64_t i = 0; i < n; i++) {
        bool warps = (cell[i] & CELL_WARPS) && t[i] >= w->san->phase;
        if (cell[i] && (cell[i] & CELL_BLOCK) != me) {
            cell[i] = CELL_MANY;
        } else if (warps || (cell[i] == me && !tick_before(w, t[i]))) {
            cell[i] = me | CELL_WARPS;
            t[i] = w->san->phase;
        } else {
            cell[i] = me;
            t[i] = tick;
        }
    }
}

static void cells_note(const struct warp *w, uint64_t c, uint64_t n, uint32_t access)
{
    struct emu_mem *m = &w->launch->emu->mem;
    uint32_t cell = cell_of(w, access);
    uint16_t tick = tick_of(w, access);
    bool strong = access & MEM_STRONG, parallel = w->launch->parallel;
    if (access & MEM_WRITE)
        for (uint64_t i = 0; i < n; i++) {
            uint32_t was = m->writer[c + i];
            m->writer[c + i] = strong && parallel              ? add_atomic(was, cell)
                               : strong && access & MEM_ATOMIC ? after_atomics(was, cell)
                                                               : cell;
            m->wtick[c + i] = tick;
        }
    if ((access & MEM_READ) && !(access & MEM_STRONG))
        note_readers(w, c, n, tick);
}

static void note_store(struct alloc *a, const struct insn *pc)
{
    const struct insn *seen = __atomic_load_n(&a->store, __ATOMIC_RELAXED);
    while (seen < pc && !__atomic_compare_exchange_n(&a->store, &seen, pc, true, __ATOMIC_RELAXED,
                                                     __ATOMIC_RELAXED))
        ;
}

/* Returns whether pc is ld.global.nc. Its cache does not see stores of the same launch. */
static bool is_read_only(const struct insn *pc)
{
    return pc->kind == CK_LD_GLOBAL && pc->o[4] == LD_CONST;
}

static bool side_by_side(const struct warp *w, const uint64_t *addr, uint64_t lo, uint32_t n)
{
    uint32_t shift = (uint32_t)__builtin_ctz(n), seen = 0;
    if (w->active == UINT32_MAX) {
        for (uint32_t i = 0; i < 32; i++)
            seen |= 1u << ((addr[i] - lo) >> shift & 31);
    } else {
        FOR_LANES(i, w)
        {
            seen |= 1u << ((addr[i] - lo) >> shift & 31);
        }
    }
    return seen == UINT32_MAX >> (32 - __builtin_popcount(w->active));
}

bool san_global(struct warp *w, const struct insn *pc, struct alloc *a, const uint64_t *addr,
                uint64_t lo, uint64_t hi, uint32_t n, uint32_t access)
{
    struct emu_mem *m = &w->launch->emu->mem;
    uint32_t sh = w->launch->gmem_shift;
    if (!watched(a) && !(access & MEM_WRITE))
        return true;
    if ((access & MEM_STRONG) || !watched(a) || is_read_only(pc) || suspects_followed(w->launch) ||
        (w->undef && (access & MEM_WRITE))) /* the store may have undefined bytes */
        return false;
    a->dirty = true;
    bool write = access & MEM_WRITE, race = m->writer != NULL;
    uint64_t span = hi - lo + n, lanes = (uint64_t)__builtin_popcount(w->active);
    if (write && a->shadowed)
        note_store(a, pc);
    /* If `span` is shorter than all accesses together, lanes access the same bytes. */
    bool whole = span == lanes * n && side_by_side(w, addr, lo, n), parallel = w->launch->parallel;
    if (whole || (span < lanes * n && !(write && parallel))) {
        uint64_t c = (lo - GLOBAL_BASE) >> sh, k = ((hi + n - 1 - GLOBAL_BASE) >> sh) - c + 1;
        lock_cells(w->launch, c, k, true);
        bool quiet = !race || cells_quiet(w, c, k, write);
        quiet = quiet && (write || !a->shadowed || init_range(m, lo, span));
        if (race && quiet && (whole || parallel))
            cells_note(w, c, k, access);
        lock_cells(w->launch, c, k, false);
        if (!quiet)
            return false;
        if (write && whole && a->shadowed)
            set_init(m, lo, span);
        if (whole)
            return true;
    } else if (parallel) {
        FOR_LANES(i, w)
        {
            uint64_t c = (addr[i] - GLOBAL_BASE) >> sh, k = MAX(n >> sh, 1u);
            lock_cells(w->launch, c, k, true);
            bool quiet = !race || cells_quiet(w, c, k, write);
            quiet = quiet && (write || !a->shadowed || init_range(m, addr[i], n));
            if (race && quiet)
                cells_note(w, c, k, access);
            lock_cells(w->launch, c, k, false);
            if (!quiet)
                return false;
        }
    } else {
        FOR_LANES(i, w)
        {
            uint64_t c = (addr[i] - GLOBAL_BASE) >> sh;
            if (race && !cells_quiet(w, c, MAX(n >> sh, 1u), write))
                return false;
            if (!write && a->shadowed && !init_range(m, addr[i], n))
                return false;
        }
    }
    FOR_LANES(i, w)
    {
        if (race && !parallel)
            cells_note(w, (addr[i] - GLOBAL_BASE) >> sh, MAX(n >> sh, 1u), access);
        if (write && a->shadowed)
            set_init(m, addr[i], n);
    }
    return true;
}

/* ---- lane by lane, with reports ------------------------------------------------------------- */

static void block_name(const struct warp *w, uint32_t id, char *buf, size_t n)
{
    const uint32_t *g = w->launch->grid;
    if (id == CELL_MANY)
        snprintf(buf, n, "several blocks");
    else
        snprintf(buf, n, "block (%u,%u,%u)", (id - 1) % g[0], (id - 1) / g[0] % g[1],
                 (id - 1) / g[0] / g[1]);
}

static void report_race(struct warp *w, const struct insn *pc, uint32_t lane, uint64_t addr,
                        bool write, bool after_read, uint32_t cell)
{
    char what[256], other[64];
    struct race r = {.key = suspect_global((addr - GLOBAL_BASE) >> w->launch->gmem_shift),
                     .write = write,
                     .after_read = after_read,
                     .where = "race between blocks",
                     .what = what,
                     .other = other};
    mem_describe(&w->launch->emu->mem, addr, what, sizeof what, &r.object, &r.index);
    block_name(w, cell & CELL_BLOCK, other, sizeof other);
    r.between = true;
    if ((cell & CELL_BLOCK) != CELL_MANY) {
        r.block = cell & CELL_BLOCK;
        r.clock = after_read ? 0 : cell_clock(cell);
    }
    race_found(w, pc, lane, &r);
}

static bool same_value(struct warp *w, const struct insn *pc, uint32_t lane, uint64_t addr,
                       uint32_t n)
{
    uint8_t buf[128];
    return san_store_bytes(w, pc, lane, buf) == n &&
           memcmp(buf, mem_host(&w->launch->emu->mem, addr), n) == 0;
}

static bool note_same_value(struct warp *w, const struct insn *pc, uint32_t lane, uint64_t addr,
                            uint32_t n, bool after_read)
{
    char what[256];
    const char *object;
    int64_t index;
    if (!same_value(w, pc, lane, addr, n))
        return false;
    mem_describe(&w->launch->emu->mem, addr, what, sizeof what, &object, &index);
    emu_finding(w, pc, (int)lane, FIND_NOTE, object, index, NULL,
                "formally a race: this write of %s is not ordered after its %s by another "
                "thread, but it stores the value that is already there, so the result is the same "
                "in every order",
                what, after_read ? "read" : "write");
    return true;
}

enum { SEVERAL_WARPS = -1 };

static void report_warps(struct warp *w, const struct insn *pc, uint32_t lane, uint64_t addr,
                         bool write, bool after_read, int tick)
{
    char what[256], other[64];
    struct race r = {.key = suspect_global((addr - GLOBAL_BASE) >> w->launch->gmem_shift),
                     .write = write,
                     .after_read = after_read,
                     .where = "race in global memory",
                     .what = what,
                     .other = other};
    uint32_t warp = (uint32_t)tick >> TICK_WARP, t = warp * WARP;
    mem_describe(&w->launch->emu->mem, addr, what, sizeof what, &r.object, &r.index);
    if (tick == SEVERAL_WARPS)
        snprintf(other, sizeof other, "other warps of the block");
    else
        snprintf(other, sizeof other, "warp %u (threads %u to %u) of the block", warp, t,
                 MIN(t + WARP, w->launch->nthreads) - 1);
    race_found(w, pc, lane, &r);
}

static void report_read_only(struct warp *w, const struct insn *pc, uint32_t lane, uint64_t addr)
{
    char what[256];
    const char *object;
    int64_t index;
    mem_describe(&w->launch->emu->mem, addr, what, sizeof what, &object, &index);
    emu_finding(w, pc, (int)lane, FIND_RACE, object, index, NULL,
                "read of %s through the read-only cache (ld.global.nc, __ldg, const __restrict__) "
                "after this launch wrote it",
                what);
}

/* Looks for a race between this access to cell c and another warp of the block. Reports the race
 * and returns true. Reports nothing if the block depends on any object of block_order.c: other
 * blocks may have ordered its warps. */
static bool check_warps(struct warp *w, const struct insn *pc, uint32_t lane, uint64_t c,
                        uint64_t addr, uint32_t n, uint32_t access)
{
    struct emu_mem *m = &w->launch->emu->mem;
    uint64_t at = MAX((c << w->launch->gmem_shift) + GLOBAL_BASE, addr);
    uint32_t wr = m->writer[c], rd = m->reader[c], me = (w->block->linear + 1) & CELL_BLOCK;
    bool write = access & MEM_WRITE;
    bool raw = (wr & CELL_BLOCK) == me && !((wr & CELL_STRONG) && (access & MEM_STRONG)) &&
               !tick_before(w, m->wtick[c]);
    bool warps = rd == (me | CELL_WARPS);
    bool war = write && (warps ? m->rtick[c] >= w->san->phase && !w->block->san->other_sync
                               : rd == me && !tick_before(w, m->rtick[c]));
    if ((!raw && !war) || access & MEM_ASYNC || w->block->san->g_many || ordered(w, CELL_MANY) ||
        (write && note_same_value(w, pc, lane, addr, n, !raw)))
        return false;
    report_warps(w, pc, lane, at, write, !raw,
                 raw     ? (int)m->wtick[c]
                 : warps ? SEVERAL_WARPS
                         : (int)m->rtick[c]);
    return true;
}

static void check_races(struct warp *w, const struct insn *pc, uint32_t lane, uint64_t addr,
                        uint32_t n, uint32_t access)
{
    struct emu_mem *m = &w->launch->emu->mem;
    uint32_t sh = w->launch->gmem_shift, me = (w->block->linear + 1) & CELL_BLOCK;
    bool write = access & MEM_WRITE;
    uint64_t c = (addr - GLOBAL_BASE) >> sh, end = (addr + n - 1 - GLOBAL_BASE) >> sh;
    for (; c <= end; c++) {
        uint32_t wr = m->writer[c], rd = m->reader[c];
        uint64_t at = MAX((c << sh) + GLOBAL_BASE, addr);
        if (wr && is_read_only(pc)) {
            report_read_only(w, pc, lane, at);
            return;
        }
        if (check_warps(w, pc, lane, c, addr, n, access))
            return;
        if (wr && (wr & CELL_BLOCK) != me && !((wr & CELL_STRONG) && (access & MEM_STRONG)) &&
            !ordered(w, wr)) {
            if (write && note_same_value(w, pc, lane, addr, n, false))
                return;
            report_race(w, pc, lane, at, write, false, wr);
            return;
        }
        if ((wr & CELL_OTHERS) && !write && !(access & MEM_STRONG) && !ordered(w, CELL_MANY)) {
            report_race(w, pc, lane, at, false, false, CELL_MANY);
            return;
        }
        if (write && rd && (rd & CELL_BLOCK) != me && !ordered(w, rd & ~CELL_WARPS)) {
            if (note_same_value(w, pc, lane, addr, n, true))
                return;
            report_race(w, pc, lane, at, true, true, rd);
            return;
        }
    }
}

/* Keeps the old bytes of an input that the kernel writes, so that the launch can run again. */
static void keep_input(struct launch *l, uint64_t addr, uint32_t n)
{
    if (!l->keep_undo)
        return;
    pthread_mutex_lock(&l->emu->lock);
    for (uint32_t k = 0; k < n; k += 128) {
        struct undo_write *u = vec_push(&l->undo);
        u->addr = addr + k;
        u->n = MIN(n - k, 128u);
        memcpy(u->bytes, mem_host(&l->emu->mem, u->addr), u->n);
    }
    pthread_mutex_unlock(&l->emu->lock);
}

/* Reports a write to an input. It is a mistake even if the kernel restores the old value, because
 * other blocks may read the new value first. */
static void report_input(struct warp *w, const struct insn *pc, uint32_t lane, uint64_t addr)
{
    char what[256];
    const char *object;
    int64_t index;
    mem_describe(&w->launch->emu->mem, addr, what, sizeof what, &object, &index);
    emu_finding(w, pc, (int)lane, FIND_INPUT, object, index, NULL,
                "write to %s: '%s' is an input, which a kernel may only read", what, object);
}

static void follow_cells(struct warp *w, const struct insn *pc, uint32_t lane, uint64_t addr,
                         uint32_t n, uint32_t access)
{
    uint32_t sh = w->launch->gmem_shift;
    uint64_t c = (addr - GLOBAL_BASE) >> sh, end = (addr + n - 1 - GLOBAL_BASE) >> sh;
    for (; c <= end; c++) {
        uint64_t from = MAX((c << sh) + GLOBAL_BASE, addr) - addr;
        if (access & MEM_WRITE)
            suspect_store(w, pc, lane, suspect_global(c));
        else if (!(access & MEM_STRONG))
            suspect_load(w, pc, lane, suspect_global(c), n,
                         from < 64 ? ((UINT64_C(1) << (1u << sh)) - 1) << from : 0);
    }
}

void san_global_lane(struct warp *w, const struct insn *pc, uint32_t lane, uint64_t addr,
                     uint32_t n, uint32_t access)
{
    struct emu_mem *m = &w->launch->emu->mem;
    struct alloc *a = mem_find(m, addr);
    if (!a || addr < a->addr || n > a->end - addr || (!watched(a) && !(access & MEM_WRITE)))
        return;
    if (!watched(a)) {
        keep_input(w->launch, addr, n);
        report_input(w, pc, lane, addr);
    }
    a->dirty = true;
    uint64_t c = (addr - GLOBAL_BASE) >> w->launch->gmem_shift;
    uint64_t k = ((addr + n - 1 - GLOBAL_BASE) >> w->launch->gmem_shift) - c + 1;
    if (m->writer) {
        lock_cells(w->launch, c, k, true);
        if (suspects_followed(w->launch) && (access & MEM_READ))
            follow_cells(w, pc, lane, addr, n, access & ~(uint32_t)MEM_WRITE);
        check_races(w, pc, lane, addr, n, access);
        if (suspects_followed(w->launch) && (access & MEM_WRITE))
            follow_cells(w, pc, lane, addr, n, MEM_WRITE);
        cells_note(w, c, k, access);
        lock_cells(w->launch, c, k, false);
    }
    if ((access & MEM_READ) && a->shadowed && !init_range(m, addr, n)) {
        char what[256];
        const char *object;
        int64_t index;
        uint64_t bad = 0;
        for (uint32_t i = 0; i < MIN(n, 64u); i++)
            bad |= (uint64_t)!init_range(m, addr + i, 1) << i;
        char text[320];
        mem_describe(m, addr + (bad ? (uint64_t)__builtin_ctzll(bad) : 0), what, sizeof what,
                     &object, &index);
        snprintf(text, sizeof text, "read of %s, which nothing has written yet", what);
        if (m->writer)
            unwritten_apart(w, pc, suspect_global(c), w->launch->gmem_shift);
        if ((access & MEM_WRITE) || !undef_read(w, pc, lane, n, bad, object, index, text))
            emu_finding(w, pc, (int)lane, FIND_UNINIT, object, index, NULL, "%s", text);
    }
    if ((access & MEM_WRITE) && a->shadowed) {
        note_store(a, pc);
        set_init(m, addr, n);
        unset_init(w, pc, lane, addr);
    }
}

/* ---- launches ------------------------------------------------------------------------------- */

void san_launch_begin(struct launch *l)
{
    struct emu_mem *m = &l->emu->mem;
    l->gsync = block_order_open();
    for (size_t i = 0; i < m->n; i++) {
        struct alloc *a = m->allocs[i];
        if (!a->dirty || !m->writer)
            continue;
        mem_clear_cells(m, a);
    }
    m->cell_shift = l->gmem_shift;
}

/* Notes where the last store to `a` is. Copies the strings, because they must outlive the
 * module. */
static void keep_place(struct launch *l, struct alloc *a)
{
    const struct code *c = l->code;
    for (uint32_t i = 0; i < c->nfuncs; i++) {
        const struct code_func *f = &c->funcs[i];
        if (!f->decoded || a->store < f->insns || a->store >= f->insns + f->n)
            continue;
        const struct ptx_insn *p = &f->src->insns.items[a->store->src];
        bool known = p->file < c->ptx.files.n && c->ptx.files.items[p->file];
        const char *file = known ? c->ptx.files.items[p->file] : "", *slash = strrchr(file, '/');
        a->store_kernel = arena_strdup(&l->emu->strings, l->entry->src->name);
        a->store_file = arena_strdup(&l->emu->strings, slash ? slash + 1 : file);
        a->store_line = p->line;
    }
    a->store = NULL;
}

void san_launch_end(struct launch *l)
{
    struct emu_mem *m = &l->emu->mem;
    block_order_close(l->gsync);
    l->gsync = NULL;
    for (size_t i = 0; i < m->n; i++)
        if (m->allocs[i]->store)
            keep_place(l, m->allocs[i]);
}

void san_unwritten(struct emu *e)
{
    for (size_t i = 0; i < e->mem.n; i++) {
        struct alloc *a = e->mem.allocs[i];
        if (a->role != JOB_OUTPUT || !a->shadowed || init_range(&e->mem, a->addr, a->end - a->addr))
            continue;
        uint64_t n = 0, first = UINT64_MAX, elems = (a->end - a->addr) / a->elem_bytes;
        for (uint64_t k = 0; k < elems; k++)
            if (!init_range(&e->mem, a->addr + k * a->elem_bytes, a->elem_bytes)) {
                first = MIN(first, k);
                n++;
            }
        struct result_finding *f = vec_push(&e->findings);
        char what[256];
        const char *object;
        int64_t index;
        mem_describe(&e->mem, a->addr + first * a->elem_bytes, what, sizeof what, &object, &index);
        f->kind = FIND_UNWRITTEN;
        f->kernel = a->store_line ? a->store_kernel : arena_strdup(&e->strings, e->last_kernel);
        f->file = a->store_line ? a->store_file : "";
        f->line = a->store_line;
        f->other = "";
        f->object = arena_strdup(&e->strings, a->name);
        f->index = index;
        f->count = n;
        f->text = arena_printf(&e->strings,
                               "%llu of %llu elements of output '%s' were never "
                               "written, the first is %s%s",
                               (unsigned long long)n, (unsigned long long)elems, a->name, what,
                               a->store_line ? "; this line writes other elements" : "");
    }
}
