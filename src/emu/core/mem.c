/*
 * mem.c - translates addresses to host memory and checks bounds, alignment and the sanitizer's
 * rules.
 *
 * Every access of a kernel goes through here. mem_lanes() looks at a whole warp's addresses at
 * once. It reports only one mistake: two lanes of a store that write different values to one shared
 * address. mem_at() looks at one lane and reports all findings and faults.
 */
#include "emu/core/mem.h"

#include "base/util.h"

pthread_mutex_t mem_wide_lock = PTHREAD_MUTEX_INITIALIZER;

enum ptx_space generic_space(uint64_t addr)
{
    switch (addr >> 40) {
    case WIN_SHARED >> 40:
        return SP_SHARED;
    case WIN_LOCAL >> 40:
        return SP_LOCAL;
    case WIN_CONST >> 40:
        return SP_CONST;
    case WIN_PARAM >> 40:
        return SP_PARAM;
    }
    return SP_GLOBAL;
}

struct block *smem_block(struct warp *w, uint32_t addr, uint32_t *off)
{
    uint32_t rank = addr >> SMEM_RANK_SHIFT;
    *off = addr & SMEM_OFF_MASK;
    if (rank == 0)
        return w->block;
    if (rank > w->block->cluster->nblocks)
        return NULL;
    return &w->block->cluster->blocks[rank - 1];
}

/* ---- reports -------------------------------------------------------------------------------- */

static const char *verb(uint32_t access)
{
    return access & MEM_ATOMIC ? "atomic" : access & MEM_WRITE ? "write" : "read";
}

/* Writes a name such as "y[3, 17]". */
static void name_index(const struct alloc *a, int64_t index, char *buf, size_t n)
{
    size_t k = (size_t)snprintf(buf, n, "%s[", a->name);
    int64_t stride = 1;
    bool inside = index >= 0 && a->rank > 0 && a->rank <= 8;
    for (uint32_t i = 0; i < a->rank && i < 8; i++)
        inside &= a->dims[i] > 0;
    if (!inside || a->rank == 1) {
        snprintf(buf + MIN(k, n), n - MIN(k, n), "%lld]", (long long)index);
        return;
    }
    for (uint32_t i = 1; i < a->rank; i++)
        stride *= a->dims[i];
    for (uint32_t i = 0; i < a->rank && k < n; i++) {
        k += (size_t)snprintf(buf + k, n - k, "%s%lld", i ? ", " : "", (long long)(index / stride));
        index %= stride;
        if (i + 1 < a->rank)
            stride /= a->dims[i + 1];
    }
    if (k < n)
        snprintf(buf + k, n - k, "]");
}

void mem_describe(const struct emu_mem *m, uint64_t addr, char *buf, size_t n, const char **object,
                  int64_t *index)
{
    const struct alloc *best = NULL;
    uint64_t best_d = UINT64_MAX;
    for (size_t i = 0; i < m->n; i++) {
        const struct alloc *a = m->allocs[i];
        uint64_t d = addr < a->addr ? a->addr - addr : addr >= a->end ? addr - a->end + 1 : 0;
        if (a->is_global_var && d)
            continue;
        if (d < best_d) {
            best_d = d;
            best = a;
        }
    }
    *object = "global memory";
    *index = -1;
    if (!best || best_d > 1u << 24) {
        snprintf(buf, n, "address 0x%llx, far from every tensor", (unsigned long long)addr);
        return;
    }
    char el[160];
    int64_t off = (int64_t)(addr - best->addr);
    *index =
        off >= 0 ? off / best->elem_bytes : -((-off + best->elem_bytes - 1) / best->elem_bytes);
    *object = best->name;
    name_index(best, *index, el, sizeof el);
    uint64_t bytes = best->end - best->addr;
    if (best_d == 0)
        snprintf(buf, n, "%s", el);
    else
        snprintf(buf, n, "%s, %llu bytes %s '%s' (%llu element%s)", el,
                 (unsigned long long)(addr < best->addr ? best_d : best_d - 1),
                 addr < best->addr ? "before the start of" : "past the end of", best->name,
                 (unsigned long long)(bytes / best->elem_bytes),
                 bytes == best->elem_bytes ? "" : "s");
}

/* ---- memory that is filled when touched ----------------------------------------------------- */

/* Fills the pieces of the buffer (1024 bytes each) that overlap [from, to). */
static void touch(const struct alloc *a, uint64_t from, uint64_t to)
{
    from = MAX(from, a->addr);
    to = MIN(to, a->end);
    if (from < to)
        lazy_need(a->lazy, from - a->addr, to - from);
}

static void set_flag(bool *flag)
{
    if (!__atomic_load_n(flag, __ATOMIC_RELAXED))
        __atomic_store_n(flag, true, __ATOMIC_RELAXED);
}

