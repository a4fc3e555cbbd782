/*
 * findings.c - records faults and findings: what happened, where in the source, in which thread. A
 * fault ends the launch. A finding is a mistake of the kernel. Every fault also makes a finding.
 *
 * For each kind and source line we record the first finding and only count further ones. If the
 * line is unknown, findings with the same text count as one. Any host thread may report faults and
 * findings, so emu->lock guards them.
 */
#include <stdarg.h>

#include "base/util.h"
#include "emu/core/mem.h"

static void thread_of(const struct warp *w, int lane, uint32_t out[3])
{
    uint32_t t = w->id * WARP + (lane < 0 ? 0 : (uint32_t)lane);
    const uint32_t *b = w->launch->block;
    out[0] = t % b[0];
    out[1] = t / b[0] % b[1];
    out[2] = t / b[0] / b[1];
}

static const char *file_of(const struct warp *w, const struct ptx_insn *p)
{
    const struct ptx_module *m = &w->launch->code->ptx;
    if (!p || p->file >= m->files.n || !m->files.items[p->file])
        return "";
    const char *f = m->files.items[p->file], *slash = strrchr(f, '/');
    return slash ? slash + 1 : f;
}

/* For an instruction of an inlined function, adds where the function was called. */
static void add_callers(const struct warp *w, const struct ptx_insn *p, char *text, size_t n)
{
    char where[256];
    size_t len = strlen(text);
    ptx_describe_inlined(&w->launch->code->ptx, p, where, sizeof where);
    if (*where)
        snprintf(text + len, n - len, "; this is %s", where);
}

static bool same(const struct result_finding *f, enum finding_kind kind, const char *kernel,
                 const char *file, uint32_t line, const char *text)
{
    if (f->kind != kind || f->line != line || !str_eq(f->kernel, kernel) || !str_eq(f->file, file))
        return false;
    return line || str_eq(f->text, text);
}

/* If this instruction has caused a finding of this kind before, counts a repeat and returns true.
 * This must be cheap: a spinning thread may cause the same finding a million times. */
static bool seen_before(struct emu *e, const struct insn *pc, enum finding_kind kind)
{
    const struct seen_finding *s = &e->seen[(uintptr_t)pc / sizeof *pc % ARRAY_LEN(e->seen)];
    bool seen = pc && s->pc == pc && s->kind == kind && s->index < e->findings.n &&
                e->findings.items[s->index].kind == kind;
    if (seen)
        e->findings.items[s->index].count++;
    return seen;
}

static void make(const struct warp *w, const struct insn *pc, int lane, enum finding_kind kind,
                 const char *object, int64_t index, const char *other, const char *text,
                 struct result_finding *f)
{
    struct arena *a = &w->launch->emu->strings;
    const struct ptx_insn *p = pc ? insn_src(w, pc) : NULL;
    *f = (struct result_finding){.kind = kind,
                                 .kernel = arena_strdup(a, w->launch->entry->src->name),
                                 .file = arena_strdup(a, file_of(w, p)),
                                 .line = p ? p->line : 0,
                                 .object = arena_strdup(a, object ? object : ""),
                                 .index = index,
                                 .text = arena_strdup(a, text),
                                 .other = arena_strdup(a, other ? other : ""),
                                 .count = 1};
    memcpy(f->block, w->block->id, sizeof f->block);
    thread_of(w, lane, f->thread);
}

void emu_make_finding(const struct warp *w, const struct insn *pc, int lane, enum finding_kind kind,
                      const char *object, int64_t index, const char *other, const char *said,
                      struct result_finding *f)
{
    char text[1200];
    snprintf(text, sizeof text, "%s", said);
    if (pc)
        add_callers(w, insn_src(w, pc), text, sizeof text);
    make(w, pc, lane, kind, object, index, other, text, f);
}

/* Returns the index of the finding with this kind and place, or SIZE_MAX if there is none. */
static size_t find(const struct emu *e, enum finding_kind kind, const char *kernel,
                   const char *file, uint32_t line, const char *text)
{
    for (size_t i = 0; i < e->findings.n; i++)
        if (same(&e->findings.items[i], kind, kernel, file, line, text))
            return i;
    return SIZE_MAX;
}

void emu_add_finding(struct emu *e, const struct result_finding *f)
{
    size_t at = find(e, f->kind, f->kernel, f->file, f->line, f->text);
    if (at != SIZE_MAX)
        e->findings.items[at].count += f->count;
    else if (e->findings.n < MAX_FINDINGS)
        *vec_push(&e->findings) = *f;
}

