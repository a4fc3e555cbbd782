/*
 * block_order.c - decides whether another block's access to global memory is ordered before an
 * access of this block.
 *
 * Suppose that block b writes data, executes a fence and sets a flag. It sets the flag with a
 * strong access: volatile, relaxed, acquire, release or atomic, and not of scope .cta. So the
 * flag's address becomes an object with an entry (b, c), where c is b's clock before the fence. A
 * block's clock starts at 1 and counts its fences of cluster or device scope. The shadow (global.c)
 * stamps each write with this clock. So writes of b with stamps up to c come before the flag. Reads
 * count as stamp 0.
 *
 * Another block r makes a strong read of the flag. Block r depends on the object at once if the
 * read is an acquire, else from the next fence of r on. From then on, accesses of b with stamps up
 * to c are ordered before accesses of r. We do not compare times: an entry that came after the read
 * counts too, so we may miss a race.
 *
 * The order may also go through other blocks, at most MAX_CHAIN. A longer chain gives a false race.
 * After MAX_LOOKS looks at objects the answer is "ordered", because a missed race is better than a
 * false one.
 */
#include "base/util.h"
#include "emu/sanitizer/suspects.h"

enum { MAX_CHAIN = 3, MAX_LOOKS = 4096 };

/* An entry of an object. block: a block's number + 1, or 0 in an empty slot. */
struct gsource {
    uint32_t block, clock;
};
struct gobj {
    uint64_t addr;
    struct gsource *map; /* entries: a hash table by block */
    uint32_t n, cap;
};
/* The objects that a block depends on. */
struct gdeps {
    uint32_t block;
    uint32_t *objs, n, cap;
};
struct gsync {
    pthread_mutex_t lock;
    struct gobj *objs;
    uint32_t n, cap;
    uint32_t *index; /* hash table by address: 1 + index in objs, or 0 */
    uint32_t index_cap;
    struct gdeps *deps; /* hash table by block */
    uint32_t ndeps, cap_deps;
};

struct gsync *block_order_open(void)
{
    struct gsync *g = xcalloc(1, sizeof *g);
    pthread_mutex_init(&g->lock, NULL);
    return g;
}

void block_order_close(struct gsync *g)
{
    if (!g)
        return;
    for (uint32_t i = 0; i < g->n; i++)
        free(g->objs[i].map);
    for (uint32_t i = 0; i < g->cap_deps; i++)
        free(g->deps[i].objs);
    free(g->objs);
    free(g->index);
    free(g->deps);
    pthread_mutex_destroy(&g->lock);
    free(g);
}

static uint64_t hash64(uint64_t v)
{
    return v * 0x9e3779b97f4a7c15ull >> 24;
}

static struct gobj *obj_at(struct gsync *g, uint64_t addr, bool make)
{
    if (make && g->n * 2 >= g->index_cap) {
        uint32_t cap = g->index_cap ? g->index_cap * 2 : 256;
        uint32_t *t = xcalloc(cap, 4);
        for (uint32_t i = 0; i < g->n; i++) {
            uint64_t h = hash64(g->objs[i].addr);
            while (t[h % cap])
                h++;
            t[h % cap] = i + 1;
        }
        free(g->index);
        g->index = t;
        g->index_cap = cap;
    }
    if (!g->index_cap)
        return NULL;
    uint64_t h = hash64(addr);
    for (; g->index[h % g->index_cap]; h++)
        if (g->objs[g->index[h % g->index_cap] - 1].addr == addr)
            return &g->objs[g->index[h % g->index_cap] - 1];
    if (!make)
        return NULL;
    if (g->n == g->cap) {
        g->cap = g->cap ? g->cap * 2 : 64;
        g->objs = xrealloc(g->objs, g->cap * sizeof *g->objs);
    }
    g->index[h % g->index_cap] = g->n + 1;
    g->objs[g->n] = (struct gobj){.addr = addr};
    return &g->objs[g->n++];
}

static struct gsource *source_in(struct gobj *o, uint32_t block, bool make)
{
    if (make && o->n * 2 >= o->cap) {
        uint32_t cap = o->cap ? o->cap * 2 : 8;
        struct gsource *t = xcalloc(cap, sizeof *t);
        for (uint32_t i = 0; i < o->cap; i++)
            if (o->map[i].block) {
                uint64_t h = hash64(o->map[i].block);
                while (t[h % cap].block)
                    h++;
                t[h % cap] = o->map[i];
            }
        free(o->map);
        o->map = t;
        o->cap = cap;
    }
    if (!o->cap)
        return NULL;
    uint64_t h = hash64(block);
    for (; o->map[h % o->cap].block; h++)
        if (o->map[h % o->cap].block == block)
            return &o->map[h % o->cap];
    if (!make)
        return NULL;
    o->map[h % o->cap].block = block;
    o->n++;
    return &o->map[h % o->cap];
}