/* Notes an access in a sampled call. Each store to an output is equally likely to be in the
 * cluster's trace (struct cluster_trace). */
static void trace_access(const struct warp *w, struct alloc *a, const uint64_t *addr,
                         uint32_t lanes, uint64_t bytes, uint32_t access)
{
    struct cluster *c = w->block->cluster;
    if (access & (MEM_READ | MEM_ATOMIC))
        set_flag(access & MEM_ATOMIC ? &a->atomics : &a->loaded);
    if (access & (MEM_WRITE | MEM_ATOMIC))
        set_flag(&a->stored);
    if (!(access & MEM_WRITE))
        return;
    c->trace->bytes += bytes;
    if (a->is_global_var || (a->role != JOB_OUTPUT && a->role != JOB_INOUT))
        return;
    c->trace_rng = c->trace_rng * 6364136223846793005ull + 1442695040888963407ull;
    uint32_t k = c->trace_stores++, at = (uint32_t)(c->trace_rng >> 33) % (k + 1);
    if (k < TRACE_PLACES)
        at = k;
    else if (at >= TRACE_PLACES)
        return;
    uint32_t from = (uint32_t)(c->trace_rng >> 28) % WARP, above = lanes & FULL << from;
    uint32_t lane = (uint32_t)__builtin_ctz(above ? above : lanes);
    c->trace->addr[at] = addr[lane] - (addr[lane] - a->addr) % a->elem_bytes;
}

/* Fills the pieces that the lanes access. If all lanes lie within LAZY_PIECE bytes, makes one call
 * for the whole range. */
static void touch_lanes(const struct warp *w, const struct alloc *a, const uint64_t *addr,
                        uint64_t lo, uint64_t hi, uint32_t n)
{
    if (hi - lo <= LAZY_PIECE) {
        touch(a, lo, hi + n);
        return;
    }
    FOR_LANES(i, w)
    touch(a, addr[i], addr[i] + n);
}

/* ---- one lane ------------------------------------------------------------------------------- */

static void *global_lane(struct warp *w, const struct insn *pc, uint32_t lane, uint64_t addr,
                         uint32_t n, uint32_t access)
{
    struct emu_mem *m = &w->launch->emu->mem;
    struct alloc *a = mem_find(m, addr);
    char what[256];
    const char *object;
    int64_t index;
    if (!a || n > a->hi - addr) {
        mem_describe(m, addr, what, sizeof what, &object, &index);
        emu_fault_at(w, pc, (int)lane, RESULT_FAULT, FIND_OOB, object, index,
                     "illegal %s of %u bytes at %s", verb(access), n, what);
        return NULL;
    }
    if (addr < a->addr || n > a->end - addr) {
        mem_describe(m, addr < a->addr ? addr : MAX(addr, a->end), what, sizeof what, &object,
                     &index);
        emu_finding(w, pc, (int)lane, FIND_OOB, object, index, NULL,
                    "out-of-bounds %s of %u bytes at %s", verb(access), n, what);
    }
    if (a->lazy)
        touch(a, addr, addr + n);
    if (access & (MEM_WRITE | MEM_ATOMIC))
        set_flag(&a->stored);
    if (w->block->cluster->trace && addr >= a->addr && addr < a->end)
        trace_access(w, a, &addr, 1, n, access);
    return mem_host(m, addr);
}

/* Block b is in the same cluster as w's block, and w accesses b's shared memory. Reports this if b
 * may not have started (before the first cluster barrier) or has ended. */
static void check_neighbour(struct warp *w, const struct insn *pc, uint32_t lane,
                            const struct block *b, const char *what)
{
    bool started = b->cluster->bar.phase > 0;
    if (started && b->nrunning)
        return;
    emu_finding(w, pc, (int)lane, FIND_RACE, "shared", -1, NULL,
                "%s of the shared memory of block (%u,%u,%u), which %s: a cluster barrier is "
                "missing",
                what, b->id[0], b->id[1], b->id[2],
                started ? "has ended" : "may not have started yet");
}

static void *shared_lane(struct warp *w, const struct insn *pc, uint32_t lane, uint64_t addr,
                         uint32_t n, uint32_t access)
{
    uint32_t off = 0;
    struct block *b = addr <= UINT32_MAX ? smem_block(w, (uint32_t)addr, &off) : NULL;
    if (!b) {
        emu_fault_at(
            w, pc, (int)lane, RESULT_FAULT, FIND_OOB, "shared", -1,
            "illegal %s of %u bytes at shared address 0x%llx: no such block in the cluster",
            verb(access), n, (unsigned long long)addr);
        return NULL;
    }
    if (off < w->launch->code->smem_first || off > b->smem_bytes || n > b->smem_bytes - off) {
        int64_t at = (int64_t)off - SMEM_BASE;
        emu_fault_at(w, pc, (int)lane, RESULT_FAULT, FIND_OOB, "shared", at,
                     "out-of-bounds %s of %u bytes at byte %lld of shared memory, which has %u",
                     verb(access), n, (long long)at, b->smem_bytes - SMEM_BASE);
        return NULL;
    }
    if (b != w->block && w->launch->sanitize)
        check_neighbour(w, pc, lane, b, verb(access));
    return b->smem + off;
}

