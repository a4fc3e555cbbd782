/*
 * shared.c - checks accesses to shared memory: reads of unwritten bytes, races, asynchronous
 * operations. san_shared() checks a whole warp fast. If it returns false, the caller checks each
 * lane with san_shared_lane(), which reports.
 */
#include "base/number_core.h"
#include "base/util.h"
#include "emu/sanitizer/suspects.h"

/* ---- reports -------------------------------------------------------------------------------- */

/* Returns "s" for a mangled name such as _ZZ6kernelE1s. */
static const char *plain_name(const char *name)
{
    const char *p = name, *last = name;
    if (!str_starts(name, "_Z"))
        return name;
    for (; (p = strchr(p, 'E')); p++) {
        size_t n = 0;
        const char *q = p + 1;
        while (*q >= '0' && *q <= '9' && n < 1000)
            n = n * 10 + (size_t)(*q++ - '0');
        if (n && strlen(q) == n)
            last = q;
    }
    return last;
}

/* A byte of a variable. If no variable is known, name is "", and byte counts from the start of
 * shared memory. */
struct place {
    const char *space, *name; /* space: " " before a name, else "" */
    uint32_t byte;
};

static struct place place_of(const struct warp *w, uint32_t off)
{
    const struct ptx_func *f = w->launch->entry->src;
    const struct ptx_module *m = &w->launch->code->ptx;
    for (int pass = 0; pass < 2; pass++) {
        struct ptx_var *const *v = pass ? m->vars.items : f->locals.items;
        size_t n = pass ? m->vars.n : f->locals.n;
        for (size_t i = 0; i < n; i++)
            if (v[i]->space == SP_SHARED && v[i]->placed && off >= v[i]->addr &&
                (off < v[i]->addr + v[i]->bytes || (!v[i]->bytes && off >= w->launch->smem_static)))
                return (struct place){" ", plain_name(v[i]->name), off - (uint32_t)v[i]->addr};
    }
    return (struct place){"", "", off - SMEM_BASE};
}

static void report_race(struct warp *w, const struct insn *pc, uint32_t lane, uint32_t off,
                        bool write, bool after_read, uint32_t who)
{
    char other[320], where[160], what[32];
    struct place at = place_of(w, off);
    san_describe_access(w, who, other, sizeof other);
    snprintf(where, sizeof where, "race in shared memory%s%.100s", at.space, at.name);
    snprintf(what, sizeof what, "byte %u", at.byte);
    race_found(w, pc, lane,
               &(struct race){.key = suspect_shared(w->block, off >> w->block->san->shift),
                              .write = write,
                              .after_read = after_read,
                              .object = "shared",
                              .index = (int64_t)off - SMEM_BASE,
                              .where = where,
                              .what = what,
                              .other = other});
}

static bool same_value(struct warp *w, const struct insn *pc, uint32_t lane, struct block *b,
                       uint32_t off, uint32_t n)
{
    uint8_t buf[128];
    return san_store_bytes(w, pc, lane, buf) == n && memcmp(buf, b->smem + off, n) == 0;
}

/* ---- operations in flight ------------------------------------------------------------------- */

static void pend_add(struct block_san *s, const struct inflight *f, int by)
{
    uint8_t *pend = s->pend[f->write];
    for (uint32_t g = f->off / PEND_BYTES; f->n && g <= (f->off + f->n - 1) / PEND_BYTES; g++)
        pend[g] = (uint8_t)(by > 0 ? MIN(pend[g] + 1, 255) : pend[g] ? pend[g] - 1 : 0);
}

static bool pending(const struct block_san *s, uint32_t off, uint32_t n, uint32_t access)
{
    uint8_t any = 0;
    if (!s->live_fly)
        return false;
    for (uint32_t g = off / PEND_BYTES; g <= (off + n - 1) / PEND_BYTES; g++)
        any |= s->pend[1][g] | (access & MEM_WRITE ? s->pend[0][g] : 0);
    return any != 0;
}

