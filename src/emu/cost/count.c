/*
 * count.c - counts what a kernel executes and moves, for each launch and each source line.
 */
#include "base/util.h"
#include "emu/core/mem.h"

struct insn_count *count_alloc(struct launch *l)
{
    return xcalloc(l->code->ninsns + 1, sizeof(struct insn_count));
}

void count_collect(struct launch *l, struct worker_state *ws)
{
    if (!ws->counts)
        return;
    if (!l->total)
        l->total = count_alloc(l);
    for (uint32_t i = 0; i < l->code->ninsns; i++) {
        struct insn_count *a = &l->total[i], *b = &ws->counts[i];
        a->warps += b->warps;
        a->threads += b->threads;
        a->sectors += b->sectors;
        a->bytes += b->bytes;
        a->extra += b->extra;
        a->lines += b->lines;
        a->merged += b->merged;
        a->fresh += b->fresh;
        for (int k = 0; k < 2; k++)
            a->waits[k] += b->waits[k];
    }
    l->diverged += ws->diverged;
    free(ws->counts);
    ws->counts = NULL;
}

static uint64_t pieces_made(const struct emu_mem *m)
{
    uint64_t n = 0;
    for (size_t i = 0; i < m->n; i++)
        n += m->allocs[i]->lazy ? atomic_load(&m->allocs[i]->lazy->made) : 0;
    return n;
}

void count_begin(struct launch *l)
{
    l->pieces_before = pieces_made(&l->emu->mem);
}

double count_cost(const struct launch *l)
{
    /* These costs were measured on a host. A plain warp instruction costs 1. per_piece is the cost
     * of filling a piece, and of comparing it later (block_sample.c). */
    const double per_tensor_op = 1.0 / 80, per_piece = 150;
    double cost = per_piece * (double)(pieces_made(&l->emu->mem) - l->pieces_before);
    for (uint32_t f = 0; l->total && f < l->code->nfuncs; f++) {
        const struct code_func *cf = &l->code->funcs[f];
        for (uint32_t i = 0; cf->decoded && i < cf->n; i++) {
            const struct insn_count *c = &l->total[cf->count_base + i];
            cost += (double)c->warps * (1 + per_tensor_op * (double)cf->insns[i].tensor_ops);
        }
    }
    return cost;
}

/* ---- one access ----------------------------------------------------------------------------- */

/* Returns how many 32-byte sectors the active lanes access. Adds to *fresh how many of these
 * sectors are new to the block, and to *lines how many 128-byte lines hold the sectors. by_l1: the
 * L1 may serve the access. */
static uint32_t sectors_of(const struct warp *w, const uint64_t *addr, uint32_t n, bool by_l1,
                           uint32_t *fresh, uint32_t *lines)
{
    struct emu_mem *m = &w->launch->emu->mem;
    uint64_t seen[WARP * 2];
    uint32_t count = 0;
    FOR_LANES(i, w)
    {
        if (addr[i] - GLOBAL_BASE >= m->size)
            continue;
        uint64_t first = addr[i] / 32, last = (addr[i] + n - 1) / 32;
        if (m->touched)
            m->touched[(addr[i] - GLOBAL_BASE) / 128] = 1;
        for (uint64_t s = first; s <= last; s++) {
            bool known = false;
            bool near = false;
            for (uint32_t k = count; k-- > 0 && !known;) {
                known = seen[k] == s;
                near |= seen[k] / 4 == s / 4;
            }
            if (known || count == ARRAY_LEN(seen))
                continue;
            seen[count++] = s;
            *lines += !near;
            *fresh += reuse_note(w, s - GLOBAL_BASE / 32, by_l1);
        }
    }
    return count;
}

/* Returns the wavefronts that an access to shared memory takes. A wavefront is a pass through the
 * banks, in which each bank serves one word. One wavefront can serve all 32 lanes if each accesses
 * up to 4 bytes, 16 neighbouring lanes if each accesses 8 bytes, and 8 if each accesses 16. */
static uint32_t wavefronts(const struct warp *w, const uint64_t *addr, uint32_t n)
{
    uint32_t per = n <= 4 ? 32 : n == 8 ? 16 : 8, total = 0;
    for (uint32_t base = 0; base < WARP; base += per) {
        uint32_t words[32][32], depth[32] = {0}, most = 0;
        for (uint32_t i = base; i < base + per; i++) {
            if (!(w->active >> i & 1))
                continue;
            for (uint32_t k = 0; k < MAX(n / 4, 1u); k++) {
                uint32_t word = (uint32_t)addr[i] / 4 + k, bank = word % 32;
                bool known = false;
                for (uint32_t j = 0; j < depth[bank] && !known; j++)
                    known = words[bank][j] == word;
                if (!known && depth[bank] < 32)
                    words[bank][depth[bank]++] = word;
                most = MAX(most, depth[bank]);
            }
        }
        total += most;
    }
    return total;
}

