/* anchors.c - reads anchors from a planner's reply, and checks the coder's changes (anchors.h). */
#include "agent/anchors.h"

#include <ctype.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "agent/linediff.h"
#include "base/utf8.h"
#include "base/util.h"

#define MAX_ANCHORS 32
#define BEGINS "<<<IMPROVE BEGINS"
#define ENDS "<<<IMPROVE ENDS"

static size_t line_count(const char *s)
{
    size_t n = 0;
    for (; *s; n++) {
        s += strcspn(s, "\n");
        s += *s == '\n';
    }
    return n;
}

/* ---- ANCHOR first-last: what ---------------------------------------------------------------- */

static const char *skip(const char *s, const char *blanks)
{
    return s + strspn(s, blanks);
}

/* A line of code that a planner quotes, without white space around it. */
struct quote {
    const char *p;
    size_t n;
};

static struct quote trimmed(const char *p, size_t n)
{
    while (n && isspace((unsigned char)*p)) {
        p++;
        n--;
    }
    while (n && isspace((unsigned char)p[n - 1]))
        n--;
    return (struct quote){p, n};
}

/* The first or last line of a place: a quote, or a line number if `text.p` is NULL. */
struct end {
    struct quote text;
    size_t line;
};

static bool take_end(const char **s, struct end *out)
{
    char *after;
    *s = skip(*s, " ");
    if (**s == '`' && strcspn(*s + 1, "`\n") && (*s)[1 + strcspn(*s + 1, "`\n")] == '`') {
        size_t n = strcspn(*s + 1, "`\n");
        *out = (struct end){.text = trimmed(*s + 1, n)};
        *s += n + 2;
        return out->text.n;
    }
    if (!isdigit((unsigned char)**s))
        return false;
    *out = (struct end){.line = strtoul(*s, &after, 10)};
    *s = after;
    return true;
}

static bool take_joint(const char **s)
{
    static const char *const joints[] = {"-", "\xe2\x80\x93", "to "};
    *s = skip(*s, " ");
    for (size_t i = 0; i < ARRAY_LEN(joints); i++)
        if (str_starts(*s, joints[i])) {
            *s += strlen(joints[i]);
            return true;
        }
    return false;
}

/* Reads one line as an anchor. Sets *what to the text after its colon. */
static bool read_anchor(const char *line, struct end *first, struct end *last, const char **what)
{
    const char *s = skip(line, "-* `");
    if (strncasecmp(s, "ANCHOR ", 7) != 0)
        return false;
    s += 7;
    if (!take_end(&s, first))
        return false;
    *last = *first;
    if (take_joint(&s) && !take_end(&s, last))
        return false;
    s = skip(s, "*` ");
    *what = *s == ':' ? skip(s + 1, " *") : NULL;
    return *what;
}

struct places {
    size_t n, first, last; /* how many lines fit a quote; the first and the last of them */
};

/* Finds the lines that contain the quote if `part`, else the lines that equal it. Looks only at the
 * lines `from` to `to`. */
static struct places find_quote(const char *source, struct quote q, size_t from, size_t to,
                                bool part)
{
    struct places found = {0};
    size_t line = 1;
    for (const char *p = source; *p && line <= to; line++) {
        size_t n = strcspn(p, "\n");
        struct quote t = trimmed(p, n);
        bool fits =
            part ? memmem(t.p, t.n, q.p, q.n) != NULL : t.n == q.n && memcmp(t.p, q.p, q.n) == 0;
        if (fits && line >= from) {
            found.first = found.n++ ? found.first : line;
            found.last = line;
        }
        p += n + (p[n] == '\n');
    }
    return found;
}

static struct places find_end(const char *source, const struct end *e, size_t from, size_t to)
{
    if (!e->text.p)
        return (struct places){1, e->line, e->line};
    struct places found = find_quote(source, e->text, from, to, false);
    return found.n ? found : find_quote(source, e->text, from, to, true);
}

/* Sets the lines of the anchor `a`, which goes from `first` to `last`. One of the two must fit
 * exactly one line. If the other fits several lines, takes the one that makes the anchor shortest.
 * Returns false with a reason if there is no such place. */
static bool locate(const char *source, const struct end *first, const struct end *last,
                   struct anchor *a, struct strbuf *reason)
{
    struct places f = find_end(source, first, 1, SIZE_MAX), l = f;
    if (last->text.p != first->text.p || !first->text.p)
        l = find_end(source, last, 1, SIZE_MAX);
    const struct end *missing = !f.n ? first : !l.n ? last : NULL;
    if (missing) {
        strbuf_addf(reason, "the file has no line `%.*s`", (int)missing->text.n, missing->text.p);
        return false;
    }
    if (f.n > 1 && l.n == 1)
        f = find_end(source, first, 1, l.first);
    else if (l.n > 1 && f.n == 1)
        l = find_end(source, last, f.first, SIZE_MAX);
    else if (f.n > 1) {
        strbuf_addf(reason, "the file has %zu lines `%.*s`: name a line that occurs once", f.n,
                    (int)first->text.n, first->text.p);
        return false;
    }
    if (!f.n || !l.n) {
        strbuf_addf(reason, "line `%.*s` does not come before line `%.*s`", (int)first->text.n,
                    first->text.p, (int)last->text.n, last->text.p);
        return false;
    }
    a->first = f.last;
    a->last = l.first;
    return true;
}