static void check_inflight(struct warp *w, const struct insn *pc, uint32_t lane, struct block *b,
                           uint32_t off, uint32_t n, uint32_t access)
{
    struct block_san *s = b->san;
    if (!pending(s, off, n, access))
        return;
    for (uint32_t i = 0; i < s->nfly; i++) {
        const struct inflight *f = &s->fly[i];
        char other[320];
        if (!f->used || off >= f->off + f->n || f->off >= off + n)
            continue;
        if (!f->write && !(access & MEM_WRITE))
            continue;
        san_describe_access(w, f->who, other, sizeof other);
        struct place at = place_of(w, MAX(off, f->off));
        if (f->write)
            emu_finding(
                w, pc, (int)lane, FIND_ASYNC, "shared", (int64_t)off - SMEM_BASE, other,
                "byte %u of shared memory%s%.100s is %s too early: the %s that started at %s "
                "may still write it, because a wait is missing or ends before this copy",
                at.byte, at.space, at.name, access & MEM_WRITE ? "written" : "read", f->what,
                other);
        else
            emu_finding(w, pc, (int)lane, FIND_ASYNC, "shared", (int64_t)off - SMEM_BASE, other,
                        "byte %u of shared memory%s%.100s is overwritten too early: the %s that "
                        "started at %s may still read it, because a wait is missing",
                        at.byte, at.space, at.name, f->what, other);
        return;
    }
}

/* ---- cells ---------------------------------------------------------------------------------- */

/* Returns whether the last write to cell c is ordered before this access by instruction `insn`. */
static inline bool after_write(const struct warp *w, const struct block_san *s, uint32_t c,
                               uint32_t lane, uint32_t access, uint32_t insn)
{
    uint32_t t = s->wclock[c], who = s->wwho[c];
    if (t < s->base)
        return true;
    if (who == WHO_ASYNC)
        return t <= w->san->vc.t[VC_ASYNC];
    if ((who & WHO_STRONG) && (access & MEM_STRONG))
        return true;
    if (who_warp(who) != w->id)
        return t <= w->san->vc.t[who_warp(who)];
    return t < w->san->vc.t[w->id] || who_lane(who) == lane ||
           ((access & MEM_WRITE) && who_insn(who) == insn);
}

/* Returns whether warp r's read of a cell, with stamp t, is ordered before w's access. If a wgmma
 * read the cell, entry VC_WGMMA + r of w's vector clock decides; otherwise entry r decides. We know
 * the reading instruction only if r is the last reader (`who`). If it is not, either entry is
 * enough. */
static bool after_read(const struct warp *w, uint32_t r, uint32_t t, uint32_t who)
{
    const uint32_t *vc = w->san->vc.t;
    if (t > vc[r] && t > vc[VC_WGMMA + r])
        return false;
    if (who_warp(who) != r || (t <= vc[r] && t <= vc[VC_WGMMA + r]))
        return true;
    const struct insn *in = san_insn(w, who);
    return in && (in->flags & INSN_PIN) ? t <= vc[VC_WGMMA + r] : t <= vc[r];
}

/* Returns the "who" (state.h) of a read of cell c that is not ordered before this write, or 0. */
static inline uint32_t find_reader(const struct warp *w, const struct block_san *s, uint32_t c,
                                   uint32_t lane, uint32_t insn, const bool products)
{
    if (s->rmax[c] < s->base)
        return 0;
    for (uint32_t r = 0; r < w->block->nwarps; r++) {
        uint32_t t = s->rclock[(size_t)r * s->ncells + c], who = s->rwho[c];
        if (t < s->base)
            continue;
        if (r != w->id) {
            if (products ? !after_read(w, r, t, who) : t > w->san->vc.t[r])
                return who_warp(who) == r ? who : r << 26 | (who & 0x1fffff);
        } else if (t == w->san->vc.t[r] && who_warp(who) == r && who_lane(who) != lane &&
                   who_insn(who) != insn) {
            return who;
        }
    }
    return 0;
}

static __attribute__((noinline)) uint32_t product_reader(const struct warp *w,
                                                         const struct block_san *s, uint32_t c,
                                                         uint32_t lane, uint32_t insn)
{
    return find_reader(w, s, c, lane, insn, true);
}

static inline uint32_t unordered_reader(const struct warp *w, const struct block_san *s, uint32_t c,
                                        uint32_t lane, uint32_t insn)
{
    return s->products ? product_reader(w, s, c, lane, insn)
                       : find_reader(w, s, c, lane, insn, false);
}