static uint32_t ideal_wavefronts(const struct warp *w, uint32_t n)
{
    uint32_t per = n <= 4 ? 32 : n == 8 ? 16 : 8, total = 0;
    for (uint32_t base = 0; base < WARP; base += per)
        total += (w->active >> base & (per == 32 ? FULL : (1u << per) - 1)) != 0;
    return total;
}

/* Returns whether this access is part of an aligned merged access (merge_shared.c), and sets
 * merged[] to where the merged access begins. */
static bool is_merged(const struct warp *w, const struct insn *pc, const uint64_t *addr,
                      uint64_t *merged)
{
    if ((pc->kind != CK_LD_SHARED && pc->kind != CK_ST_SHARED) || pc->o[4] == OPND_NUMBER(0))
        return false;
    uint64_t mask = MERGED_BYTES(pc->o[4]) - 1, part = (uint64_t)pc->imm & mask;
    FOR_LANES(i, w)
    {
        if ((addr[i] & mask) != part)
            return false;
        merged[i] = addr[i] - part;
    }
    return true;
}

void count_access(struct warp *w, const struct insn *pc, enum ptx_space sp, const uint64_t *addr,
                  uint32_t n, uint32_t access)
{
    struct insn_count *c = count_at(w, pc);
    c->bytes += (uint64_t)n * (uint32_t)__builtin_popcount(w->active);
    if (sp == SP_GENERIC)
        sp = generic_space(addr[__builtin_ctz(w->active)]);
    if (sp == SP_GLOBAL) {
        uint32_t fresh = 0, lines = 0;
        bool weak_load = (access & (MEM_READ | MEM_STRONG)) == MEM_READ;
        uint32_t all = sectors_of(w, addr, n, weak_load, &fresh, &lines);
        c->sectors += all;
        c->lines += lines;
        if (pc->kind == CK_ATOMIC)
            hot_note(w, addr);
        if (access & MEM_READ) {
            c->fresh += fresh;
            reuse_loaded(w, pc, addr[__builtin_ctz(w->active)], all, fresh);
        }
    } else if (sp == SP_LOCAL) {
        c->sectors += (n * (uint32_t)__builtin_popcount(w->active) + 31) / 32;
    } else if (sp == SP_SHARED || sp == SP_SHARED_CLUSTER) {
        uint64_t merged[WARP];
        if (is_merged(w, pc, addr, merged)) {
            if (!MERGED_FIRST(pc->o[4])) {
                c->merged++;
                return;
            }
            n = MERGED_BYTES(pc->o[4]);
            addr = merged;
        }
        uint32_t f = wavefronts(w, addr, n), ideal = ideal_wavefronts(w, n);
        c->sectors += f;
        c->extra += f > ideal ? f - ideal : 0;
    }
}

/* ---- waiting for loads ---------------------------------------------------------------------- */

static bool is_pending(const struct pending *p, int k, uint32_t code)
{
    uint32_t g = code >> 6;
    return code < OPND_CONST && g / 64 < p->words && (p->bits[k][g / 64] >> g % 64 & 1);
}

static void set_pending(struct pending *p, int k, uint32_t code)
{
    uint32_t g = code >> 6;
    if (code >= OPND_CONST || g / 64 >= p->words)
        return;
    p->bits[k][g / 64] |= 1ull << g % 64;
    p->any[k] = true;
}

void count_start(struct warp *w)
{
    uint32_t words = w->frame0->func->frame_bytes / 64 / 64 + 1;
    size_t bytes = words * sizeof(uint64_t);
    if (!w->pending) {
        w->pending = xcalloc(1, sizeof *w->pending + 2 * bytes);
        w->pending->words = words;
        for (int k = 0; k < 2; k++)
            w->pending->bits[k] = (uint64_t *)(void *)(w->pending + 1) + (size_t)k * words;
    }
    for (int k = 0; k < 2; k++) {
        memset(w->pending->bits[k], 0, bytes);
        w->pending->any[k] = false;
        w->pending->level[k] = w->pending->waited[k] = 0;
    }
    w->pending->clock = 0;
    w->pending->slowest = 0;
}

