#include "agent/anchors.h"

#include <ctype.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "agent/linediff.h"
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

static bool parse_numbered(const char *reply, size_t lines, struct anchor_vec *out,
                           struct strbuf *reason)
{
    for (const char *p = reply; *p;) {
        const char *eol = p + strcspn(p, "\n"), *q = p;
        while (q < eol && (*q == '-' || *q == '*' || *q == ' ' || *q == '`'))
            q++;
        if (eol - q > 7 && strncasecmp(q, "ANCHOR ", 7) == 0) {
            char *end;
            q += 7;
            unsigned long a = strtoul(q, &end, 10), b = a;
            if (end == q)
                goto next;
            if (*end == '-')
                b = strtoul(end + 1, &end, 10);
            while (*end == '*' || *end == '`' || *end == ' ')
                end++;
            if (*end != ':')
                goto next;
            if (a < 1 || b < a || b > lines) {
                strbuf_addf(reason, "anchor %lu-%lu is not in the file of %zu lines", a, b, lines);
                return false;
            }
            if (out->n == MAX_ANCHORS) {
                strbuf_addf(reason, "more than %d anchors", MAX_ANCHORS);
                return false;
            }
            struct anchor *n = vec_push(out);
            n->first = a;
            n->last = b;
            for (end++; *end == ' ' || *end == '*';)
                end++;
            snprintf(n->what, sizeof n->what, "%.*s", (int)MIN((size_t)(eol - end), 399), end);
        }
    next:
        p = eol + (*eol == '\n');
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

/* Walks the marked file beside the source; they must be the same but for the marker lines. */
static bool parse_marked(const char *reply, const char *source, struct anchor_vec *out,
                         struct strbuf *reason)
{
    const char *p = strstr(reply, "```"), *s = source;
    size_t line = 1;
    struct anchor *open = NULL;
    if (!p)
        p = reply;
    else
        p += strcspn(p, "\n") + 1;
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
            char *tail = strstr(open->what, ">>>");
            if (tail)
                memmove(tail, tail + 3, strlen(tail + 3) + 1);
        } else if (e) {
            if (!open) {
                strbuf_adds(reason, "a marked span ends that never began");
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
                    "no anchor was given: say `ANCHOR first-last: what to do` for each place");
        return false;
    }
    qsort(out->items, out->n, sizeof *out->items, by_line);
    return true;
}

/* ---- checking ------------------------------------------------------------------------------- */

/* Lines of the launch plan's comment at the top: they may change with the code. */
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

bool anchors_check(const char *before, const char *after, const struct anchor_vec *anchors,
                   struct strbuf *reason)
{
    struct hunk_vec hunks = VEC_INIT;
    bool touched[MAX_ANCHORS + 1] = {false};
    size_t free_lines = plan_lines(before);
    bool ok = true;
    line_diff(before, after, &hunks);
    vec_each (struct hunk, h, &hunks) {
        /* A hunk removes [first, first + removed) and adds lines before line first + removed. */
        size_t first = h->first, last = h->first + h->removed; /* last is exclusive */
        bool inside = last <= free_lines + 1;
        for (size_t i = 0; i < anchors->n && i < MAX_ANCHORS; i++) {
            const struct anchor *a = &anchors->items[i];
            if (first >= a->first && last <= a->last + 1) {
                inside = true;
                touched[i] = true;
            } else if (first <= a->last && last > a->first) {
                touched[i] = true;
            }
        }
        if (!inside && ok) {
            ok = false;
            if (h->removed)
                strbuf_addf(reason, "lines %zu-%zu of the file were changed, outside every anchor",
                            first, last - 1);
            else
                strbuf_addf(reason, "lines were added before line %zu, outside every anchor",
                            first);
        }
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
