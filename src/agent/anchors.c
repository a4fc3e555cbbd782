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

/* Reads a number at *s, on the same line. */
static bool take_number(const char **s, size_t *out)
{
    char *end;
    *s = skip(*s, " ");
    if (!isdigit((unsigned char)**s))
        return false;
    *out = strtoul(*s, &end, 10);
    *s = end;
    return true;
}

/* Reads one line of a reply as an anchor; *what then points at the text after its colon. */
static bool read_anchor(const char *line, struct anchor *a, const char **what)
{
    const char *s = skip(line, "-* `");
    if (strncasecmp(s, "ANCHOR ", 7) != 0)
        return false;
    s += 7;
    if (!take_number(&s, &a->first))
        return false;
    a->last = a->first;
    s = skip(s, " ");
    size_t dash = *s == '-'                       ? 1
                  : str_starts(s, "\xe2\x80\x93") ? 3
                                                  : 0; /* an en dash counts as well */
    s += dash;
    if (dash && !take_number(&s, &a->last))
        return false;
    s = skip(s, "*` ");
    *what = *s == ':' ? skip(s + 1, " *") : NULL;
    return *what;
}

static bool parse_numbered(const char *reply, size_t lines, struct anchor_vec *out,
                           struct strbuf *reason)
{
    for (const char *p = reply, *eol; *p; p = eol + (*eol == '\n')) {
        struct anchor a = {.first = 0};
        const char *what;
        eol = p + strcspn(p, "\n");
        if (!read_anchor(p, &a, &what))
            continue;
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

/* ---- marked source -------------------------------------------------------------------------- */

static bool same_line(const char *a, size_t na, const char *b, size_t nb)
{
    while (na && isspace((unsigned char)a[na - 1]))
        na--;
    while (nb && isspace((unsigned char)b[nb - 1]))
        nb--;
    return na == nb && memcmp(a, b, na) == 0;
}

/* Compares the marked file with the source, line by line. The marked file may differ only by the
 * lines with markers. */
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
                strbuf_adds(reason, "a marked span begins inside another");
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
                                    : parse_numbered(reply, line_count(source), out, reason);
    if (!ok)
        return false;
    if (!out->n) {
        strbuf_adds(reason,
                    "no anchor was given: write `ANCHOR first-last: what to do` for each place");
        return false;
    }
    qsort(out->items, out->n, sizeof *out->items, by_line);
    return true;
}

/* ---- checking ------------------------------------------------------------------------------- */

/* How many lines at the top belong to the launch plan, which may always change. */
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

/* The n-th line (from 1) of a text, without its newline; NULL if the text has fewer lines. */
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

/* If lines such as "}" repeat, the same change can be written as a hunk at several places. Moves
 * the hunk up or down by one line if it then still describes the same change. */
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

/* Finds the anchor that contains a hunk. Returns its index, MAX_ANCHORS for the launch plan, or -1
 * if none contains it. */
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

void anchors_mark(const char *source, const struct anchor_vec *anchors, struct strbuf *out)
{
    size_t line = 1;
    for (const char *p = source; *p || line == 1; line++) {
        size_t n = strcspn(p, "\n");
        vec_each (struct anchor, a, anchors)
            if (a->first == line)
                strbuf_addf(out, BEGINS ": %s>>>\n", a->what);
        strbuf_add(out, p, n);
        strbuf_addc(out, '\n');
        vec_each (struct anchor, a, anchors)
            if (a->last == line)
                strbuf_adds(out, ENDS ">>>\n");
        p += n + (p[n] == '\n');
        if (!*p)
            break;
    }
}
