/*
 * order.c - changes the vector clocks of warps (state.h) at fences, barriers and strong accesses
 * (volatile, relaxed, acquire, release or atomic). Also creates and frees a block's shadow, and
 * describes accesses for findings.
 *
 * A strong write publishes the clock that the warp had at its last fence, under the written
 * address. Without a fence, it publishes nothing. A warp that makes a strong read of this address
 * joins the published clock at its next fence, or at once if the read is an acquire.
 */
#include "emu/sanitizer/state.h"

#include "base/util.h"

/* With more entries in block_san.objs, we no longer look for races between warps of the block in
 * global memory (block_san.g_many). */
#define MAX_OBJS 16384u

/* ---- clocks --------------------------------------------------------------------------------- */

static void join(struct vclock *a, const struct vclock *b)
{
    for (uint32_t i = 0; i < VC_ALL; i++)
        a->t[i] = a->t[i] > b->t[i] ? a->t[i] : b->t[i];
}

static void set_min(struct warp *w)
{
    uint32_t m = w->san->vc.t[VC_ASYNC];
    for (uint32_t i = 0; i < w->block->nwarps; i++)
        if (i != w->id)
            m = MIN(m, w->san->vc.t[i]);
    w->san->min = m;
}

static void tick(struct warp *w)
{
    uint32_t t = ++w->san->vc.t[w->id];
    w->block->san->top = MAX(w->block->san->top, t);
}

/* Returns the entry for the key. If there is none, adds an empty entry if `make` is true, and
 * otherwise returns NULL. */
static struct hb_obj *find_obj(struct block *b, const void *key, bool make)
{
    struct block_san *s = b->san;
    if (!s->cap_objs || (make && s->nobjs * 2 >= s->cap_objs)) {
        uint32_t cap = s->cap_objs ? s->cap_objs * 2 : 64;
        struct hb_obj *n = xcalloc(cap, sizeof *n);
        for (uint32_t i = 0; i < s->cap_objs; i++) {
            if (!s->objs[i].key)
                continue;
            uint64_t h = (uintptr_t)s->objs[i].key * 0x9e3779b97f4a7c15ull >> 32;
            while (n[h % cap].key)
                h++;
            n[h % cap] = s->objs[i];
        }
        free(s->objs);
        s->objs = n;
        s->cap_objs = cap;
    }
    uint64_t h = (uintptr_t)key * 0x9e3779b97f4a7c15ull >> 32;
    for (;; h++) {
        struct hb_obj *o = &s->objs[h % s->cap_objs];
        if (o->key == key)
            return o;
        if (!o->key) {
            if (!make)
                return NULL;
            o->key = key;
            memset(&o->vc, 0, sizeof o->vc);
            s->nobjs++;
            return o;
        }
    }
}

void san_release(struct warp *w, const void *key)
{
    if (!w->launch->sanitize)
        return;
    join(&find_obj(w->block, key, true)->vc, &w->san->vc);
    tick(w);
}

void san_acquire(struct warp *w, const void *key)
{
    if (!w->launch->sanitize)
        return;
    struct hb_obj *o = find_obj(w->block, key, false);
    if (!o)
        return;
    uint32_t own = w->san->vc.t[w->id];
    w->block->san->other_sync = true;
    join(&w->san->vc, &o->vc);
    w->san->vc.t[w->id] = own;
    tick(w);
    set_min(w);
}

void san_barrier_full(struct warp *w, const void *key)
{
    if (!w->launch->sanitize)
        return;
    /* All warps have released under this key, so every access before the barrier has a stamp of at
     * most m. When a warp leaves the barrier, its own clock is above m. */
    const struct hb_obj *o = find_obj(w->block, key, true);
    uint32_t m = 0;
    for (uint32_t i = 0; i < VC_N; i++)
        m = MAX(m, o->vc.t[i]);
    struct warp_san *s = w->san;
    uint32_t own = MAX(s->vc.t[w->id], m + 1);
    for (uint32_t i = 0; i < VC_ASYNC; i++)
        s->vc.t[i] = MAX(s->vc.t[i], m);
    for (uint32_t i = VC_ASYNC; i < VC_ALL; i++)
        s->vc.t[i] = MAX(s->vc.t[i], o->vc.t[i]);
    s->vc.t[w->id] = own;
    s->phase = (uint16_t)MIN(s->phase + 1u, (uint32_t)UINT16_MAX);
    w->block->san->top = MAX(w->block->san->top, own);
    set_min(w);
}