void count_waits(struct warp *w, const struct insn *pc)
{
    struct pending *p = w->pending;
    if (!p || w->frame != w->frame0)
        return;
    const struct code_func *cf = w->frame0->func;
    const struct insn_schedule *s = &cf->schedule[pc - cf->insns];
    if (s->starts) {
        p->waited[0] = p->waited[1] = 0;
        p->stored = false;
        /* A new pass through the region begins (schedule.c). All loads of earlier passes were
         * issued before it, so they count as level 1. */
        for (int k = 0; k < 2; k++)
            p->level[k] = MIN(p->level[k], 1);
    }
    for (int k = 0; k < 2; k++) {
        bool hit = false;
        for (size_t i = 0; i < ARRAY_LEN(pc->o) && p->any[k] && !hit; i++)
            hit = is_pending(p, k, pc->o[i]);
        for (uint32_t i = 0; i < pc->nv && p->any[k] && !hit; i++)
            hit = is_pending(p, k, pc->v[i]);
        if (!hit)
            continue;
        bool waits = p->level[k] > p->waited[k];
        count_at(w, pc)->waits[k] += waits;
        if (k == PEND_GLOBAL && waits)
            reuse_waited(w);
        p->waited[k] = MAX(p->waited[k], p->level[k]);
        p->level[k] = 0;
        memset(p->bits[k], 0, p->words * sizeof *p->bits[k]);
        p->any[k] = false;
    }
    int k = pc->kind == CK_LD_GLOBAL || pc->kind == CK_LD_LOCAL || pc->kind == CK_ATOMIC
                ? PEND_GLOBAL
            : pc->kind == CK_LD_SHARED || pc->kind == CK_SHUFFLE ? PEND_SHARED
                                                                 : -1;
    p->stored |= pc->kind == CK_ST_GLOBAL;
    if (p->stored && pc->kind == CK_LD_GLOBAL && pc->o[4] != LD_CONST)
        p->waited[PEND_GLOBAL] = p->stored = false;
    if (k < 0)
        return;
    p->level[k] = MAX(p->level[k], k == PEND_GLOBAL ? s->level : 1);
    for (uint32_t i = 0; i < pc->nv; i++)
        set_pending(p, k, pc->v[i]);
    if (!pc->nv)
        set_pending(p, k, pc->o[0]);
}

/* Returns the counts of an instruction. Returns NULL if nothing is counted, or if the instruction
 * does not belong to the running function. */
static struct insn_count *count_loose(const struct warp *w, const struct insn *pc)
{
    const struct code_func *f = w->frame->func;
    if (!w->counts || pc < f->insns || pc > f->insns + f->n)
        return NULL;
    return count_at(w, pc);
}

void count_bytes(struct warp *w, const struct insn *pc, enum count_bytes what, uint64_t bytes)
{
    struct insn_count *c = count_loose(w, pc);
    if (!c)
        return;
    if (what == CB_GLOBAL_LD || what == CB_GLOBAL_ST) {
        c->bytes += bytes;
        c->sectors += (bytes + 31) / 32;
        c->lines += (bytes + 127) / 128;
    }
}

/* ---- adding up ------------------------------------------------------------------------------ */

static int tensor_class(const struct ptx_insn *p)
{
    for (int i = 0; i < p->nmods; i++) {
        const char *m = p->mods[i];
        if (str_eq(m, "tf32"))
            return TENSOR_TF32;
        if (str_eq(m, "f64"))
            return TENSOR_F64;
        if (str_eq(m, "e4m3") || str_eq(m, "e5m2") || str_eq(m, "s8") || str_eq(m, "u8") ||
            str_eq(m, "s4") || str_eq(m, "u4") || str_eq(m, "b1"))
            return TENSOR_8BIT;
    }
    return TENSOR_F16;
}

