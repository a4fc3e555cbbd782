/* suspects.c - keeps the cells that are part of a race, and what the second run notes about
 * them. */
#include "emu/sanitizer/suspects.h"

#include "base/util.h"
#include "emu/sanitizer/undefined.h"

/* MAX_TRIES is the most reads of one cell that collect_reads() looks at. */
enum { MAX_KEYS = 1 << 18, MAX_READS = 1 << 18, MAX_PENDING = 1 << 12, MAX_SIGNALS = 1 << 18 };
enum { MAX_TRIES = 4096, MAX_USES = 1 << 20 };

struct place {
    const struct ptx_insn *src;
    uint32_t block[3], thread[3];
};

/* A plain load of a suspect cell by some lanes of a warp. */
struct suspect_read {
    struct place at;
    uint32_t block, clock;   /* block's number + 1; its clock (block_order.c) */
    uint32_t warp, lanes, t; /* t: the warp's own clock (state.h) */
    uint32_t epoch;          /* block_san.base, which tells blocks with the same shadow apart */
    /* Whether the kernel has used the value. True at once if we cannot follow it. */
    const bool *used;
    uint32_t next; /* 1 + index of the previous read of this cell, or 0 */
};

struct suspect_cell {
    uint64_t key;
    uint32_t reads; /* 1 + index of the last one in suspects.reads, or 0 */
    /* last: the last write. other: the last write before it that another block made. */
    struct suspect_write {
        struct place at;
        uint32_t block, clock; /* as in suspect_read; block is 0 without a write */
    } last, other;
};

/* A race whose read value the kernel has not used yet. */
struct pending_race {
    struct result_finding finding;
    const struct insn *pc;
    uint32_t uses; /* 1 + index in suspects.uses of the last read of this race, or 0 */
};
/* A read of a pending race. */
struct use {
    const bool *used;
    uint32_t next; /* 1 + index of the race's previous read, or 0 */
};

struct signal {
    uint64_t addr;
    uint32_t block, clock; /* as in suspect_read */
    bool write, acquire;
};

struct suspects {
    bool followed; /* the second run */
    struct suspect_cell *cells;
    uint32_t n, cap;
    VEC(struct suspect_read) reads;
    VEC(struct pending_race) pending;
    VEC(struct use) uses;
    VEC(const bool *) found; /* flags of the reads in the race being reported */
    VEC(struct signal) signals;
    struct arena flags;
    /* The present load. All its lanes share one flag. */
    struct {
        const struct warp *warp;
        const struct insn *pc;
        uint32_t lane;
        bool *used;
    } load;
};

void suspects_open(struct launch *l)
{
    l->suspects = xcalloc(1, sizeof *l->suspects);
}

void suspects_close(struct launch *l)
{
    struct suspects *s = l->suspects;
    if (!s)
        return;
    free(s->cells);
    vec_release(&s->reads);
    vec_release(&s->pending);
    vec_release(&s->uses);
    vec_release(&s->found);
    vec_release(&s->signals);
    arena_release(&s->flags);
    free(s);
    l->suspects = NULL;
}

bool suspects_follow(struct launch *l)
{
    l->suspects->followed = l->suspects->n > 0;
    return l->suspects->followed;
}

bool suspects_followed(const struct launch *l)
{
    return l->suspects && l->suspects->followed;
}

/* ---- cells ---------------------------------------------------------------------------------- */

static struct suspect_cell *slot(const struct suspect_cell *cells, uint32_t cap, uint64_t key)
{
    uint64_t h = key * 0x9e3779b97f4a7c15ull >> 24;
    while (cells[h % cap].key && cells[h % cap].key != key)
        h++;
    return (struct suspect_cell *)&cells[h % cap];
}

static struct suspect_cell *find_cell(const struct suspects *s, uint64_t key)
{
    struct suspect_cell *c = s->cap ? slot(s->cells, s->cap, key) : NULL;
    return c && c->key ? c : NULL;
}

