/*
 * global_memory.c - reserves one range of host memory as global memory, and makes allocations
 * inside it, with guard zones and a shadow (the sanitizer's notes about each byte).
 *
 * A device address is GLOBAL_BASE + offset into the range. So addresses are the same in every run,
 * and translating one takes one addition.
 */
#include <sys/mman.h>

#include "base/util.h"
#include "emu/core/machine.h"

#define PAGE 4096u

static uint8_t *reserve(uint64_t bytes)
{
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                   -1, 0);
    return p == MAP_FAILED ? NULL : p;
}

int mem_init(struct emu_mem *m, uint64_t limit, bool shadow, struct err *err)
{
    memset(m, 0, sizeof *m);
    m->limit = limit ? limit : 64ull << 30;
    m->size = m->limit + m->limit / 4 + (256ull << 20);
    m->size = (m->size + PAGE - 1) / PAGE * PAGE;
    m->host = reserve(m->size);
    if (m->host)
        m->touched = reserve(m->size / 128 + 1);
    if (m->host && shadow) {
        m->init = reserve(m->size / 8);
        /* Each array has 4 or 2 bytes for each cell (sanitizer/state.h). We reserve enough for
         * cells of one byte, the smallest size. */
        m->writer = (uint32_t *)(void *)reserve(m->size * 4);
        m->reader = (uint32_t *)(void *)reserve(m->size * 4);
        m->wtick = (uint16_t *)(void *)reserve(m->size * 2);
        m->rtick = (uint16_t *)(void *)reserve(m->size * 2);
    }
    if (!m->host || (shadow && (!m->init || !m->writer || !m->reader || !m->wtick || !m->rtick))) {
        /* The shadow takes 4 + 4 + 2 + 2 bytes, and the bit in m->init, for each byte. */
        uint64_t bytes = m->size + (shadow ? m->size * 12 + m->size / 8 : 0);
        err_errno(err, "the emulator cannot reserve %llu bytes of address space (see ulimit -v)",
                  (unsigned long long)bytes);
        mem_release(m);
        return -1;
    }
    return 0;
}

static void forget_lazy(struct alloc *a)
{
    if (a->lazy)
        lazy_release(a->lazy);
    free(a->lazy);
    a->lazy = NULL;
}

void mem_release(struct emu_mem *m)
{
    if (m->host)
        munmap(m->host, m->size);
    if (m->touched)
        munmap(m->touched, m->size / 128 + 1);
    if (m->init)
        munmap(m->init, m->size / 8);
    if (m->writer)
        munmap(m->writer, m->size * 4);
    if (m->reader)
        munmap(m->reader, m->size * 4);
    if (m->wtick)
        munmap(m->wtick, m->size * 2);
    if (m->rtick)
        munmap(m->rtick, m->size * 2);
    for (size_t i = 0; i < m->n; i++) {
        forget_lazy(m->allocs[i]);
        free(m->allocs[i]);
    }
    free(m->allocs);
    memset(m, 0, sizeof *m);
}

struct alloc *mem_find(const struct emu_mem *m, uint64_t addr)
{
    size_t lo = 0, hi = m->n;
    while (lo < hi) {
        size_t mid = (lo + hi) / 2;
        if (addr < m->allocs[mid]->lo)
            hi = mid;
        else if (addr >= m->allocs[mid]->hi)
            lo = mid + 1;
        else
            return m->allocs[mid];
    }
    return NULL;
}

/* Finds the first gap that is big enough. *at is the new allocation's index in allocs[]. */
static bool find_gap(const struct emu_mem *m, uint64_t need, size_t *at, uint64_t *start)
{
    uint64_t from = GLOBAL_BASE + PAGE;
    for (size_t i = 0; i <= m->n; i++) {
        uint64_t to = i < m->n ? m->allocs[i]->lo : GLOBAL_BASE + m->size;
        if (to >= from && to - from >= need) {
            *at = i;
            *start = from;
            return true;
        }
        if (i < m->n)
            from = (m->allocs[i]->hi + PAGE - 1) / PAGE * PAGE +
                   PAGE; /* an unused page between two allocations */
    }
    return false;
}