/* Call it when lanes of a warp have exited. Joins the warp's clock into block_san.exited. Unlike a
 * release, this need not advance the warp's own clock. The reason is that only barriers of the
 * whole block or cluster release `exited`, and that they complete only after the warp's other lanes
 * have arrived or exited. So the accesses that the other lanes make before they arrive are ordered
 * before the barrier too. */
void san_exit(struct warp *w)
{
    if (!w->launch->sanitize || !w->block->nlive)
        return;
    join(&w->block->san->exited, &w->san->vc);
    w->block->san->any_exited = true;
}

void san_exits_release(struct block *b, const void *key)
{
    if (b->san && b->san->any_exited)
        join(&find_obj(b, key, true)->vc, &b->san->exited);
}

void san_async_key(struct block *b, const void *key, uint32_t t)
{
    struct hb_obj *o = find_obj(b, key, true);
    o->vc.t[VC_ASYNC] = MAX(o->vc.t[VC_ASYNC], t);
}

void san_warp_sync(struct warp *w, uint32_t mask)
{
    (void)mask;
    if (w->launch->sanitize)
        tick(w);
}

uint32_t san_product(struct warp *w)
{
    if (!w->launch->sanitize)
        return 0;
    uint32_t t = w->san->vc.t[w->id];
    w->block->san->products = true;
    tick(w);
    return t;
}

void san_product_done(struct warp *w, uint32_t warp, uint32_t t)
{
    if (w->launch->sanitize)
        w->san->vc.t[VC_WGMMA + warp] = MAX(w->san->vc.t[VC_WGMMA + warp], t);
}

void san_fence(struct warp *w, uint32_t scope)
{
    if (!w->launch->sanitize)
        return;
    struct warp_san *s = w->san;
    if (s->has_acq) {
        uint32_t own = s->vc.t[w->id];
        w->block->san->other_sync = true;
        join(&s->vc, &s->acq);
        s->vc.t[w->id] = own;
        s->has_acq = false;
        memset(&s->acq, 0, sizeof s->acq);
        set_min(w);
    }
    s->rel = s->vc;
    s->has_rel = true;
    tick(w);
    if (scope)
        block_fence(w);
}

/* ---- strong accesses ------------------------------------------------------------------------ */

/* Orders warps of the block by a strong access. The key is the host address of the accessed memory.
 * If `release` is true, the access is a write, which publishes a clock under the key. Otherwise it
 * is a read, which joins the published clock, or will join it at the warp's next fence. */
static void order_warps(struct warp *w, const void *key, uint32_t access, bool release)
{
    struct block *b = w->block;
    struct warp_san *s = w->san;
    if (release) {
        if (s->has_rel)
            join(&find_obj(b, key, true)->vc, &s->rel);
        return;
    }
    struct hb_obj *o = find_obj(b, key, false);
    if (!o)
        return;
    if (access & ACCESS_ACQUIRE) {
        san_acquire(w, key);
    } else {
        join(&s->acq, &o->vc);
        s->has_acq = true;
    }
}

static void order_shared(struct warp *w, uint32_t addr, uint32_t access, bool release)
{
    uint32_t off;
    struct block *b = smem_block(w, addr, &off);
    if (b == w->block && off < b->smem_bytes)
        order_warps(w, b->smem + off, access, release);
}