/* Notes that another block of the cluster reads cell c before b writes it. It is a race if b writes
 * the cell before the cluster's next barrier (check_early()). */
static void note_early(struct warp *w, const struct insn *pc, uint32_t lane, struct block *b,
                       uint32_t c)
{
    struct block_san *s = b->san;
    if (b == w->block || s->nearly == ARRAY_LEN(s->early))
        return;
    struct early_read *e = &s->early[s->nearly++];
    const struct ptx_insn *p = insn_src(w, pc);
    uint32_t t = w->id * WARP + lane;
    e->cell = c;
    e->phase = b->cluster->bar.phase;
    snprintf(e->who, sizeof e->who, "line %u, block (%u,%u,%u) thread %u", p ? p->line : 0,
             w->block->id[0], w->block->id[1], w->block->id[2], t);
    /* so that b's next write fails the quick test and reaches check_early() */
    s->rmax[c] = UINT32_MAX;
}

static void check_early(struct warp *w, const struct insn *pc, uint32_t lane, struct block *b,
                        uint32_t c)
{
    struct block_san *s = b->san;
    for (uint32_t i = 0; i < s->nearly; i++) {
        struct early_read *e = &s->early[i];
        if (e->cell != c)
            continue;
        struct place at = place_of(w, c << s->shift);
        if (e->phase == b->cluster->bar.phase)
            emu_finding(w, pc, (int)lane, FIND_RACE, "shared", (int64_t)(c << s->shift) - SMEM_BASE,
                        e->who,
                        "race in shared memory%s%.100s: this write of byte %u is not ordered after "
                        "the read by %s",
                        at.space, at.name, at.byte, e->who);
        *e = s->early[--s->nearly];
        s->rmax[c] = 0;
        return;
    }
}

/* A block remembers this many reads of unwritten cells, in a table of up to 12 MB. */
enum { MAX_BLANK = 1 << 19 };

/* Returns the slot for a thread's read of a cell, or the free slot where it belongs. The table must
 * not be full. */
static struct blank_read *blank_slot(const struct block_san *s, uint32_t cell, uint32_t thread)
{
    uint32_t h = gen_mix32(cell << 11 ^ thread);
    for (;; h++) {
        struct blank_read *r = &s->blank[h % s->cap_blank];
        if (!r->thread || (r->thread == thread && r->cell == cell))
            return r;
    }
}

static void grow_blank(struct block_san *s)
{
    struct block_san old = *s;
    s->cap_blank = s->cap_blank ? s->cap_blank * 2 : 256;
    s->blank = xcalloc(s->cap_blank, sizeof *s->blank);
    for (uint32_t i = 0; i < old.cap_blank; i++)
        if (old.blank[i].thread)
            *blank_slot(s, old.blank[i].cell, old.blank[i].thread) = old.blank[i];
    free(old.blank);
}

/* Notes that a thread of b reads an unwritten cell. If a race may be the reason, device_emu.c
 * reports only the race. But if the same thread writes the cell later (check_blank()), the read was
 * too early in any case, and is reported too. */
static void note_blank(struct warp *w, const struct insn *pc, uint32_t lane, struct block *b,
                       uint32_t c)
{
    struct block_san *s = b->san;
    const struct ptx_insn *p = insn_src(w, pc);
    if (b != w->block || !p)
        return;
    uint32_t thread = w->id * 32 + lane + 1;
    if (s->nblank * 2 >= s->cap_blank && s->nblank < MAX_BLANK)
        grow_blank(s);
    struct blank_read *r = blank_slot(s, c, thread);
    if (!r->thread && s->nblank == MAX_BLANK)
        return;
    s->nblank += !r->thread;
    *r = (struct blank_read){c, thread, p->line};
    s->rmax[c] = UINT32_MAX;
}

static void check_blank(struct warp *w, uint32_t lane, struct block *b, uint32_t c)
{
    struct block_san *s = b->san;
    uint32_t thread = w->id * 32 + lane + 1;
    const struct blank_read *r = blank_slot(s, c, thread);
    if (s->wclock[c] < s->base && r->thread)
        unwritten_stands(w->launch->emu, r->line);
    s->rmax[c] = s->rmax[c] == UINT32_MAX ? s->top : s->rmax[c];
}