bool is_suspect(const struct launch *l, uint64_t key)
{
    return find_cell(l->suspects, key) != NULL;
}

static void add_cell(struct suspects *s, uint64_t key)
{
    if (find_cell(s, key) || s->n == MAX_KEYS)
        return;
    if (s->n * 2 >= s->cap) {
        uint32_t cap = s->cap ? s->cap * 2 : 256;
        struct suspect_cell *t = xcalloc(cap, sizeof *t);
        for (uint32_t i = 0; i < s->cap; i++)
            if (s->cells[i].key)
                *slot(t, cap, s->cells[i].key) = s->cells[i];
        free(s->cells);
        s->cells = t;
        s->cap = cap;
    }
    slot(s->cells, s->cap, key)->key = key;
    s->n++;
}

static void set_thread(const struct warp *w, struct place *p, uint32_t t)
{
    const uint32_t *b = w->launch->block;
    p->thread[0] = t % b[0];
    p->thread[1] = t / b[0] % b[1];
    p->thread[2] = t / b[0] / b[1];
}

static struct place place_of(const struct warp *w, const struct insn *pc, uint32_t lane)
{
    const uint32_t *id = w->block->id;
    struct place p = {.src = insn_src(w, pc), .block = {id[0], id[1], id[2]}};
    set_thread(w, &p, w->id * WARP + lane);
    return p;
}

static void name_place(const struct warp *w, const struct place *p, char *buf, size_t n)
{
    char called[256] = "";
    if (p->src)
        ptx_describe_inlined(&w->launch->code->ptx, p->src, called, sizeof called);
    snprintf(buf, n, "line %u%s%s%s, block (%u,%u,%u) thread (%u,%u,%u)", p->src ? p->src->line : 0,
             *called ? " (" : "", called, *called ? ")" : "", p->block[0], p->block[1], p->block[2],
             p->thread[0], p->thread[1], p->thread[2]);
}

/* ---- accesses ------------------------------------------------------------------------------- */

/* Returns the flag that all lanes of the present load share. If the lane's number is lower than the
 * last lane's, the load executes again and gets a new flag. */
static bool *flag_of_load(struct suspects *s, const struct warp *w, const struct insn *pc,
                          uint32_t lane)
{
    if (s->load.warp != w || s->load.pc != pc || lane < s->load.lane)
        s->load.used = arena_alloc(&s->flags, sizeof *s->load.used);
    s->load.warp = w;
    s->load.pc = pc;
    s->load.lane = lane;
    return s->load.used;
}

void suspect_load(struct warp *w, const struct insn *pc, uint32_t lane, uint64_t key, uint32_t n,
                  uint64_t bytes)
{
    struct suspects *s = w->launch->suspects;
    struct suspect_cell *c = find_cell(s, key);
    if (!c)
        return;
    bool *used = flag_of_load(s, w, pc, lane);
    if (!undef_follow(w, pc, lane, n, bytes, used))
        *used = true;
    struct suspect_read *last = c->reads ? &s->reads.items[c->reads - 1] : NULL;
    if (last && last->used == used) { /* another lane of the same load */
        last->lanes |= 1u << lane;
        return;
    }
    if (s->reads.n == MAX_READS)
        return;
    struct suspect_read *r = vec_push(&s->reads);
    *r = (struct suspect_read){.at = place_of(w, pc, lane),
                               .block = w->block->linear + 1,
                               .clock = w->block->g_clock,
                               .warp = w->id,
                               .lanes = 1u << lane,
                               .t = w->san->vc.t[w->id],
                               .epoch = w->block->san->base,
                               .used = used,
                               .next = c->reads};
    c->reads = (uint32_t)s->reads.n;
}