static void order_global(struct warp *w, const struct insn *pc, uint64_t addr, uint32_t access,
                         bool release)
{
    struct block_san *s = w->block->san;
    bool others = !(pc->flags & INSN_CTA);
    if (others && release)
        block_publish(w, addr);
    else if (others)
        block_observe(w, addr, access & ACCESS_ACQUIRE);
    if (w->block->nwarps > 1 && !s->g_many)
        order_warps(w, mem_host(&w->launch->emu->mem, addr), access, release);
    s->g_many |= s->nobjs > MAX_OBJS;
}

void san_order(struct warp *w, const struct insn *pc, enum ptx_space sp, const uint64_t *addr,
               uint32_t access, bool release)
{
    uint64_t last = 0;
    bool first = true;
    if (!w->launch->sanitize)
        return;
    if (release && (access & ACCESS_RELEASE))
        san_fence(w, pc->flags & INSN_CTA ? 0 : 2);
    FOR_LANES(i, w)
    {
        uint64_t a = addr[i];
        if (!first && a == last)
            continue;
        first = false;
        last = a;
        enum ptx_space s = sp;
        if (s == SP_GENERIC) {
            s = generic_space(a);
            if (s != SP_GLOBAL)
                a &= ~WIN_MASK;
        }
        if (s == SP_SHARED || s == SP_SHARED_CLUSTER)
            order_shared(w, (uint32_t)a, access, release);
        else if (s == SP_GLOBAL && a - GLOBAL_BASE < w->launch->emu->mem.size)
            order_global(w, pc, a, access, release); /* an access to any other address faults */
    }
}

/* ---- reports -------------------------------------------------------------------------------- */

static const struct code_func *func_of(const struct warp *w, uint32_t who)
{
    const struct code *c = w->launch->code;
    uint32_t id = who_insn(who);
    for (uint32_t i = 0; id && i < c->nfuncs; i++) {
        const struct code_func *f = &c->funcs[i];
        if (f->decoded && id - 1 >= f->count_base && id - 1 <= f->count_base + f->n)
            return f;
    }
    return NULL;
}

const struct insn *san_insn(const struct warp *w, uint32_t who)
{
    const struct code_func *f = func_of(w, who);
    return f ? &f->insns[who_insn(who) - 1 - f->count_base] : NULL;
}

void san_describe_access(const struct warp *w, uint32_t who, char *buf, size_t n)
{
    const struct ptx_insn *p = NULL;
    char called[256] = "";
    uint32_t line = 0, t = who_warp(who) * WARP + who_lane(who);
    const uint32_t *b = w->launch->block, *bl = w->block->id;
    if (who == WHO_ASYNC) {
        snprintf(buf, n, "an asynchronous copy");
        return;
    }
    const struct code_func *f = func_of(w, who);
    if (f && san_insn(w, who)->src < f->src->insns.n)
        p = &f->src->insns.items[san_insn(w, who)->src];
    if (p) {
        line = p->line;
        ptx_describe_inlined(&w->launch->code->ptx, p, called, sizeof called);
    }
    snprintf(buf, n, "line %u%s%s%s, block (%u,%u,%u) thread (%u,%u,%u)", line, *called ? " (" : "",
             called, *called ? ")" : "", bl[0], bl[1], bl[2], t % b[0], t / b[0] % b[1],
             t / b[0] / b[1]);
}

uint32_t san_store_bytes(const struct warp *w, const struct insn *pc, uint32_t lane,
                         uint8_t buf[128])
{
    if ((pc->kind != CK_ST_SHARED && pc->kind != CK_ST_GLOBAL) || !pc->v || !pc->nv)
        return 0;
    uint32_t bytes = pc->sub[1], reg = (pc->o[2] & OPND_OFF) / 8;
    if (!bytes || bytes * pc->nv > 128 || reg < bytes)
        return 0;
    for (uint32_t k = 0; k < pc->nv; k++)
        memcpy(buf + k * bytes, (const char *)opnd(w, pc->v[k]) + lane * reg, bytes);
    return bytes * pc->nv;
}