static uint64_t blank_bytes(const struct block_san *s, uint32_t off, uint32_t n)
{
    uint64_t bits = 0;
    for (uint32_t k = 0; k < MIN(n, 64u); k++)
        bits |= (uint64_t)(s->wclock[(off + k) >> s->shift] < s->base) << k;
    return bits | (s->copying ? undef_shared_copies(s, off, n) : 0);
}

static void check_read(struct warp *w, const struct insn *pc, uint32_t lane, struct block *b,
                       uint32_t off, uint32_t n, uint32_t access)
{
    struct block_san *s = b->san;
    uint32_t insn = who_insn(who_of(w, pc, lane, 0));
    if (s->copying)
        undef_shared_load(w, pc, lane, s, off, n, access);
    for (uint32_t c = off >> s->shift; c <= (off + n - 1) >> s->shift; c++) {
        uint32_t at = MAX(c << s->shift, off);
        if (s->wclock[c] < s->base) {
            struct place where = place_of(w, at);
            if (at < SMEM_BASE) /* block_start() clears these bytes */
                continue;
            if (pending(s, at, 1, access)) /* check_inflight() reports it */
                return;
            note_early(w, pc, lane, b, c);
            note_blank(w, pc, lane, b, c);
            if (b == w->block)
                unwritten_apart(w, pc, suspect_shared(b, c), s->shift);
            char text[256];
            snprintf(text, sizeof text,
                     "read of byte %u of shared memory%s%.100s, which no thread of the block has "
                     "written",
                     where.byte, where.space, where.name);
            if ((access & MEM_WRITE) || !undef_read(w, pc, lane, n, blank_bytes(s, off, n),
                                                    "shared", (int64_t)at - SMEM_BASE, text))
                emu_finding(w, pc, (int)lane, FIND_UNINIT, "shared", (int64_t)at - SMEM_BASE, NULL,
                            "%s", text);
            return;
        }
        if (b == w->block && !after_write(w, s, c, lane, access & ~(uint32_t)MEM_WRITE, insn)) {
            report_race(w, pc, lane, at, false, false, s->wwho[c]);
            return;
        }
    }
}

static void check_write(struct warp *w, const struct insn *pc, uint32_t lane, struct block *b,
                        uint32_t off, uint32_t n, uint32_t access)
{
    struct block_san *s = b->san;
    uint32_t insn = who_insn(who_of(w, pc, lane, 0));
    if (b != w->block)
        return;
    for (uint32_t c = off >> s->shift; c <= (off + n - 1) >> s->shift; c++) {
        uint32_t at = MAX(c << s->shift, off), reader;
        if (s->nearly)
            check_early(w, pc, lane, b, c);
        if (s->nblank)
            check_blank(w, lane, b, c);
        if (!after_write(w, s, c, lane, access | MEM_WRITE, insn)) {
            if (!same_value(w, pc, lane, b, off, n))
                report_race(w, pc, lane, at, true, false, s->wwho[c]);
            return;
        }
        if ((reader = unordered_reader(w, s, c, lane, insn))) {
            if (!same_value(w, pc, lane, b, off, n))
                report_race(w, pc, lane, at, true, true, reader);
            return;
        }
    }
}

static void record(struct warp *w, struct block *b, uint32_t off, uint32_t n, uint32_t access,
                   uint32_t who)
{
    struct block_san *s = b->san;
    uint32_t t = b == w->block ? w->san->vc.t[w->id] : s->base;
    for (uint32_t c = off >> s->shift; c <= (off + n - 1) >> s->shift; c++) {
        if (access & MEM_WRITE) {
            s->wclock[c] = t;
            s->wwho[c] = b == w->block ? who : WHO_ASYNC;
        }
        if ((access & MEM_READ) && !(access & MEM_STRONG) && b == w->block) {
            s->rclock[(size_t)w->id * s->ncells + c] = t;
            s->rmax[c] = MAX(s->rmax[c], t);
            s->rwho[c] = who;
        }
    }
}