static struct gdeps *deps_of(struct gsync *g, uint32_t block, bool make)
{
    if (make && g->ndeps * 2 >= g->cap_deps) {
        uint32_t cap = g->cap_deps ? g->cap_deps * 2 : 256;
        struct gdeps *t = xcalloc(cap, sizeof *t);
        for (uint32_t i = 0; i < g->cap_deps; i++)
            if (g->deps[i].block) {
                uint64_t h = hash64(g->deps[i].block);
                while (t[h % cap].block)
                    h++;
                t[h % cap] = g->deps[i];
            }
        free(g->deps);
        g->deps = t;
        g->cap_deps = cap;
    }
    if (!g->cap_deps)
        return NULL;
    uint64_t h = hash64(block);
    for (; g->deps[h % g->cap_deps].block; h++)
        if (g->deps[h % g->cap_deps].block == block)
            return &g->deps[h % g->cap_deps];
    if (!make)
        return NULL;
    g->deps[h % g->cap_deps].block = block;
    g->ndeps++;
    return &g->deps[h % g->cap_deps];
}

/* Notes that a block depends on objs[obj]. The list of a block may hold an object twice, because we
 * compare only with the last 63 entries. */
static void depend(struct gsync *g, uint32_t block, uint32_t obj)
{
    struct gdeps *d = deps_of(g, block, true);
    for (uint32_t i = d->n; i-- > 0 && d->n - i < 64;)
        if (d->objs[i] == obj)
            return;
    if (d->n == d->cap) {
        d->cap = d->cap ? d->cap * 2 : 8;
        d->objs = xrealloc(d->objs, d->cap * 4u);
    }
    d->objs[d->n++] = obj;
}

/* Returns whether block `from` depends on an object that has an entry of `block` with at least this
 * clock, through at most `depth` other blocks. *budget is the number of looks left. */
static bool reaches(struct gsync *g, uint32_t from, uint32_t block, uint32_t clock, int depth,
                    uint32_t *budget)
{
    const struct gdeps *d = deps_of(g, from, false);
    if (!d)
        return false;
    for (uint32_t i = d->n; i-- > 0;) {
        struct gobj *o = &g->objs[d->objs[i]];
        const struct gsource *s = source_in(o, block, false);
        if (s && s->clock >= clock)
            return true;
        if (*budget == 0)
            return true;
        --*budget;
    }
    if (depth == 0)
        return false;
    for (uint32_t i = d->n; i-- > 0;) {
        const struct gobj *o = &g->objs[d->objs[i]];
        for (uint32_t k = 0; k < o->cap; k++) {
            if (!o->map[k].block || o->map[k].block == from)
                continue;
            if (reaches(g, o->map[k].block, block, clock, depth - 1, budget))
                return true;
        }
    }
    return false;
}

bool block_depends(struct warp *w)
{
    struct gsync *g = w->launch->gsync;
    pthread_mutex_lock(&g->lock);
    bool any = deps_of(g, w->block->linear + 1, false) != NULL;
    pthread_mutex_unlock(&g->lock);
    return any;
}

bool block_ordered(struct warp *w, uint32_t block, uint32_t clock)
{
    struct gsync *g = w->launch->gsync;
    uint32_t budget = MAX_LOOKS;
    pthread_mutex_lock(&g->lock);
    bool r =
        reaches(g, w->block->linear + 1, block, MIN(clock, MAX_BLOCK_CLOCK), MAX_CHAIN, &budget);
    pthread_mutex_unlock(&g->lock);
    return r;
}

void block_fence(struct warp *w)
{
    struct block_san *s = w->block->san;
    if (s->n_pending) {
        struct gsync *g = w->launch->gsync;
        pthread_mutex_lock(&g->lock);
        for (uint32_t i = 0; i < s->n_pending; i++)
            depend(g, w->block->linear + 1, s->g_pending[i]);
        pthread_mutex_unlock(&g->lock);
        s->n_pending = 0;
    }
    w->block->g_clock++;
}

void block_publish(struct warp *w, uint64_t addr)
{
    struct gsync *g = w->launch->gsync;
    if (suspects_followed(w->launch))
        suspect_signal(w, addr, true, false);
    /* At clock 1 no thread of the block has executed a fence. Fences of all threads count: barriers
     * may order them before this write. */
    if (w->block->g_clock == 1)
        return;
    pthread_mutex_lock(&g->lock);
    struct gsource *s = source_in(obj_at(g, addr, true), w->block->linear + 1, true);
    s->clock = MAX(s->clock, MIN(w->block->g_clock - 1, MAX_BLOCK_CLOCK));
    __atomic_store_n(&w->launch->gsync_used, 1, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&g->lock);
}

void block_observe(struct warp *w, uint64_t addr, bool acquire)
{
    struct gsync *g = w->launch->gsync;
    struct block_san *s = w->block->san;
    if (suspects_followed(w->launch))
        suspect_signal(w, addr, false, acquire);
    if (!__atomic_load_n(&w->launch->gsync_used, __ATOMIC_ACQUIRE))
        return;
    pthread_mutex_lock(&g->lock);
    struct gobj *o = obj_at(g, addr, false);
    uint32_t id = o ? (uint32_t)(o - g->objs) : 0;
    if (o && acquire)
        depend(g, w->block->linear + 1, id);
    pthread_mutex_unlock(&g->lock);
    if (!o || acquire)
        return;
    for (uint32_t i = 0; i < s->n_pending; i++)
        if (s->g_pending[i] == id)
            return;
    if (s->n_pending == s->cap_pending) {
        s->cap_pending = s->cap_pending ? s->cap_pending * 2 : 8;
        s->g_pending = xrealloc(s->g_pending, s->cap_pending * 4u);
    }
    s->g_pending[s->n_pending++] = id;
}