void suspect_store(struct warp *w, const struct insn *pc, uint32_t lane, uint64_t key)
{
    struct suspect_cell *c = find_cell(w->launch->suspects, key);
    if (!c)
        return;
    if (c->last.block != w->block->linear + 1)
        c->other = c->last;
    c->last = (struct suspect_write){
        .at = place_of(w, pc, lane), .block = w->block->linear + 1, .clock = w->block->g_clock};
}

void suspect_signal(struct warp *w, uint64_t addr, bool write, bool acquire)
{
    struct suspects *s = w->launch->suspects;
    if (find_cell(s, suspect_global((addr - GLOBAL_BASE) >> w->launch->gmem_shift)))
        return; /* the address holds data */
    struct signal now = {addr, w->block->linear + 1, w->block->g_clock, write, acquire};
    const struct signal *last = s->signals.n ? &s->signals.items[s->signals.n - 1] : NULL;
    if (last && last->addr == addr && last->block == now.block && last->clock == now.clock &&
        last->write == write && last->acquire == acquire)
        return;
    if (s->signals.n < MAX_SIGNALS)
        *vec_push(&s->signals) = now;
}

/* ---- unwritten memory ----------------------------------------------------------------------- */

void unwritten_stands(struct emu *e, uint32_t line)
{
    pthread_mutex_lock(&e->lock);
    for (size_t k = 0; k < ARRAY_LEN(e->unwritten_lines); k++)
        if (!e->unwritten_lines[k] || e->unwritten_lines[k] == line) {
            e->unwritten_lines[k] = line;
            break;
        }
    pthread_mutex_unlock(&e->lock);
}

/* A plain access has up to 16 bytes, and only its first racing cell becomes a suspect. So we look
 * at all cells of the same 16 bytes. */
void unwritten_apart(struct warp *w, const struct insn *pc, uint64_t key, uint32_t shift)
{
    const struct suspects *s = w->launch->suspects;
    const struct ptx_insn *p = insn_src(w, pc);
    uint64_t cells = MAX(16u >> shift, 1u), first = (key - 1) / cells * cells + 1;
    if (!suspects_followed(w->launch) || s->n == MAX_KEYS || !p)
        return;
    for (uint64_t k = first; k < first + cells; k++)
        if (find_cell(s, k))
            return;
    unwritten_stands(w->launch->emu, p->line);
}

/* ---- which side lacks a fence --------------------------------------------------------------- */

/* Writes to buf which of the two blocks of a race lacks a fence. The other block signals by a
 * strong write, which this block sees by a strong read. The other block needs a fence between its
 * access and its strong write. This block needs an acquire, or a fence between its strong read and
 * its access. */
static void tell_fences(const struct warp *w, const struct race *r, char *buf, size_t n)
{
    const struct suspects *s = w->launch->suspects;
    uint32_t me = w->block->linear + 1;
    bool linked = false, first_ok = false, second_ok = false;
    const char *first = r->after_read ? "read" : "write", *second = r->write ? "write" : "read";
    vec_each (const struct signal, a, &s->signals) {
        if (a->block != r->block || !a->write || (first_ok && second_ok))
            continue;
        vec_each (const struct signal, b, &s->signals) {
            if (b->block != me || b->write || b->addr != a->addr)
                continue;
            bool one = a->clock > r->clock, two = b->acquire || w->block->g_clock > b->clock;
            if (!linked || one + two > first_ok + second_ok) {
                first_ok = one;
                second_ok = two;
            }
            linked = true;
        }
    }
    buf[0] = '\0';
    if (!linked && s->signals.n == MAX_SIGNALS)
        return;
    if (!linked)
        snprintf(buf, n,
                 "; a fence alone cannot order the two: no atomic or volatile access of this block "
                 "reads a signal that the other block gives after its %s",
                 first);
    else if (!first_ok && !second_ok)
        snprintf(buf, n,
                 "; both sides lack a fence: __threadfence() is missing between the other block's "
                 "%s and its signal, and between this block's read of the signal and this %s",
                 first, second);
    else if (!second_ok)
        snprintf(buf, n,
                 "; this block, the %sing side, lacks a fence: __threadfence() is missing between "
                 "its read of the other block's signal and this %s",
                 r->write ? "writ" : "read", second);
    else if (!first_ok)
        snprintf(buf, n,
                 "; the other block, the %sing side, lacks a fence: __threadfence() is missing "
                 "between its %s and its signal",
                 r->after_read ? "read" : "writ", first);
}

