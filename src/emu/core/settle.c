/*
 * settle.c - runs a launch so that its outcome does not depend on the order of host threads.
 *
 * The canonical run uses one host thread, which takes the clusters in order. Its results, findings
 * and faults are those of the launch. Several host threads are faster. They give the same outcome
 * if no block touches memory that another block writes in this launch. Without the sanitizer, we do
 * not check this: several host threads run the launch, unless order_matters(). With the sanitizer:
 *
 * 1. If a snapshot of the memory would be too large, we do only the canonical run.
 * 2. Otherwise we take a snapshot. If results can depend on the order of blocks even without a race
 *    (order_matters()), we do the canonical run.
 * 3. Otherwise several host threads run the launch. At the first conflict between two blocks,
 *    finding or fault we stop, restore the memory and do the canonical run.
 * 4. If the canonical run finds races, we restore the memory and repeat it. This time the sanitizer
 *    follows the cells that are part of a race (sanitizer/suspects.h).
 */
#include "base/util.h"
#include "emu/core/mem.h"

#define SNAPSHOT_MOST (UINT64_C(64) << 20)

/* ---- what a launch may change --------------------------------------------------------------- */

struct saved_alloc {
    struct alloc *a;
    struct alloc was;
    uint8_t *bytes, *init; /* contents, and bits of emu_mem.init; NULL for an input */
};

struct snapshot {
    struct saved_alloc *allocs;
    size_t n, nfindings, printed;
    struct result_finding *findings;
    uint32_t unwritten_lines[ARRAY_LEN(((struct emu *)0)->unwritten_lines)];
    uint64_t heap_used;
    size_t ncounters;
    double model_ns, model_lo_ns, model_hi_ns;
};

static bool is_saved(const struct alloc *a)
{
    return a->role != JOB_INPUT;
}

static void init_bytes(const struct emu_mem *m, const struct alloc *a, uint8_t **at, size_t *n)
{
    uint64_t from = (a->addr - GLOBAL_BASE) / 8, to = (a->end - GLOBAL_BASE + 7) / 8;
    *at = m->init + from;
    *n = to - from;
}

static void snapshot_take(struct snapshot *s, const struct launch *l)
{
    struct emu *e = l->emu;
    s->allocs = xcalloc(e->mem.n + 1, sizeof *s->allocs);
    for (size_t i = 0; i < e->mem.n; i++) {
        struct alloc *a = e->mem.allocs[i];
        struct saved_alloc *v = &s->allocs[s->n++];
        uint8_t *init;
        size_t n;
        *v = (struct saved_alloc){.a = a, .was = *a};
        if (!is_saved(a))
            continue;
        init_bytes(&e->mem, a, &init, &n);
        v->bytes = xmalloc(a->end - a->addr + n + 1);
        v->init = v->bytes + (a->end - a->addr);
        memcpy(v->bytes, mem_host(&e->mem, a->addr), a->end - a->addr);
        memcpy(v->init, init, n);
    }
    s->nfindings = e->findings.n;
    s->findings = xmalloc((s->nfindings + 1) * sizeof *s->findings);
    if (s->nfindings)
        memcpy(s->findings, e->findings.items, s->nfindings * sizeof *s->findings);
    memcpy(s->unwritten_lines, e->unwritten_lines, sizeof s->unwritten_lines);
    s->printed = e->printf_text.len;
    s->heap_used = l->code->heap_used;
    s->ncounters = e->counters.n;
    s->model_ns = e->model_ns;
    s->model_lo_ns = e->model_lo_ns;
    s->model_hi_ns = e->model_hi_ns;
}

static void snapshot_restore(const struct snapshot *s, struct launch *l)
{
    struct emu *e = l->emu;
    for (size_t i = 0; i < s->n; i++) {
        const struct saved_alloc *v = &s->allocs[i];
        struct alloc *a = v->a;
        a->store = v->was.store;
        a->store_kernel = v->was.store_kernel;
        a->store_file = v->was.store_file;
        a->store_line = v->was.store_line;
        a->reads = v->was.reads;
        memset(mem_host(&e->mem, a->lo), GUARD_PATTERN, a->addr - a->lo);
        memset(mem_host(&e->mem, a->end), GUARD_PATTERN, a->hi - a->end);
        if (!v->bytes)
            continue;
        uint8_t *init;
        size_t n;
        init_bytes(&e->mem, a, &init, &n);
        memcpy(mem_host(&e->mem, a->addr), v->bytes, a->end - a->addr);
        memcpy(init, v->init, n);
    }
    for (size_t i = l->undo.n; i-- > 0;) {
        const struct undo_write *u = &l->undo.items[i];
        memcpy(mem_host(&e->mem, u->addr), u->bytes, u->n);
    }
    l->undo.n = 0;
    if (s->nfindings)
        memcpy(e->findings.items, s->findings, s->nfindings * sizeof *s->findings);
    e->findings.n = s->nfindings;
    memset(e->seen, 0, sizeof e->seen);
    memcpy(e->unwritten_lines, s->unwritten_lines, sizeof s->unwritten_lines);
    e->printf_text.len = MIN(e->printf_text.len, s->printed);
    if (e->printf_text.buf)
        e->printf_text.buf[e->printf_text.len] = '\0';
    l->code->heap_used = s->heap_used;
    e->counters.n = s->ncounters;
    e->model_ns = s->model_ns;
    e->model_lo_ns = s->model_lo_ns;
    e->model_hi_ns = s->model_hi_ns;
}