static void add_insn(struct work *w, const struct insn *in, const struct ptx_insn *p,
                     const struct insn_count *c, double scale)
{
    double sectors = (double)c->sectors * scale, bytes = (double)c->bytes * scale;
    w->warps[in->kind] += (double)c->warps * scale;
    w->threads[in->kind] += (double)c->threads * scale;
    w->all_warps += (double)c->warps * scale;
    w->instructions += c->warps > 0;
    w->all_threads += (double)c->threads * scale;
    w->fresh_sectors += (double)c->fresh * scale;
    w->merged += (double)c->merged * scale;
    for (int k = 0; k < 2; k++)
        w->waits[k] += (double)c->waits[k] * scale;
    switch (in->kind) {
    case CK_LD_GLOBAL:
    case CK_ASYNC_COPY: /* bulk stores are few and count as loads */
        w->ld_sectors += sectors;
        w->ld_lines += (double)c->lines * scale;
        w->ld_bytes += bytes;
        break;
    case CK_ST_GLOBAL:
        w->st_sectors += sectors;
        w->st_lines += (double)c->lines * scale;
        w->st_bytes += bytes;
        break;
    case CK_ATOMIC:
        w->atomics += (double)c->threads * scale;
        if (ptx_is_float(ptx_last_type(p)))
            w->float_atomics += (double)c->threads * scale;
        if (c->lines) {
            w->st_lines += (double)c->lines * scale;
            w->st_sectors += sectors;
        } else { /* on shared memory */
            w->wavefronts += sectors;
        }
        break;
    case CK_LD_LOCAL:
    case CK_ST_LOCAL:
        w->local_sectors += sectors;
        break;
    case CK_LD_SHARED:
    case CK_ST_SHARED:
        w->wavefronts += c->sectors || c->merged ? sectors : (double)(c->warps + c->extra) * scale;
        w->conflicts += (double)c->extra * scale;
        w->shared_bytes += bytes;
        break;
    case CK_BARRIER:
        w->barriers += (double)c->warps * scale;
        break;
    default:
        break;
    }
    if (in->tensor_ops) {
        double ops = (double)in->tensor_ops * (double)c->warps * scale;
        w->tensor[tensor_class(p)] += ops;
        if (!str_eq(p->op, "wgmma"))
            w->mma += ops;
    }
}

/* A region (schedule.c) runs as often as its first instruction; predicates may skip the others. */
static void add_schedule(struct work *w, const struct code_func *cf, const struct insn_count *c,
                         double scale)
{
    for (uint32_t i = 0; cf->decoded && i < cf->n; i++) {
        const struct insn_schedule *s = &cf->schedule[i];
        double runs = s->starts ? (double)c[i].warps * scale : 0;
        w->issued += runs * s->issued;
        w->clocks += runs * MAX(s->chain, s->issued);
    }
}

/* Finds how much memory the launch touched, and how much of it several blocks read. Data that
 * another block has read may be in a cache. */
static void footprint(struct launch *l, struct work *w, double scale)
{
    struct emu_mem *m = &l->emu->mem;
    double sum = 0;
    for (size_t i = 0; i < m->n; i++) {
        struct alloc *a = m->allocs[i];
        uint64_t lo = (a->addr - GLOBAL_BASE) / 128, hi = (a->end - GLOBAL_BASE + 127) / 128;
        uint64_t n = 0;
        for (uint64_t k = lo; k < hi; k++)
            n += m->touched[k];
        if (n)
            memset(m->touched + lo, 0, hi - lo);
        double used = MIN((double)n * 128 * scale, (double)(a->end - a->addr));
        double fresh = (double)a->reads.fresh * 32 * scale;
        double waits = (double)a->reads.waits * scale;
        double first = fresh > used ? used / fresh : 1;
        w->waits_first += waits * first;
        w->waits_common += waits * (1 - first);
        sum += used;
        if (fresh > used) {
            w->common += used;
            w->common_sectors += fresh / 32;
            w->common_again += (double)a->reads.again * scale;
        }
        a->reads = (struct alloc_reads){0};
    }
    w->footprint = sum;
}

/* ---- named numbers -------------------------------------------------------------------------- */

static void put(struct emu *e, const char *kernel, uint32_t line, const char *name,
                const char *unit, double value, bool additive)
{
    for (size_t i = 0; i < e->counters.n; i++) {
        struct result_counter *c = &e->counters.items[i];
        if (c->line == line && str_eq(c->name, name) && str_eq(c->kernel, kernel)) {
            c->value = additive ? c->value + value : value;
            return;
        }
    }
    if (e->counters.n >= MAX_COUNTERS)
        return;
    struct result_counter *c = vec_push(&e->counters);
    c->kernel = arena_strdup(&e->strings, kernel);
    c->name = name;
    c->unit = unit;
    c->line = line;
    c->value = value;
}