/* ---- reports -------------------------------------------------------------------------------- */

static bool is_unordered(struct warp *w, uint32_t lane, const struct suspect_read *q, bool shared)
{
    if (q->block != w->block->linear + 1)
        return !shared && !block_ordered(w, q->block, q->clock);
    if (q->epoch != w->block->san->base)
        return false;
    if (q->warp == w->id)
        return shared && (q->lanes & ~(1u << lane)) && q->t == w->san->vc.t[w->id];
    return q->t > w->san->vc.t[q->warp];
}

/* Collects in `found` the flags of all reads that are not ordered before this write. *at becomes
 * one of these reads, if possible one whose value is used. Returns their number, or 0 if the cell
 * has more than MAX_TRIES reads. */
static uint32_t collect_reads(struct warp *w, uint32_t lane, const struct race *r,
                              const struct suspect_read **at)
{
    struct suspects *s = w->launch->suspects;
    const struct suspect_cell *c = find_cell(s, r->key);
    uint32_t n = 0, tries = 0;
    *at = NULL;
    for (uint32_t i = c ? c->reads : 0; i; i = s->reads.items[i - 1].next) {
        const struct suspect_read *q = &s->reads.items[i - 1];
        if (++tries > MAX_TRIES)
            return 0;
        if (!is_unordered(w, lane, q, r->key >> 63))
            continue;
        *vec_push(&s->found) = q->used;
        n++;
        if (!*at || (*q->used && !*(*at)->used))
            *at = q;
    }
    return n;
}

static void tell(struct warp *w, const struct race *r, const char *other, const char *fences,
                 char *buf, size_t n)
{
    snprintf(buf, n, "%s: this %s of %s is not ordered after %s %s by %s%s", r->where,
             r->write ? "write" : "read", r->what, r->key >> 63 ? "the" : "its",
             r->after_read ? "read" : "write", other, fences);
    (void)w;
}

static void report_now(struct warp *w, const struct insn *pc, uint32_t lane, const struct race *r,
                       const char *other, const char *fences)
{
    char text[1000];
    tell(w, r, other, fences, text, sizeof text);
    emu_finding(w, pc, (int)lane, FIND_RACE, r->object, r->index, other, "%s", text);
}

/* Returns the pending race to which the reads in `found` belong, or NULL. The lanes of one load
 * share a pending race. After MAX_PENDING races, all races at one instruction share one. */
static struct pending_race *find_pending(struct suspects *s, const struct insn *pc)
{
    for (size_t i = s->pending.n; i-- > 0;) {
        struct pending_race *p = &s->pending.items[i];
        if (p->pc != pc)
            continue;
        bool same =
            s->found.n == 1 && p->uses && s->uses.items[p->uses - 1].used == s->found.items[0];
        return same || s->pending.n >= MAX_PENDING ? p : NULL;
    }
    return NULL;
}

static void add_uses(struct suspects *s, struct pending_race *p)
{
    vec_each (const bool *, used, &s->found) {
        if (p->uses && s->uses.items[p->uses - 1].used == *used)
            continue;
        struct use *u = vec_push(&s->uses);
        *u = (struct use){*used, p->uses};
        p->uses = (uint32_t)s->uses.n;
    }
}

static bool is_used(const struct suspects *s, const struct pending_race *p)
{
    for (uint32_t i = p->uses; i; i = s->uses.items[i - 1].next)
        if (*s->uses.items[i - 1].used)
            return true;
    return false;
}