static void snapshot_release(struct snapshot *s)
{
    for (size_t i = 0; i < s->n; i++)
        free(s->allocs[i].bytes);
    free(s->allocs);
    free(s->findings);
}

/* ---- whether the order of blocks matters ---------------------------------------------------- */

/* Returns whether p is a `red` that leaves the same value in memory in any order. */
static bool commutes(const struct ptx_insn *p)
{
    enum ptx_type t = ptx_last_type(p);
    if (!str_eq(p->op, "red"))
        return false;
    if (ptx_has(p, "and") || ptx_has(p, "or") || ptx_has(p, "xor"))
        return true;
    if (ptx_has(p, "add"))
        return !ptx_is_float(t);
    return !ptx_is_float(t) && (ptx_has(p, "min") || ptx_has(p, "max"));
}

static bool insn_depends_on_order(const struct code_func *f, const struct insn *in)
{
    const struct ptx_insn *p = &f->src->insns.items[in->src];
    enum ptx_space sp = mem_space(p);
    bool own = sp == SP_SHARED || sp == SP_SHARED_CLUSTER || sp == SP_LOCAL || sp == SP_PARAM;
    switch (in->kind) {
    case CK_ATOMIC:
        return !own && !commutes(p);
    case CK_LD_GLOBAL:
    case CK_ST_GLOBAL:
        return (str_eq(p->op, "ld") || str_eq(p->op, "st")) && (in->sub[2] & MEM_STRONG);
    case CK_ASYNC_COPY:
        return ptx_has(p, "reduce");
    default:
        return false;
    }
}

static bool order_matters(const struct launch *l)
{
    const struct code *c = l->code;
    if (l->cooperative || c->heap || ptx_find(&c->ptx, "vprintf"))
        return true;
    for (uint32_t i = 0; i < c->nfuncs; i++)
        for (uint32_t k = 0; c->funcs[i].decoded && k < c->funcs[i].n; k++)
            if (insn_depends_on_order(&c->funcs[i], &c->funcs[i].insns[k]))
                return true;
    return false;
}

/* ---- running -------------------------------------------------------------------------------- */

static bool fits_snapshot(const struct emu_mem *m)
{
    uint64_t n = 0;
    for (size_t i = 0; i < m->n; i++)
        n += is_saved(m->allocs[i]) ? m->allocs[i]->end - m->allocs[i]->addr : 0;
    return n <= SNAPSHOT_MOST;
}

static void rewind_launch(struct launch *l, const struct snapshot *s)
{
    snapshot_restore(s, l);
    l->next_cluster = l->nran = 0;
    memset(&l->spin, 0, sizeof l->spin);
    l->stop = l->redo = 0;
    l->steps = l->cpu_ns = 0;
    l->over_limit = 0;
    l->gsync_used = 0;
    l->diverged = l->waits_again = 0;
    memset(l->again, 0, sizeof l->again);
}

static bool found_races(const struct launch *l, const struct snapshot *s)
{
    const struct finding_vec *f = &l->emu->findings;
    for (size_t i = s->nfindings; i < f->n; i++)
        if (f->items[i].kind == FIND_RACE)
            return true;
    return false;
}

static enum result_status run_again(struct launch *l, const struct snapshot *s, struct err *err)
{
    rewind_launch(l, s);
    return launch_run(l, 1, err);
}

enum result_status launch_settle(struct launch *l, uint32_t nthreads, struct err *err)
{
    l->serial = order_matters(l);
    if (l->serial)
        nthreads = 1;
    if (!l->sanitize || !fits_snapshot(&l->emu->mem))
        return launch_run(l, l->sanitize ? 1 : nthreads, err);
    struct snapshot s = {0};
    snapshot_take(&s, l);
    suspects_open(l);
    l->keep_undo = true;
    enum result_status st = launch_run(l, nthreads, err);
    if (l->redo)
        st = run_again(l, &s, err);
    if (!l->over_limit && found_races(l, &s) && suspects_follow(l)) {
        st = run_again(l, &s, err);
        suspects_settle(l);
    }
    suspects_close(l);
    snapshot_release(&s);
    vec_release(&l->undo);
    return st;
}