static void report_gone(struct warp *w, const struct insn *pc, uint32_t lane, const struct block *b)
{
    emu_finding(
        w, pc, (int)lane, FIND_RACE, "shared", -1, NULL,
        "race in a cluster: this accesses the shared memory of block (%u,%u,%u), which may have "
        "ended by then: a cluster barrier is missing after this access",
        b->id[0], b->id[1], b->id[2]);
}

/* A block must not access the shared memory of a block b that may have ended. We note the last
 * plain access by another block. san_block_end() reports it if no cluster barrier completed after
 * it. A later strong access, such as an arrival on b's mbarrier, clears the note: it may
 * synchronise the blocks. */
static __attribute__((noinline)) void check_gone(struct warp *w, const struct insn *pc,
                                                 uint32_t lane, struct block *b, uint32_t access)
{
    struct remote_access *r = &b->san->remote;
    if (b->nrunning == 0)
        report_gone(w, pc, lane, b);
    else if (access & MEM_STRONG)
        r->warp = r->warp && r->warp->block == w->block ? NULL : r->warp;
    else if (!(access & MEM_ASYNC) && w->frame == w->frame0)
        *r = (struct remote_access){w, pc, lane, b->cluster->bar.phase};
}

void san_block_end(struct block *b)
{
    if (!b->san || !b->san->remote.warp || b->san->remote.phase != b->cluster->bar.phase)
        return;
    struct remote_access *r = &b->san->remote;
    struct frame *was = r->warp->frame;
    r->warp->frame = r->warp->frame0;
    report_gone(r->warp, r->pc, r->lane, b);
    r->warp->frame = was;
}

static void follow_cells(struct warp *w, const struct insn *pc, uint32_t lane,
                         const struct block *b, uint32_t off, uint32_t n, bool write)
{
    uint32_t sh = b->san->shift;
    for (uint32_t c = off >> sh; c <= (off + n - 1) >> sh; c++) {
        uint32_t from = MAX(c << sh, off) - off;
        if (write)
            suspect_store(w, pc, lane, suspect_shared(b, c));
        else
            suspect_load(w, pc, lane, suspect_shared(b, c), n,
                         from < 64 ? ((UINT64_C(1) << (1u << sh)) - 1) << from : 0);
    }
}

void san_shared_lane(struct warp *w, const struct insn *pc, uint32_t lane, struct block *b,
                     uint32_t off, uint32_t n, uint32_t access)
{
    if (!b->san || !n || !(access & (MEM_READ | MEM_WRITE)))
        return;
    if (b != w->block)
        check_gone(w, pc, lane, b, access);
    check_inflight(w, pc, lane, b, off, n, access);
    bool follow = b == w->block && suspects_followed(w->launch);
    if ((access & MEM_READ) && !(access & MEM_STRONG) && follow)
        follow_cells(w, pc, lane, b, off, n, false);
    if (access & MEM_READ)
        check_read(w, pc, lane, b, off, n, access);
    if (access & MEM_WRITE)
        check_write(w, pc, lane, b, off, n, access);
    if ((access & MEM_WRITE) && follow)
        follow_cells(w, pc, lane, b, off, n, true);
    record(w, b, off, n, access, who_of(w, pc, lane, access));
    if ((access & MEM_WRITE) && b->san->copying)
        undef_shared_stored(w, pc, lane, b, off, n);
}

/* ---- a warp at once ------------------------------------------------------------------------- */

/* Returns whether all cells are written, and the warp has synchronised with all others since these
 * writes. */
static bool quiet_read(const struct warp *w, const struct block_san *s, uint32_t c, uint32_t n)
{
    uint32_t lo = UINT32_MAX, hi = 0;
    const uint32_t *t = s->wclock + c;
    for (uint32_t i = 0; i < n; i++) {
        lo = t[i] < lo ? t[i] : lo;
        hi = t[i] > hi ? t[i] : hi;
    }
    return lo >= s->base && hi <= MIN(w->san->min, w->san->vc.t[w->id] - 1);
}

/* Returns whether the warp has synchronised with all others since the last accesses to the
 * cells. */