/* Returns where the running function's local memory ends, as an offset in each thread's local
 * memory. Padding at the end does not count, unless alloca added memory. */
static uint32_t local_end(const struct warp *w)
{
    const struct frame *f = w->frame;
    bool plain = f->local_top == f->local_base + f->func->local_bytes;
    return (uint32_t)(plain ? f->local_base + f->func->local_size : f->local_top);
}

static void *local_lane(struct warp *w, const struct insn *pc, uint32_t lane, uint64_t addr,
                        uint32_t n, uint32_t access)
{
    uint32_t size = local_end(w);
    if (addr > size || n > size - addr) {
        emu_fault_at(
            w, pc, (int)lane, RESULT_FAULT, FIND_OOB, "local", (int64_t)addr,
            "out-of-bounds %s of %u bytes at local address 0x%llx; the thread has %u bytes",
            verb(access), n, (unsigned long long)addr, size);
        return NULL;
    }
    return w->local + (size_t)lane * w->launch->local_bytes + addr;
}

static void *readonly_lane(struct warp *w, const struct insn *pc, uint32_t lane, uint64_t addr,
                           uint32_t n, uint32_t access, uint8_t *bank, uint32_t size,
                           const char *name)
{
    if (access & MEM_WRITE) {
        emu_fault_at(w, pc, (int)lane, RESULT_FAULT, FIND_OOB, name, (int64_t)addr,
                     "illegal %s of %u bytes at byte %llu of %s memory, which a kernel may only "
                     "read",
                     verb(access), n, (unsigned long long)addr, name);
        return NULL;
    }
    if (addr > size || n > size - addr) {
        emu_fault_at(w, pc, (int)lane, RESULT_FAULT, FIND_OOB, name, (int64_t)addr,
                     "out-of-bounds %s of %u bytes at byte %llu of %s memory, which has %u",
                     verb(access), n, (unsigned long long)addr, name, size);
        return NULL;
    }
    return bank + addr;
}

void *mem_at(struct warp *w, const struct insn *pc, uint32_t lane, enum ptx_space sp, uint64_t addr,
             uint32_t n, uint32_t access)
{
    uint64_t full = addr;
    if (sp == SP_GENERIC) {
        sp = generic_space(addr);
        if (sp != SP_GLOBAL)
            addr &= ~WIN_MASK;
    }
    if (!(access & MEM_NOALIGN) && (addr & (n - 1))) {
        const char *object = sp == SP_SHARED || sp == SP_SHARED_CLUSTER ? "shared" : "memory";
        int64_t index = -1;
        char what[256] = "";
        if (sp == SP_GLOBAL)
            mem_describe(&w->launch->emu->mem, addr, what, sizeof what, &object, &index);
        else
            snprintf(what, sizeof what, "address 0x%llx", (unsigned long long)addr);
        emu_fault_at(w, pc, (int)lane, RESULT_FAULT, FIND_MISALIGNED, object, index,
                     "misaligned %s of %u bytes at %s: the address is not a multiple of %u",
                     verb(access), n, what, n);
        return NULL;
    }
    void *p;
    switch (sp) {
    case SP_GLOBAL:
        p = global_lane(w, pc, lane, addr, n, access);
        break;
    case SP_SHARED:
    case SP_SHARED_CLUSTER:
        p = shared_lane(w, pc, lane, addr, n, access);
        break;
    case SP_LOCAL:
        p = local_lane(w, pc, lane, addr, n, access);
        break;
    case SP_CONST:
        p = readonly_lane(w, pc, lane, addr, n, access, w->launch->code->const_bank,
                          w->launch->code->const_bytes, "constant");
        break;
    case SP_PARAM:
        p = readonly_lane(w, pc, lane, addr, n, access, w->launch->params, w->launch->param_bytes,
                          "parameter");
        break;
    default:
        emu_fault(w, pc, (int)lane, RESULT_FAULT, FIND_OTHER, "bad address 0x%llx",
                  (unsigned long long)full);
        return NULL;
    }
    if (p && w->launch->sanitize)
        san_lane(w, pc, lane, sp, addr, n, access);
    return p;
}