static bool parse_listed(const char *reply, const char *source, struct anchor_vec *out,
                         struct strbuf *reason)
{
    size_t lines = line_count(source);
    for (const char *p = reply, *eol; *p; p = eol + (*eol == '\n')) {
        struct anchor a = {.first = 0};
        struct end first, last;
        const char *what;
        eol = p + strcspn(p, "\n");
        if (!read_anchor(p, &first, &last, &what))
            continue;
        if (!locate(source, &first, &last, &a, reason))
            return false;
        if (a.first < 1 || a.last < a.first || a.last > lines) {
            strbuf_addf(reason, "anchor %zu-%zu is not in the file of %zu lines", a.first, a.last,
                        lines);
            return false;
        }
        if (out->n == MAX_ANCHORS) {
            strbuf_addf(reason, "more than %d anchors", MAX_ANCHORS);
            return false;
        }
        snprintf(a.what, sizeof a.what, "%.*s", (int)MIN((size_t)(eol - what), 399), what);
        utf8_trim(a.what);
        *vec_push(out) = a;
    }
    return true;
}

void anchors_strip(const char *reply, struct strbuf *out)
{
    for (const char *p = reply, *eol; *p; p = eol + (*eol == '\n')) {
        struct end first, last;
        const char *what;
        eol = p + strcspn(p, "\n");
        if (!read_anchor(p, &first, &last, &what))
            strbuf_add(out, p, (size_t)(eol - p) + (*eol == '\n'));
    }
}

/* ---- marked source -------------------------------------------------------------------------- */

static bool same_line(const char *a, size_t na, const char *b, size_t nb)
{
    while (na && isspace((unsigned char)a[na - 1]))
        na--;
    while (nb && isspace((unsigned char)b[nb - 1]))
        nb--;
    return na == nb && memcmp(a, b, na) == 0;
}

/* Reads the anchors from a copy of the source with markers around each place. Each line without a
 * marker must equal the next line of the source; the copy may end early. If a line differs, or the
 * markers do not match, returns false with a reason. */
static bool parse_marked(const char *reply, const char *source, struct anchor_vec *out,
                         struct strbuf *reason)
{
    const char *p = strstr(reply, "```"), *s = source;
    size_t line = 1;
    struct anchor *open = NULL;
    if (p) {
        p += strcspn(p, "\n");
        p += *p == '\n';
    } else {
        p = reply;
    }
    while (*p && strncmp(p, "```", 3) != 0) {
        size_t n = strcspn(p, "\n");
        const char *b = memmem(p, n, BEGINS, strlen(BEGINS)), *e = memmem(p, n, ENDS, strlen(ENDS));
        if (b) {
            if (open || out->n == MAX_ANCHORS) {
                if (open)
                    strbuf_adds(reason, "a marked span begins inside another");
                else
                    strbuf_addf(reason, "more than %d marked spans", MAX_ANCHORS);
                return false;
            }
            open = vec_push(out);
            open->first = line;
            const char *what = b + strlen(BEGINS);
            while (*what == ':' || *what == ' ' || *what == '>')
                what++;
            snprintf(open->what, sizeof open->what, "%.*s", (int)MIN((size_t)(p + n - what), 399),
                     what);
            utf8_trim(open->what);
            char *tail = strstr(open->what, ">>>");
            if (tail)
                memmove(tail, tail + 3, strlen(tail + 3) + 1);
        } else if (e) {
            if (!open) {
                strbuf_adds(reason, "a marked span ends but never began");
                return false;
            }
            open->last = line - 1;
            open = NULL;
        } else {
            size_t k = strcspn(s, "\n");
            if (!*s || !same_line(p, n, s, k)) {
                strbuf_addf(reason, "the marked file differs from the source at line %zu", line);
                return false;
            }
            s += k + (s[k] == '\n');
            line++;
        }
        p += n + (p[n] == '\n');
    }
    if (open) {
        strbuf_adds(reason, "a marked span never ends");
        return false;
    }
    return true;
}

static int by_line(const void *a, const void *b)
{
    const struct anchor *x = a, *y = b;
    return x->first < y->first ? -1 : x->first > y->first;
}

bool anchors_parse(const char *reply, const char *source, struct anchor_vec *out,
                   struct strbuf *reason)
{
    bool ok = strstr(reply, BEGINS) ? parse_marked(reply, source, out, reason)
                                    : parse_listed(reply, source, out, reason);
    if (!ok)
        return false;
    if (!out->n) {
        strbuf_adds(
            reason,
            "no anchor was given: write \"ANCHOR `first line` to `last line`: what to do\" for "
            "each place");
        return false;
    }
    qsort(out->items, out->n, sizeof *out->items, by_line);
    return true;
}

/* ---- checking ------------------------------------------------------------------------------- */