static bool quiet_write(const struct warp *w, const struct block_san *s, uint32_t c, uint32_t n)
{
    uint32_t hi = 0;
    const uint32_t *t = s->wclock + c, *r = s->rmax + c;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t m = t[i] > r[i] ? t[i] : r[i];
        hi = m > hi ? m : hi;
    }
    return hi <= MIN(w->san->min, w->san->vc.t[w->id] - 1);
}

static void note_read(struct warp *w, struct block_san *s, uint32_t c, uint32_t n, uint32_t who)
{
    uint32_t t = w->san->vc.t[w->id];
    uint32_t *rc = s->rclock + (size_t)w->id * s->ncells + c, *rm = s->rmax + c, *rw = s->rwho + c;
    for (uint32_t i = 0; i < n; i++) {
        rc[i] = t;
        rm[i] = rm[i] > t ? rm[i] : t;
        rw[i] = who;
    }
}

static void note_write(struct warp *w, struct block_san *s, uint32_t c, uint32_t n, uint32_t who)
{
    uint32_t t = w->san->vc.t[w->id];
    for (uint32_t i = 0; i < n; i++) {
        s->wclock[c + i] = t;
        s->wwho[c + i] = who;
    }
}

static bool lane_is_clean(const struct warp *w, const struct block_san *s, uint32_t c, uint32_t n,
                          uint32_t lane, uint32_t access, uint32_t insn)
{
    for (uint32_t end = c + n; c < end; c++) {
        if ((access & MEM_READ) && s->wclock[c] < s->base)
            return false;
        if (!after_write(w, s, c, lane, access, insn))
            return false;
        if ((access & MEM_WRITE) &&
            (s->rmax[c] == UINT32_MAX || unordered_reader(w, s, c, lane, insn)))
            return false;
    }
    return true;
}

static void report_same_insn(struct warp *w, const struct insn *pc, uint32_t lane, uint32_t off,
                             uint32_t who)
{
    char other[320];
    struct place at = place_of(w, off);
    san_describe_access(w, who, other, sizeof other);
    emu_finding(w, pc, (int)lane, FIND_RACE, "shared", (int64_t)off - SMEM_BASE, other,
                "race in shared memory%s%s: this write of byte %u is not ordered after the write "
                "by %s",
                at.space, at.name, at.byte, other);
}

/* Reports two lanes of a store that write different values to one address: PTX does not say which
 * value stays. */
static void check_same_insn(struct warp *w, const struct insn *pc, const uint64_t *addr)
{
    const struct block_san *s = w->block->san;
    FOR_LANES(i, w)
    {
        uint32_t who = s->wwho[(uint32_t)addr[i] >> s->shift], j = who_lane(who);
        uint8_t mine[128], theirs[128];
        if (j == i || addr[j] != addr[i])
            continue;
        uint32_t n = san_store_bytes(w, pc, i, mine);
        if (!n || san_store_bytes(w, pc, j, theirs) != n || memcmp(mine, theirs, n) == 0)
            continue;
        report_same_insn(w, pc, i, (uint32_t)addr[i], who);
        return;
    }
}

bool san_shared(struct warp *w, const struct insn *pc, const uint64_t *addr, uint32_t n,
                uint32_t access)
{
    struct block_san *s = w->block->san;
    if (!s)
        return true;
    if ((access & (MEM_ATOMIC | MEM_STRONG)) || s->copying)
        return false;
    uint32_t cells = MAX(n >> s->shift, 1u), who = who_of(w, pc, 0, access);
    bool follow = suspects_followed(w->launch);
    FOR_LANES(i, w)
    {
        uint32_t c = (uint32_t)addr[i] >> s->shift;
        for (uint32_t k = 0; follow && k < cells; k++)
            if (is_suspect(w->launch, suspect_shared(w->block, c + k)))
                return false;
        if (s->live_fly && pending(s, (uint32_t)addr[i], n, access))
            return false;
        if (!(access & MEM_WRITE ? quiet_write(w, s, c, cells) : quiet_read(w, s, c, cells)) &&
            !lane_is_clean(w, s, c, cells, i, access, who_insn(who)))
            return false;
    }
    FOR_LANES(i, w)
    {
        uint32_t c = (uint32_t)addr[i] >> s->shift;
        if (access & MEM_WRITE)
            note_write(w, s, c, cells, who | i << 21);
        else
            note_read(w, s, c, cells, who | i << 21);
    }
    if (access & MEM_WRITE)
        check_same_insn(w, pc, addr);
    return true;
}