void *smem_at(struct warp *w, const struct insn *pc, uint32_t lane, uint32_t addr, uint32_t n,
              uint32_t access)
{
    if (addr >= w->launch->code->smem_first && (uint64_t)addr + n <= w->block->smem_bytes &&
        !w->launch->sanitize && ((access & MEM_NOALIGN) || !(addr & (n - 1))))
        return w->block->smem + addr;
    return mem_at(w, pc, lane, SP_SHARED, addr, n, access);
}

/* ---- a warp --------------------------------------------------------------------------------- */

static inline void span_of(const struct warp *w, const uint64_t *addr, uint64_t *lo, uint64_t *hi,
                           uint64_t *bits)
{
    uint64_t a = UINT64_MAX, b = 0, o = 0;
    if (w->active == FULL) {
        for (uint32_t i = 0; i < WARP; i++) {
            a = addr[i] < a ? addr[i] : a;
            b = addr[i] > b ? addr[i] : b;
            o |= addr[i];
        }
    } else {
        FOR_LANES(i, w)
        {
            a = addr[i] < a ? addr[i] : a;
            b = addr[i] > b ? addr[i] : b;
            o |= addr[i];
        }
    }
    *lo = a;
    *hi = b;
    *bits = o;
}

/* Returns whether [lo, hi + n) lies in one object of this space, and the sanitizer has nothing to
 * report about the access. Sets *out. */
static bool place_lanes(struct warp *w, const struct insn *pc, enum ptx_space sp,
                        const uint64_t *addr, uint64_t lo, uint64_t hi, uint32_t n, uint32_t access,
                        struct lanes *out)
{
    out->sp = sp;
    out->stride = 0;
    out->lo = lo;
    out->hi = hi + n;
    switch (sp) {
    case SP_GLOBAL: {
        struct worker_state *ws = w->block->cluster->ws;
        struct alloc *a = ws->last;
        if (!a || lo < a->addr || hi >= a->end) {
            a = mem_find(&w->launch->emu->mem, lo);
            if (!a)
                return false;
            ws->last = a;
        }
        if (lo < a->addr || hi >= a->end || n > a->end - hi)
            return false;
        out->base = w->launch->emu->mem.host - GLOBAL_BASE;
        if (w->launch->sanitize)
            return san_global(w, pc, a, addr, lo, hi, n, access);
        if (a->lazy)
            touch_lanes(w, a, addr, lo, hi, n);
        if (w->block->cluster->trace)
            trace_access(w, a, addr, w->active,
                         (uint64_t)n * (uint32_t)__builtin_popcount(w->active), access);
        return true;
    }
    case SP_SHARED:
    case SP_SHARED_CLUSTER:
        if (lo < w->launch->code->smem_first || hi + n > w->block->smem_bytes)
            return false;
        out->base = w->block->smem;
        if (w->launch->sanitize)
            return san_shared(w, pc, addr, n, access);
        return true;
    case SP_LOCAL:
        if (hi + n > local_end(w))
            return false;
        out->base = (uint8_t *)w->local;
        out->stride = w->launch->local_bytes;
        return true;
    case SP_CONST:
        if ((access & MEM_WRITE) || hi + n > w->launch->code->const_bytes)
            return false;
        out->base = w->launch->code->const_bank;
        return true;
    case SP_PARAM:
        if ((access & MEM_WRITE) || hi + n > w->launch->param_bytes)
            return false;
        out->base = w->launch->params;
        return true;
    default:
        return false;
    }
}

bool mem_lanes(struct warp *w, const struct insn *pc, enum ptx_space sp, uint64_t *addr, uint32_t n,
               uint32_t access, struct lanes *out)
{
    uint64_t lo, hi, bits, win = 0;
    span_of(w, addr, &lo, &hi, &bits);
    if (bits & (n - 1))
        return false;
    if (sp == SP_GENERIC) {
        sp = generic_space(lo);
        if (sp == SP_GLOBAL) {
            if (generic_space(hi) != SP_GLOBAL)
                return false;
        } else {
            uint64_t limit = sp == SP_SHARED ? w->block->smem_bytes : UINT32_MAX;
            if ((lo & WIN_MASK) != (hi & WIN_MASK) || (hi & ~WIN_MASK) + n > limit)
                return false; /* maybe another block's memory; mem_at() decides */
            win = lo & WIN_MASK;
            for (uint32_t i = 0; i < WARP; i++)
                addr[i] &= ~WIN_MASK;
            lo &= ~WIN_MASK;
            hi &= ~WIN_MASK;
        }
    }
    bool ok = place_lanes(w, pc, sp, addr, lo, hi, n, access, out);
    /* restore the generic addresses for mem_at() */
    for (uint32_t i = 0; win && !ok && i < WARP; i++)
        addr[i] |= win;
    return ok;
}