/* ---- a block's state ------------------------------------------------------------------------ */

void san_block_create(struct block *b)
{
    struct launch *l = b->launch;
    if (!l->sanitize)
        return;
    struct block_san *s = xcalloc(1, sizeof *s);
    s->shift = l->smem_shift;
    s->ncells = (b->smem_bytes >> s->shift) + 4;
    s->wclock = xcalloc(s->ncells, 4);
    s->wwho = xcalloc(s->ncells, 4);
    s->rmax = xcalloc(s->ncells, 4);
    s->rwho = xcalloc(s->ncells, 4);
    s->rclock = xcalloc((size_t)s->ncells * b->nwarps, 4);
    for (int write = 0; write < 2; write++)
        s->pend[write] = xcalloc(b->smem_bytes / PEND_BYTES + 2, 1);
    b->san = s;
    for (uint32_t i = 0; i < b->nwarps; i++)
        b->warps[i].san = xcalloc(1, sizeof *b->warps[i].san);
}

void san_block_start(struct block *b)
{
    struct block_san *s = b->san;
    if (!s)
        return;
    s->base = MAX(s->top, s->async_clock) + 1;
    s->top = s->base;
    s->async_clock = s->base;
    memset(s->fenced, 0, sizeof s->fenced);
    if (s->nobjs)
        memset(s->objs, 0, s->cap_objs * sizeof *s->objs);
    s->nobjs = 0;
    if (s->live_fly)
        for (int write = 0; write < 2; write++)
            memset(s->pend[write], 0, b->smem_bytes / PEND_BYTES + 2);
    s->nfly = s->live_fly = s->free_fly = s->n_pending = 0;
    s->remote.warp = NULL;
    undef_shared_reset(b, false);
    s->g_many = s->other_sync = s->products = s->any_exited = false;
    memset(&s->exited, 0, sizeof s->exited);
    if (s->nblank) {
        free(s->blank);
        s->blank = NULL;
        s->nblank = s->cap_blank = 0;
        memset(s->rmax, 0, s->ncells * sizeof *s->rmax);
    }
    while (s->nearly)
        s->rmax[s->early[--s->nearly].cell] = 0;
    for (uint32_t i = 0; i < b->nwarps; i++) {
        struct warp_san *w = b->warps[i].san;
        for (uint32_t k = 0; k < VC_ALL; k++)
            w->vc.t[k] = s->base - 1;
        w->vc.t[VC_ASYNC] = s->base;
        w->vc.t[i] = s->base;
        w->min = s->base - 1;
        w->has_acq = w->has_rel = false;
        w->phase = 1;
        b->warps[i].undef = NULL;
        memset(&w->acq, 0, sizeof w->acq);
    }
    b->g_clock = 1;
}

void san_block_destroy(struct block *b)
{
    struct block_san *s = b->san;
    if (!s)
        return;
    for (uint32_t i = 0; i < b->nwarps; i++) {
        free(b->warps[i].san->undef);
        free(b->warps[i].san);
    }
    undef_shared_reset(b, true);
    free(s->g_pending);
    free(s->wclock);
    free(s->wwho);
    free(s->rmax);
    free(s->rwho);
    free(s->rclock);
    free(s->pend[0]);
    free(s->pend[1]);
    free(s->objs);
    free(s->blank);
    free(s->fly);
    free(s);
    b->san = NULL;
}

void san_lane(struct warp *w, const struct insn *pc, uint32_t lane, enum ptx_space sp,
              uint64_t addr, uint32_t n, uint32_t access)
{
    if (sp == SP_GLOBAL) {
        san_global_lane(w, pc, lane, addr, n, access);
    } else if (sp == SP_SHARED || sp == SP_SHARED_CLUSTER) {
        uint32_t off;
        struct block *b = smem_block(w, (uint32_t)addr, &off);
        if (b)
            san_shared_lane(w, pc, lane, b, off, n, access);
    }
}