static size_t plan_lines(const char *source)
{
    const char *begin = strstr(source, "hone-plan");
    const char *end = begin ? strstr(begin, "*/") : NULL;
    size_t n = 0;
    for (const char *p = source; end && p <= end; n++) {
        p += strcspn(p, "\n");
        if (*p)
            p++;
    }
    return n;
}

/* Returns the beginning of line n of `s`, and sets *len to the length of the line. Lines count from
 * 1. Returns NULL if there is no line n. */
static const char *nth_line(const char *s, size_t n, size_t *len)
{
    if (n < 1)
        return NULL;
    for (; *s && --n;) {
        s += strcspn(s, "\n");
        s += *s == '\n';
    }
    *len = strcspn(s, "\n");
    return *s ? s : NULL;
}

static bool lines_equal(const char *a, size_t i, const char *b, size_t j)
{
    size_t na = 0, nb = 0;
    const char *x = nth_line(a, i, &na), *y = nth_line(b, j, &nb);
    return x && y && na == nb && memcmp(x, y, na) == 0;
}

/* Where lines such as "}" repeat, a diff could place a hunk (linediff.h) one line higher or lower.
 * Moves the hunk one line up (dir -1) or down (dir 1) if it then describes the same change. Returns
 * whether it moved. */
static bool slide(const char *before, const char *after, struct hunk *h, int dir)
{
    bool adds = !h->removed;
    size_t n = adds ? h->added : h->removed, first = adds ? h->new_first : h->first;
    const char *own = adds ? after : before;
    if (!n || (h->removed && h->added) || (dir < 0 && (h->first < 2 || h->new_first < 2)))
        return false;
    if (dir < 0 ? !lines_equal(own, first - 1, own, first + n - 1)
                : !lines_equal(own, first, own, first + n))
        return false;
    h->first += (size_t)dir;
    h->new_first += (size_t)dir;
    return true;
}

/* Returns the index of the anchor that contains the hunk. If none does, returns MAX_ANCHORS if the
 * hunk is in the launch plan, else -1. */
static int anchor_of(const struct hunk *h, const struct anchor_vec *anchors, size_t plan)
{
    size_t end = h->first + h->removed; /* exclusive */
    for (size_t i = 0; i < anchors->n && i < MAX_ANCHORS; i++)
        if (h->first >= anchors->items[i].first && end <= anchors->items[i].last + 1)
            return (int)i;
    return end <= plan + 1 ? MAX_ANCHORS : -1;
}

static int find_anchor(const char *before, const char *after, const struct hunk *h,
                       const struct anchor_vec *anchors, size_t plan)
{
    int at = anchor_of(h, anchors, plan);
    for (int dir = -1; dir <= 1 && at < 0; dir += 2) {
        struct hunk moved = *h;
        for (int k = 0; k < 40 && at < 0 && slide(before, after, &moved, dir); k++)
            at = anchor_of(&moved, anchors, plan);
    }
    return at;
}

bool anchors_check(const char *before, const char *after, const struct anchor_vec *anchors,
                   struct strbuf *reason)
{
    struct hunk_vec hunks = VEC_INIT;
    bool touched[MAX_ANCHORS + 1] = {false}, ok = true;
    size_t plan = plan_lines(before);
    line_diff(before, after, &hunks);
    vec_each (struct hunk, h, &hunks) {
        int at = find_anchor(before, after, h, anchors, plan);
        if (at >= 0) {
            touched[at] = true;
            continue;
        }
        ok = false;
        if (h->removed)
            strbuf_addf(reason, "lines %zu-%zu of the file were changed, outside every anchor",
                        h->first, h->first + h->removed - 1);
        else
            strbuf_addf(reason, "lines were added before line %zu, outside every anchor", h->first);
        break;
    }
    for (size_t i = 0; ok && i < anchors->n && i < MAX_ANCHORS; i++)
        if (!touched[i]) {
            ok = false;
            strbuf_addf(reason, "the anchor at lines %zu-%zu (%.80s) was left as it is",
                        anchors->items[i].first, anchors->items[i].last, anchors->items[i].what);
        }
    vec_release(&hunks);
    return ok;
}

void anchors_mark(const char *source, const struct anchor_vec *anchors,
                  const struct line_range_vec *hidden, struct strbuf *out)
{
    size_t line = 1, past = 0; /* `past`: number of hidden ranges before the line */
    for (const char *p = source; *p || line == 1; line++) {
        size_t n = strcspn(p, "\n");
        while (past < hidden->n && hidden->items[past].last < line)
            past++;
        const struct line_range *gap = past < hidden->n ? &hidden->items[past] : NULL;
        if (gap && gap->first > line)
            gap = NULL;
        vec_each (struct anchor, a, anchors)
            if (a->first == line)
                strbuf_addf(out, BEGINS ": %s>>>\n", a->what);
        if (gap && line == gap->first)
            strbuf_addf(out, "[%zu lines not shown]\n", gap->last + 1 - gap->first);
        if (!gap) {
            strbuf_add(out, p, n);
            strbuf_addc(out, '\n');
        }
        vec_each (struct anchor, a, anchors)
            if (a->last == line)
                strbuf_adds(out, ENDS ">>>\n");
        p += n + (p[n] == '\n');
        if (!*p)
            break;
    }
}
