/* shown_file.c - decides whether a prompt shows a candidate's file, or an older file and the
 * changes since (shown_file.h). */
#include "agent/shown_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/linediff.h"
#include "base/tokens.h"
#include "base/util.h"

/* Changes with at most this many equal lines between them count as one. */
enum { MAX_GAP = 3 };
/* The prompt shows the old file and its changes only if they are short. Together they may have at
 * most MAX_GROWTH times as many tokens as the new file, and the changes alone at most MAX_CHANGED
 * times as many. */
#define MAX_GROWTH 1.25
#define MAX_CHANGED 0.8

/* The lines of a text. Line i, counted from 0, begins at at[i]. at[n] is the end of the text. */
struct lines {
    const char **at;
    size_t n;
};

static struct lines lines_of(const char *text)
{
    struct lines l = {.n = 0};
    size_t cap = 2;
    for (const char *p = text; *p; p++)
        cap += *p == '\n';
    l.at = xcalloc(cap, sizeof *l.at);
    while (*text) {
        l.at[l.n++] = text;
        text += strcspn(text, "\n");
        text += *text == '\n';
    }
    l.at[l.n] = text;
    return l;
}

enum { MAX_QUOTE = 60 };

/* Quotes line i (from 1), cut at MAX_QUOTE characters. */
static void quote(const struct lines *l, size_t i, struct strbuf *out)
{
    const char *p = l->at[i - 1], *end = l->at[i];
    while (p < end && (*p == ' ' || *p == '\t'))
        p++;
    while (end > p && (end[-1] == '\n' || end[-1] == ' ' || end[-1] == '\t' || end[-1] == '\r'))
        end--;
    if (end - p > MAX_QUOTE)
        strbuf_addf(out, " `%.*s`...", MAX_QUOTE, p);
    else if (end > p)
        strbuf_addf(out, " `%.*s`", (int)(end - p), p);
}

static void add_lines(const struct lines *l, size_t first, size_t n, struct strbuf *out)
{
    const char *p = l->at[first - 1], *end = l->at[first - 1 + n];
    strbuf_adds(out, "```\n");
    strbuf_add(out, p, (size_t)(end - p));
    strbuf_adds(out, end > p && end[-1] != '\n' ? "\n```\n" : "```\n");
}

static void say_change(const struct lines *a, const struct lines *b, const struct hunk *h,
                       struct strbuf *out)
{
    if (!h->removed && h->first == 1)
        strbuf_adds(out, "New at the beginning");
    else if (!h->removed) {
        strbuf_addf(out, "New after line %zu,", h->first - 1);
        quote(a, h->first - 1, out);
    } else {
        strbuf_addf(out, h->added ? "Instead of line %zu" : "Without line %zu", h->first);
        if (h->removed > 1)
            strbuf_addf(out, "-%zu", h->first + h->removed - 1);
        strbuf_addc(out, ',');
        quote(a, h->first, out);
        if (h->removed > 1) {
            strbuf_adds(out, " to");
            quote(a, h->first + h->removed - 1, out);
        }
    }
    strbuf_adds(out, h->added ? ":\n" : "\n");
    if (h->added)
        add_lines(b, h->new_first, h->added, out);
}

void changes_text(const char *before, const char *after, struct strbuf *out)
{
    struct hunk_vec hunks = VEC_INIT;
    struct lines a = lines_of(before), b = lines_of(after);
    line_diff(before, after, &hunks);
    for (size_t i = 0; i < hunks.n;) {
        struct hunk h = hunks.items[i++];
        for (; i < hunks.n && hunks.items[i].first - (h.first + h.removed) <= MAX_GAP; i++) {
            h.removed = hunks.items[i].first + hunks.items[i].removed - h.first;
            h.added = hunks.items[i].new_first + hunks.items[i].added - h.new_first;
        }
        say_change(&a, &b, &h, out);
    }
    free(a.at);
    free(b.at);
    vec_release(&hunks);
}

static uint64_t cost(const char *text)
{
    return estimate_tokens(text, strlen(text));
}

const char *shown_file_next(struct shown_files *v, const char *role, const char *source,
                            struct strbuf *changes)
{
    struct shown_file *f = NULL;
    vec_each (struct shown_file, x, v)
        if (str_eq(x->role, role))
            f = x;
    if (!f) {
        f = vec_push(v);
        snprintf(f->role, sizeof f->role, "%s", role);
        return f->text = xstrdup(source);
    }
    changes_text(f->text, source, changes);
    double whole = (double)cost(source), changed = (double)cost(changes->buf);
    if ((double)cost(f->text) + changed <= MAX_GROWTH * whole && changed <= MAX_CHANGED * whole)
        return f->text;
    strbuf_clear(changes);
    free(f->text);
    return f->text = xstrdup(source);
}

void shown_files_release(struct shown_files *v)
{
    vec_each (struct shown_file, f, v)
        free(f->text);
    vec_release(v);
}