/* ---- asynchronous operations ---------------------------------------------------------------- */

uint32_t san_async_begin(struct warp *w, const struct insn *pc, uint32_t lane, struct block *b,
                         uint32_t off, uint32_t n, bool write, const char *what)
{
    struct block_san *s = b->san;
    if (!s || !n || off >= b->smem_bytes || n > b->smem_bytes - off)
        return 0;
    check_inflight(w, pc, lane, b, off, n, write ? MEM_WRITE : MEM_READ);
    if (write)
        check_write(w, pc, lane, b, off, n, MEM_WRITE);
    else
        check_read(w, pc, lane, b, off, n, MEM_READ);
    uint32_t id;
    if (s->free_fly) {
        id = s->free_fly;
        s->free_fly = s->fly[id - 1].next_free;
    } else {
        if (s->nfly == s->cap_fly) {
            s->cap_fly = s->cap_fly ? s->cap_fly * 2 : 64;
            s->fly = xrealloc(s->fly, s->cap_fly * sizeof *s->fly);
        }
        id = ++s->nfly;
    }
    s->fly[id - 1] = (struct inflight){off, n, write, true, what, who_of(w, pc, lane, 0), 0};
    s->live_fly++;
    pend_add(s, &s->fly[id - 1], 1);
    return id;
}

void san_async_end(struct block *b, uint32_t id)
{
    struct block_san *s = b->san;
    if (!s || !id || id > s->nfly || !s->fly[id - 1].used)
        return;
    struct inflight *f = &s->fly[id - 1];
    pend_add(s, f, -1);
    f->used = false;
    f->next_free = s->free_fly;
    s->free_fly = id;
    s->live_fly--;
}

void san_async_written(struct block *b, uint32_t off, uint32_t n, const void *key)
{
    struct block_san *s = b->san;
    if (!s || !n || off >= b->smem_bytes || n > b->smem_bytes - off)
        return;
    uint32_t t = s->base;
    if (key && (const uint8_t *)key >= b->smem && (const uint8_t *)key < b->smem + b->smem_bytes) {
        s->async_clock = MAX(s->async_clock, s->top) + 1;
        t = s->async_clock;
        s->top = MAX(s->top, t);
        san_async_key(b, key, t);
    }
    if (s->copying)
        undef_shared_clear(s, off, n);
    for (uint32_t c = off >> s->shift; c <= (off + n - 1) >> s->shift; c++) {
        s->wclock[c] = t;
        s->wwho[c] = WHO_ASYNC;
    }
}

void san_proxy_fence(struct warp *w)
{
    struct block_san *s = w->block->san;
    if (!s)
        return;
    for (uint32_t i = 0; i < VC_N; i++)
        s->fenced[i] = MAX(s->fenced[i], w->san->vc.t[i]);
    san_warp_sync(w, FULL);
}

void san_proxy_check(struct warp *w, const struct insn *pc, struct block *b, uint32_t off,
                     uint32_t n, const char *what)
{
    struct block_san *s = b->san;
    if (!s || b != w->block || !n || off >= b->smem_bytes || n > b->smem_bytes - off)
        return;
    for (uint32_t c = off >> s->shift; c <= (off + n - 1) >> s->shift; c++) {
        uint32_t who = s->wwho[c];
        if (s->wclock[c] < s->base || who == WHO_ASYNC || s->wclock[c] <= s->fenced[who_warp(who)])
            continue;
        char other[320];
        struct place at = place_of(w, c << s->shift);
        san_describe_access(w, who, other, sizeof other);
        emu_finding(w, pc, __builtin_ctz(w->active), FIND_ASYNC, "shared",
                    ((int64_t)c << s->shift) - SMEM_BASE, other,
                    "%s reads byte %u of shared memory%s%.100s through the async proxy, but no "
                    "fence.proxy.async follows the write at %s",
                    what, at.byte, at.space, at.name, other);
        return;
    }
}