static const char *const kind_names[CK_COUNT] = {
    [CK_OTHER] = "inst_other",
    [CK_INT] = "inst_int",
    [CK_FP32] = "inst_fp32",
    [CK_FP64] = "inst_fp64",
    [CK_HALF] = "inst_half",
    [CK_SFU] = "inst_sfu",
    [CK_CVT] = "inst_convert",
    [CK_MOVE] = "inst_move",
    [CK_PRED] = "inst_compare",
    [CK_BRANCH] = "inst_branch",
    [CK_BARRIER] = "inst_barrier",
    [CK_SHUFFLE] = "inst_shuffle",
    [CK_LD_GLOBAL] = "inst_ld_global",
    [CK_ST_GLOBAL] = "inst_st_global",
    [CK_LD_SHARED] = "inst_ld_shared",
    [CK_ST_SHARED] = "inst_st_shared",
    [CK_LD_LOCAL] = "inst_ld_local",
    [CK_ST_LOCAL] = "inst_st_local",
    [CK_LD_CONST] = "inst_ld_const",
    [CK_ATOMIC] = "inst_atomic",
    [CK_ASYNC_COPY] = "inst_async_copy",
    [CK_TENSOR] = "inst_tensor",
    [CK_FENCE] = "inst_fence",
};

static double pct(double part, double whole)
{
    return whole > 0 ? 100 * part / whole : 0;
}

static void put_work(struct emu *e, const char *k, uint32_t line, const struct work *w)
{
    static const struct {
        const char *name, *unit;
        size_t off;
    } t[] = {{"warp_instructions", "1", offsetof(struct work, all_warps)},
             {"thread_instructions", "1", offsetof(struct work, all_threads)},
             {"global_load_bytes", "B", offsetof(struct work, ld_bytes)},
             {"global_store_bytes", "B", offsetof(struct work, st_bytes)},
             {"global_load_sectors", "1", offsetof(struct work, ld_sectors)},
             {"global_store_sectors", "1", offsetof(struct work, st_sectors)},
             {"global_fresh_sectors", "1", offsetof(struct work, fresh_sectors)},
             {"global_waits", "1", offsetof(struct work, waits[PEND_GLOBAL])},
             {"shared_waits", "1", offsetof(struct work, waits[PEND_SHARED])},
             {"local_sectors", "1", offsetof(struct work, local_sectors)},
             {"shared_bytes", "B", offsetof(struct work, shared_bytes)},
             {"bank_conflicts", "1", offsetof(struct work, conflicts)},
             {"atomics", "1", offsetof(struct work, atomics)},
             {"divergent_branches", "1", offsetof(struct work, diverged)},
             {"barriers", "1", offsetof(struct work, barriers)}};
    for (size_t i = 0; i < ARRAY_LEN(t); i++) {
        double v = *(const double *)(const void *)((const char *)w + t[i].off);
        if (v > 0 || (i < 2 && !line))
            put(e, k, line, t[i].name, t[i].unit, v, true);
    }
    double ops = 0;
    for (int i = 0; i < 4; i++)
        ops += w->tensor[i];
    if (ops > 0)
        put(e, k, line, "tensor_ops", "1", ops, true);
    static const char *const by_type[] = {[TENSOR_F16] = "tensor_ops_16bit",
                                          [TENSOR_TF32] = "tensor_ops_tf32",
                                          [TENSOR_8BIT] = "tensor_ops_8bit",
                                          [TENSOR_F64] = "tensor_ops_f64"};
    for (int i = 0; i < 4 && !line; i++)
        if (w->tensor[i] > 0)
            put(e, k, line, by_type[i], "1", w->tensor[i], true);
    if (w->ld_sectors + w->st_sectors > 0)
        put(e, k, line, "global_sectors", "1", w->ld_sectors + w->st_sectors, true);
    if (w->ld_bytes + w->st_bytes > 0)
        put(e, k, line, "global_efficiency", "%",
            pct(w->ld_bytes + w->st_bytes, 32 * (w->ld_sectors + w->st_sectors)), false);
    if (w->all_warps > 0)
        put(e, k, line, "active_lanes", "%", pct(w->all_threads, 32 * w->all_warps), false);
}