static void record(struct warp *w, const struct insn *pc, int lane, enum finding_kind kind,
                   const char *object, int64_t index, const char *other, const char *text)
{
    struct emu *e = w->launch->emu;
    const struct ptx_insn *p = pc ? insn_src(w, pc) : NULL;
    pthread_mutex_lock(&e->lock);
    size_t at = find(e, kind, w->launch->entry->src->name, file_of(w, p), p ? p->line : 0, text);
    if (at != SIZE_MAX) {
        e->findings.items[at].count++;
    } else if (e->findings.n < MAX_FINDINGS) {
        at = e->findings.n;
        make(w, pc, lane, kind, object, index, other, text, vec_push(&e->findings));
    }
    if (pc && at != SIZE_MAX)
        e->seen[(uintptr_t)pc / sizeof *pc % ARRAY_LEN(e->seen)] =
            (struct seen_finding){pc, kind, at};
    pthread_mutex_unlock(&e->lock);
}

bool emu_finding_seen(struct warp *w, const struct insn *pc, enum finding_kind kind)
{
    struct emu *e = w->launch->emu;
    pthread_mutex_lock(&e->lock);
    bool seen = seen_before(e, pc, kind);
    pthread_mutex_unlock(&e->lock);
    return seen;
}

/* Ends a launch that runs on several host threads and had a finding or a fault. The order of the
 * host threads would decide which findings we record, so we record none. settle.c repeats the
 * launch. */
static void run_again(struct launch *l)
{
    __atomic_store_n(&l->redo, 1, __ATOMIC_RELAXED);
    __atomic_store_n(&l->stop, 1, __ATOMIC_RELEASE);
}

bool emu_sanitizing(const struct warp *w)
{
    return w->launch->sanitize;
}

void emu_finding(struct warp *w, const struct insn *pc, int lane, enum finding_kind kind,
                 const char *object, int64_t index, const char *other, const char *fmt, ...)
{
    char text[768];
    va_list ap;
    if (!w->launch->sanitize)
        return;
    if (w->launch->parallel) {
        run_again(w->launch);
        return;
    }
    if (emu_finding_seen(w, pc, kind))
        return;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    if (pc)
        add_callers(w, insn_src(w, pc), text, sizeof text);
    record(w, pc, lane, kind, object, index, other, text);
}

static int fault(struct warp *w, const struct insn *pc, int lane, enum result_status st,
                 enum finding_kind kind, const char *object, int64_t index, const char *text)
{
    struct launch *l = w->launch;
    if (l->parallel && !__atomic_load_n(&l->over_limit, __ATOMIC_RELAXED)) {
        run_again(l);
        return EX_FAULT;
    }
    const struct ptx_insn *p = pc ? insn_src(w, pc) : NULL;
    uint32_t t[3];
    thread_of(w, lane, t);
    pthread_mutex_lock(&l->emu->lock);
    if (!l->stop) {
        l->status = st;
        if (kind == FIND_UNSUPPORTED)
            snprintf(l->message, sizeof l->message, "kernel '%s': %s", l->entry->src->name, text);
        else
            snprintf(l->message, sizeof l->message,
                     "kernel '%s', block (%u,%u,%u), thread (%u,%u,%u), %s:%u: %s",
                     l->entry->src->name, w->block->id[0], w->block->id[1], w->block->id[2], t[0],
                     t[1], t[2], p && p->line ? file_of(w, p) : "PTX line",
                     p ? (p->line ? p->line : p->ptx_line) : 0, text);
        __atomic_store_n(&l->stop, 1, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&l->emu->lock);
    record(w, pc, lane, kind, object, index, NULL, text);
    return EX_FAULT;
}

int emu_fault(struct warp *w, const struct insn *pc, int lane, enum result_status st,
              enum finding_kind kind, const char *fmt, ...)
{
    char text[768];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    if (pc && kind != FIND_DEADLOCK)
        add_callers(w, insn_src(w, pc), text, sizeof text);
    return fault(w, pc, lane, st, kind, NULL, -1, text);
}

int emu_fault_at(struct warp *w, const struct insn *pc, int lane, enum result_status st,
                 enum finding_kind kind, const char *object, int64_t index, const char *fmt, ...)
{
    char text[768];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    if (pc && kind != FIND_DEADLOCK)
        add_callers(w, insn_src(w, pc), text, sizeof text);
    return fault(w, pc, lane, st, kind, object, index, text);
}