struct alloc *mem_alloc(struct emu_mem *m, const struct device_alloc *s, struct err *err)
{
    uint64_t align = s->align ? s->align : 256;
    if ((align & (align - 1)) || align > 1u << 26) {
        err_set(err, ERR_INTERNAL, "bad alignment %llu", (unsigned long long)align);
        return NULL;
    }
    if (s->bytes > m->limit || m->used + s->bytes > m->limit || s->offset > 1ull << 32) {
        err_set(err, ERR_LIMIT, "'%s' needs %llu bytes; the limit is %llu", s->name,
                (unsigned long long)s->bytes, (unsigned long long)m->limit);
        return NULL;
    }
    uint64_t need = s->bytes + s->offset + 3 * align + 2 * GUARD_BYTES + PAGE, start;
    size_t at;
    if (!find_gap(m, need, &at, &start)) {
        err_set(err, ERR_LIMIT, "no room for '%s' (%llu bytes)", s->name,
                (unsigned long long)s->bytes);
        return NULL;
    }
    /* The address is a multiple of align but not of 2 * align, so a kernel gets no more alignment
     * than Hone promises. */
    uint64_t a = (start + GUARD_BYTES + align - 1) / align * align;
    if (a % (2 * align) == 0)
        a += align;
    struct alloc *al = xcalloc(1, sizeof *al);
    al->addr = a + s->offset;
    al->end = al->addr + s->bytes;
    al->lo = start;
    al->hi = (al->end + GUARD_BYTES + PAGE - 1) / PAGE * PAGE;
    snprintf(al->name, sizeof al->name, "%s", s->name ? s->name : "?");
    al->elem_bytes = s->elem_bytes ? s->elem_bytes : 1;
    al->role = s->role;
    al->rank = s->rank;
    memcpy(al->dims, s->dims, sizeof al->dims);
    memset(mem_host(m, al->lo), GUARD_PATTERN, al->addr - al->lo);
    memset(mem_host(m, al->end), GUARD_PATTERN, al->hi - al->end);
    m->allocs = xrealloc(m->allocs, (m->n + 1) * sizeof *m->allocs);
    memmove(m->allocs + at + 1, m->allocs + at, (m->n - at) * sizeof *m->allocs);
    m->allocs[at] = al;
    m->n++;
    m->used += s->bytes;
    return al;
}

void mem_make_lazy(struct emu_mem *m, struct alloc *a, const struct job_buffer *b,
                   enum lazy_kind kind, uint64_t seed)
{
    forget_lazy(a);
    a->lazy = xcalloc(1, sizeof *a->lazy);
    lazy_init(a->lazy, mem_host(m, a->addr), b, kind, seed);
}

/* Zeroes bytes [from, to) after `base`. If they cover many pages, gives the pages back to the
 * system, which makes them zero when they are next used. For a few pages, memset() is faster. */
static void clear_bytes(void *base, uint64_t from, uint64_t to)
{
    uint64_t a = (from + PAGE - 1) / PAGE * PAGE, b = to / PAGE * PAGE;
    if (b <= a || b - a < 16 * PAGE) {
        memset((char *)base + from, 0, to - from);
        return;
    }
    memset((char *)base + from, 0, a - from);
    madvise((char *)base + a, b - a, MADV_DONTNEED);
    memset((char *)base + b, 0, to - b);
}

void mem_clear_cells(struct emu_mem *m, struct alloc *a)
{
    uint64_t lo = (a->lo - GLOBAL_BASE) >> m->cell_shift,
             hi = ((a->hi - GLOBAL_BASE) >> m->cell_shift) + 1;
    clear_bytes(m->writer, lo * sizeof *m->writer, hi * sizeof *m->writer);
    clear_bytes(m->reader, lo * sizeof *m->reader, hi * sizeof *m->reader);
    a->dirty = false;
}

void mem_free(struct emu_mem *m, struct alloc *a)
{
    for (size_t i = 0; i < m->n; i++) {
        if (m->allocs[i] != a)
            continue;
        uint64_t lo = a->lo - GLOBAL_BASE, hi = a->hi - GLOBAL_BASE;
        clear_bytes(m->host, lo, hi);
        if (m->init)
            clear_bytes(m->init, lo / 8, hi / 8); /* exact: lo and hi are multiples of PAGE */
        if (m->writer && a->dirty) {
            uint64_t first = lo >> m->cell_shift, end = (hi >> m->cell_shift) + 1;
            clear_bytes(m->wtick, first * sizeof *m->wtick, end * sizeof *m->wtick);
            clear_bytes(m->rtick, first * sizeof *m->rtick, end * sizeof *m->rtick);
            mem_clear_cells(m, a);
        }
        memmove(m->allocs + i, m->allocs + i + 1, (m->n - i - 1) * sizeof *m->allocs);
        m->n--;
        m->used -= a->end - a->addr;
        forget_lazy(a);
        free(a);
        return;
    }
}

void mem_copy_init(struct emu_mem *m, uint64_t to, uint64_t from, uint64_t n)
{
    uint64_t t = to - GLOBAL_BASE, f = from - GLOBAL_BASE;
    for (uint64_t i = 0; m->init && i < n; i++) {
        uint8_t bit = (uint8_t)(1u << (t + i) % 8), *at = &m->init[(t + i) / 8];
        bool written = m->init[(f + i) / 8] >> (f + i) % 8 & 1;
        *at = (uint8_t)(written ? *at | bit : *at & ~bit);
    }
}

void mem_mark_init(struct emu_mem *m, uint64_t addr, uint64_t n, bool init)
{
    if (!m->init || !n)
        return;
    uint64_t o = addr - GLOBAL_BASE, e = o + n;
    for (; o < e && o % 8; o++)
        m->init[o / 8] =
            (uint8_t)(init ? m->init[o / 8] | 1u << (o % 8) : m->init[o / 8] & ~(1u << (o % 8)));
    if (e - o >= 8 && o < e) {
        memset(m->init + o / 8, init ? 0xff : 0, (e - o) / 8);
        o += (e - o) / 8 * 8;
    }
    for (; o < e; o++)
        m->init[o / 8] =
            (uint8_t)(init ? m->init[o / 8] | 1u << (o % 8) : m->init[o / 8] & ~(1u << (o % 8)));
}
