/* detail.c - writes the text about compile errors, problems and findings. See detail.h. */
#include "eval/detail.h"

#include <string.h>

#include "base/strbuf.h"
#include "base/util.h"

enum { MAX_LINE = 200, MAX_FINDINGS = 12 };

/* Adds line `n` (from 1) of the source, without its indentation. Adds nothing if there is no such
 * line. */
static void add_source_line(struct strbuf *sb, const char *source, uint32_t n)
{
    const char *p = source;
    for (uint32_t i = 1; p && i < n; i++) {
        p = strchr(p, '\n');
        p = p ? p + 1 : NULL;
    }
    if (!p || !n)
        return;
    p += strspn(p, " \t");
    strbuf_addf(sb, "\n    %u | %.*s", n, (int)MIN(strcspn(p, "\r\n"), (size_t)MAX_LINE), p);
}

static void add_diag(struct strbuf *sb, const struct diag *d, const char *source)
{
    static const char *const names[] = {"error", "warning", "note"};
    strbuf_addf(sb, "%s%s:", sb->len ? "\n" : "", d->file);
    if (d->line)
        strbuf_addf(sb, "%u:", d->line);
    strbuf_addf(sb, " %s: %s", names[d->severity], d->message);
    if (d->frames.n)
        add_source_line(sb, source, d->frames.items[0].line);
    else if (d->file && !strchr(d->file, '/'))
        add_source_line(sb, source, d->line);
    if (d->hint && *d->hint)
        strbuf_addf(sb, "\n    hint: %s", d->hint);
}

char *detail_diags(struct arena *a, const struct compiled *c, const char *source,
                   unsigned max_lines)
{
    struct strbuf sb = STRBUF_INIT(16 << 10);
    unsigned lines = 0;
    if (c->failure && *c->failure)
        strbuf_adds(&sb, c->failure);
    for (size_t i = 0; i < c->diags.n && lines < max_lines; i++) {
        if (c->diags.items[i].severity != DIAG_ERROR)
            continue;
        add_diag(&sb, &c->diags.items[i], source);
        lines += 3;
    }
    if (!sb.len && c->log)
        strbuf_add(&sb, c->log, MIN(strlen(c->log), (size_t)4000));
    char *text = arena_strdup(a, sb.buf);
    strbuf_release(&sb);
    return text;
}

char *detail_problems(struct arena *a, const struct problem_vec *p)
{
    struct strbuf sb = STRBUF_INIT(16 << 10);
    for (size_t i = 0; i < p->n; i++)
        strbuf_addf(&sb, "%s%s", i ? "\n" : "", p->items[i].text);
    char *text = arena_strdup(a, sb.buf);
    strbuf_release(&sb);
    return text;
}

static void add_finding(struct strbuf *sb, const struct verdict_finding *f, const char *source)
{
    strbuf_addf(sb, "%s%s in '%s'", sb->len ? "\n" : "", finding_kind_name(f->kind), f->kernel);
    if (f->line)
        strbuf_addf(sb, " line %u", f->line);
    if (verdict_hidden(f->role)) {
        strbuf_adds(sb, ", on a held-out shape (not shown)");
        add_source_line(sb, source, f->line);
        return;
    }
    strbuf_addf(sb, ", block (%u,%u,%u) thread (%u,%u,%u)", f->block[0], f->block[1], f->block[2],
                f->thread[0], f->thread[1], f->thread[2]);
    if (f->count > 1)
        strbuf_addf(sb, ", %llu times", (unsigned long long)f->count);
    strbuf_addf(sb, ": %s", f->text);
    if (f->other && *f->other)
        strbuf_addf(sb, "; the other access: %s", f->other);
    add_source_line(sb, source, f->line);
}

static void add_workload(struct strbuf *sb, const struct verdict_workload *w)
{
    strbuf_addf(sb, "%s%s (%s): %s", sb->len ? "\n" : "", w->name,
                verdict_hidden(w->role) ? "shape not shown" : w->shape, w->note);
}

char *detail_findings(struct verdict *v, const char *source, const uint32_t *order)
{
    struct strbuf sb = STRBUF_INIT(16 << 10);
    size_t failing = 0, held_out = 0;
    for (size_t i = 0; i < v->findings.n && i < MAX_FINDINGS; i++)
        add_finding(&sb, &v->findings.items[i], source);
    if (v->findings.n > MAX_FINDINGS)
        strbuf_addf(&sb, "\nand %zu more findings", v->findings.n - MAX_FINDINGS);
    for (size_t i = 0; i < v->workloads.n; i++) {
        const struct verdict_workload *w = &v->workloads.items[order[i]];
        if (w->ok || !w->note || !*w->note || str_eq(w->note, VERDICT_DID_NOT_RUN))
            continue;
        if (failing++ < VERDICT_TOLD_WORKLOADS)
            add_workload(&sb, w);
        else
            held_out += verdict_hidden(w->role);
    }
    if (failing > VERDICT_TOLD_WORKLOADS)
        strbuf_addf(&sb, "\n... and %zu more workloads are wrong",
                    failing - VERDICT_TOLD_WORKLOADS);
    /* v->separation says what failing shapes have in common, but leaves out held-out shapes. So we
     * count the held-out workloads here. */
    if (held_out)
        strbuf_addf(&sb, ", %zu of them held out", held_out);
    char *text = arena_strdup(&v->arena, sb.buf);
    strbuf_release(&sb);
    return text;
}