static void name_read(const struct warp *w, uint32_t lane, const struct suspect_read *at, char *buf,
                      size_t n)
{
    struct place p = at->at;
    uint32_t others = at->lanes & ~(1u << lane);
    if (at->block == w->block->linear + 1 && at->warp == w->id && others)
        set_thread(w, &p, w->id * WARP + (uint32_t)__builtin_ctz(others));
    name_place(w, &p, buf, n);
}

void race_found(struct warp *w, const struct insn *pc, uint32_t lane, const struct race *r)
{
    struct suspects *s = w->launch->suspects;
    if (!suspects_followed(w->launch)) {
        if (s && !w->launch->parallel)
            add_cell(s, r->key);
        report_now(w, pc, lane, r, r->other, "");
        return;
    }
    if (emu_finding_seen(w, pc, FIND_RACE))
        return;
    char other[320], fences[320] = "", text[1000];
    struct race full = *r;
    const struct suspect_cell *c = find_cell(s, r->key);
    const struct suspect_read *at = NULL;
    uint32_t n = 0;
    s->found.n = 0;
    if (r->write && r->after_read) {
        n = collect_reads(w, lane, r, &at);
    } else if (!r->write && c && c->reads) {
        at = &s->reads.items[c->reads - 1]; /* suspect_load() noted it */
        if (at->warp == w->id && (at->lanes >> lane & 1) && at->block == w->block->linear + 1) {
            *vec_push(&s->found) = at->used;
            n = 1;
        }
    }
    bool used = n == 0 || s->uses.n + n > MAX_USES;
    for (size_t i = 0; i < s->found.n; i++)
        used = used || *s->found.items[i];
    struct pending_race *p = used ? NULL : find_pending(s, pc);
    if (p) {
        p->finding.count++;
        add_uses(s, p);
        return;
    }
    snprintf(other, sizeof other, "%s", r->other);
    if (r->after_read && at) {
        name_read(w, lane, at, other, sizeof other);
        full.block = at->block;
        full.clock = at->clock;
    } else if (!r->after_read && c && c->last.block) {
        bool mine = c->last.block == w->block->linear + 1;
        const struct suspect_write *q = r->between && mine ? &c->other : &c->last;
        if (q->block) {
            name_place(w, &q->at, other, sizeof other);
            full.block = full.block || !r->between ? full.block : q->block;
            full.clock = r->block ? full.clock : q->clock;
        }
    }
    if (!(r->key >> 63) && full.block && full.block != w->block->linear + 1)
        tell_fences(w, &full, fences, sizeof fences);
    if (used || s->pending.n >= MAX_PENDING) {
        report_now(w, pc, lane, r, other, fences);
        return;
    }
    tell(w, r, other, fences, text, sizeof text);
    p = vec_push(&s->pending);
    *p = (struct pending_race){.pc = pc};
    add_uses(s, p);
    emu_make_finding(w, pc, (int)lane, FIND_RACE, r->object, r->index, other, text, &p->finding);
}

static bool is_reported(const struct emu *e, const struct result_finding *f)
{
    vec_each (const struct result_finding, o, &e->findings)
        if (o->kind == FIND_RACE && o->line == f->line && str_eq(o->kernel, f->kernel))
            return true;
    return false;
}

void suspects_settle(struct launch *l)
{
    struct suspects *s = l->suspects;
    for (int pass = 0; pass < 2; pass++)
        vec_each (struct pending_race, p, &s->pending) {
            bool used = is_used(s, p);
            if (used != (pass == 0) || (!used && is_reported(l->emu, &p->finding)))
                continue;
            if (!used) {
                p->finding.kind = FIND_NOTE;
                p->finding.text = arena_printf(&l->emu->strings,
                                               "%s; the kernel does not use the "
                                               "value that was read",
                                               p->finding.text);
            }
            emu_add_finding(l->emu, &p->finding);
        }
}