static void put_model(struct launch *l, const char *k, const struct work *w)
{
    struct emu *e = l->emu;
    struct occupancy o;
    struct model m;
    model_occupancy(l, &o);
    model_time(l, w, &o, &m);
    e->model_ns += m.time_ns;
    e->model_lo_ns += m.lo_ns;
    e->model_hi_ns += m.hi_ns;
    record_launch(l, w, &o, &m);
    double t = m.time_ns;
    put(e, k, 0, "launches", "1", 1, true);
    put(e, k, 0, "time", "ns", t, true);
    put(e, k, 0, "dram_bytes", "B", m.dram_bytes, true);
    put(e, k, 0, "dram_pct", "%", pct(m.dram_ns, t), false);
    put(e, k, 0, "l2_pct", "%", pct(m.l2_ns, t), false);
    put(e, k, 0, "issue_pct", "%", pct(m.issue_ns, t), false);
    put(e, k, 0, "shared_pct", "%", pct(m.shared_ns, t), false);
    put(e, k, 0, "tensor_pct", "%", pct(m.tensor_ns, t), false);
    put(e, k, 0, "latency_pct", "%", pct(m.latency_ns, t), false);
    if (w->same_word > 0)
        put(e, k, 0, "atomic_pct", "%", pct(m.atomic_ns, t), false);
    put(e, k, 0, "occupancy_pct", "%", 100 * o.share, false);
    put(e, k, 0, "registers", "1", o.regs, false);
    put(e, k, 0, "smem_bytes", "B", l->smem_bytes - SMEM_BASE, false);
    put(e, k, 0, "blocks_per_sm", "1", o.blocks, false);
    for (uint32_t i = 0; i < CK_COUNT; i++)
        if (w->threads[i] > 0)
            put(e, k, 0, kind_names[i], "1", w->threads[i], true);
}

void count_transfer(struct emu *e, const char *name, uint64_t read_bytes, uint64_t written_bytes)
{
    struct model m;
    if (!e->counting)
        return;
    model_transfer(&e->job->gpu, (double)read_bytes + (double)written_bytes, &m);
    e->model_ns += m.time_ns;
    e->model_lo_ns += m.lo_ns;
    e->model_hi_ns += m.hi_ns;
    put(e, name, 0, "launches", "1", 1, true);
    put(e, name, 0, "time", "ns", m.time_ns, true);
    put(e, name, 0, "dram_bytes", "B", m.dram_bytes, true);
    put(e, name, 0, "dram_pct", "%", pct(m.dram_ns, m.time_ns), false);
}

static int cmp_line(const void *a, const void *b)
{
    const uint32_t *x = a, *y = b;
    return *x < *y ? -1 : *x > *y;
}

static void put_lines(struct launch *l, const char *k, double scale)
{
    VEC(uint32_t) lines = VEC_INIT;
    for (uint32_t f = 0; f < l->code->nfuncs; f++) {
        const struct code_func *cf = &l->code->funcs[f];
        for (uint32_t i = 0; cf->decoded && i < cf->n; i++)
            if (l->total[cf->count_base + i].warps && cf->src->insns.items[i].line)
                *vec_push(&lines) = cf->src->insns.items[i].line;
    }
    if (lines.n)
        qsort(lines.items, lines.n, sizeof *lines.items, cmp_line);
    for (size_t n = 0; n < lines.n; n++) {
        struct work w = {0};
        if (n && lines.items[n] == lines.items[n - 1])
            continue;
        for (uint32_t f = 0; f < l->code->nfuncs; f++) {
            const struct code_func *cf = &l->code->funcs[f];
            for (uint32_t i = 0; cf->decoded && i < cf->n; i++)
                if (cf->src->insns.items[i].line == lines.items[n])
                    add_insn(&w, &cf->insns[i], &cf->src->insns.items[i],
                             &l->total[cf->count_base + i], scale);
        }
        put_work(l->emu, k, lines.items[n], &w);
    }
    vec_release(&lines);
}

void count_to_counters(struct launch *l)
{
    const char *k = l->entry->src->name;
    double scale = l->nsample ? (double)l->nclusters / l->nsample : 1;
    struct work w = {0};
    if (!l->total)
        return;
    for (uint32_t f = 0; f < l->code->nfuncs; f++) {
        const struct code_func *cf = &l->code->funcs[f];
        for (uint32_t i = 0; cf->decoded && i < cf->n; i++)
            add_insn(&w, &cf->insns[i], &cf->src->insns.items[i], &l->total[cf->count_base + i],
                     scale);
        add_schedule(&w, cf, &l->total[cf->count_base], scale);
    }
    hot_work(l, &w, scale);
    w.diverged = (double)l->diverged * scale;
    footprint(l, &w, scale);
    w.waits_again = (double)l->waits_again * scale;
    for (uint32_t i = 0; i < REUSE_BUCKETS; i++) {
        w.again[i] = (double)l->again[i].sectors * scale;
        w.since[i] = (double)l->again[i].since / (double)MAX(l->again[i].sectors, 1u);
    }
    put_work(l->emu, k, 0, &w);
    put_model(l, k, &w);
    if (l->emu->job->annotate)
        put_lines(l, k, scale);
}
