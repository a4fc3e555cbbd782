/*
 * linediff.c - compares two texts line by line. It strips the equal lines at both ends and compares
 * the rest with Myers' greedy algorithm. Texts that differ in more than MAX_COST lines give one
 * large hunk, which is correct but coarse.
 */
#include "agent/linediff.h"

#include <stdlib.h>
#include <string.h>

#include "base/util.h"

#define MAX_COST 2000

struct text {
    const char **line;
    size_t *len;
    size_t n;
};

static struct text split(const char *s)
{
    struct text t = {NULL, NULL, 0};
    size_t cap = 1;
    for (const char *p = s; *p; p++)
        cap += *p == '\n';
    t.line = xcalloc(cap, sizeof *t.line);
    t.len = xcalloc(cap, sizeof *t.len);
    while (*s) {
        size_t n = strcspn(s, "\n");
        t.line[t.n] = s;
        t.len[t.n++] = n;
        s += n + (s[n] == '\n');
    }
    return t;
}

static void text_free(struct text *t)
{
    free(t->line);
    free(t->len);
}

static bool equal(const struct text *a, size_t i, const struct text *b, size_t j)
{
    return a->len[i] == b->len[j] && memcmp(a->line[i], b->line[j], a->len[i]) == 0;
}

static void add_hunk(struct hunk_vec *v, size_t a, size_t removed, size_t b, size_t added)
{
    struct hunk *last = v->n ? &v->items[v->n - 1] : NULL;
    if (last && last->first + last->removed == a && last->new_first + last->added == b) {
        last->removed += removed;
        last->added += added;
        return;
    }
    *vec_push(v) = (struct hunk){a, removed, b, added};
}

/* Compares the lines [lo, a_hi) of `a` with the lines [lo, b_hi) of `b`, and appends the hunks. */
static void myers(const struct text *a, const struct text *b, size_t lo, size_t a_hi, size_t b_hi,
                  struct hunk_vec *out)
{
    long n = (long)(a_hi - lo), m = (long)(b_hi - lo), max = MIN(n + m, MAX_COST);
    long width = 2 * max + 3, d, k, x = 0, y = 0, found = -1;
    int *trace = xcalloc((size_t)(max + 1) * (size_t)width, sizeof *trace);
/* After x lines of `a` and y lines of `b` the search is on diagonal x - y. V(d, k) is the x that it
 * reached on diagonal k after d changes. */
#define V(d, k) trace[(d)*width + (k) + max + 1]
    for (d = 0; d <= max && found < 0; d++) {
        for (k = -d; k <= d; k += 2) {
            if (d == 0)
                x = 0;
            else if (k == -d || (k != d && V(d - 1, k - 1) < V(d - 1, k + 1)))
                x = V(d - 1, k + 1);
            else
                x = V(d - 1, k - 1) + 1;
            y = x - k;
            while (x < n && y < m && equal(a, lo + (size_t)x, b, lo + (size_t)y)) {
                x++;
                y++;
            }
            V(d, k) = (int)x;
            if (x >= n && y >= m) {
                found = d;
                break;
            }
        }
    }
    if (found < 0) {
        add_hunk(out, lo + 1, (size_t)n, lo + 1, (size_t)m);
        free(trace);
        return;
    }
    /* Walks back from the end through V to collect the steps. Then adds the hunks in order. */
    struct step {
        long x, y;
        bool removes;
    } *steps = xcalloc((size_t)found + 1, sizeof *steps);
    x = n;
    y = m;
    for (d = found; d > 0; d--) {
        k = x - y;
        bool down = k == -d || (k != d && V(d - 1, k - 1) < V(d - 1, k + 1));
        long pk = down ? k + 1 : k - 1, px = V(d - 1, pk), py = px - pk;
        steps[d - 1] = (struct step){px, py, !down};
        x = px;
        y = py;
    }
#undef V
    for (d = 0; d < found; d++)
        add_hunk(out, lo + (size_t)steps[d].x + 1, steps[d].removes, lo + (size_t)steps[d].y + 1,
                 !steps[d].removes);
    free(steps);
    free(trace);
}

void line_diff(const char *before, const char *after, struct hunk_vec *out)
{
    struct text a = split(before), b = split(after);
    size_t lo = 0, a_hi = a.n, b_hi = b.n;
    while (lo < a.n && lo < b.n && equal(&a, lo, &b, lo))
        lo++;
    while (a_hi > lo && b_hi > lo && equal(&a, a_hi - 1, &b, b_hi - 1)) {
        a_hi--;
        b_hi--;
    }
    if (a_hi > lo || b_hi > lo)
        myers(&a, &b, lo, a_hi, b_hi, out);
    text_free(&a);
    text_free(&b);
}

static void print_lines(struct strbuf *out, char mark, const struct text *t, size_t from, size_t n)
{
    for (size_t i = from; i < from + n && i < t->n; i++)
        strbuf_addf(out, "%c%.*s\n", mark, (int)t->len[i], t->line[i]);
}

void line_diff_print(const char *before, const char *after, const char *name_a, const char *name_b,
                     size_t context, struct strbuf *out)
{
    struct hunk_vec v = VEC_INIT;
    struct text a = split(before), b = split(after);
    line_diff(before, after, &v);
    if (v.n)
        strbuf_addf(out, "--- %s\n+++ %s\n", name_a, name_b);
    for (size_t i = 0; i < v.n;) {
        size_t j = i; /* hunks i..j print as one */
        while (j + 1 < v.n &&
               v.items[j + 1].first - (v.items[j].first + v.items[j].removed) <= 2 * context)
            j++;
        const struct hunk *h0 = &v.items[i], *h1 = &v.items[j];
        size_t lead = MIN(context, h0->first - 1);
        size_t tail = MIN(context, a.n - MIN(a.n, h1->first + h1->removed - 1));
        size_t from_a = h0->first - lead, from_b = h0->new_first - lead;
        size_t len_a = h1->first + h1->removed + tail - from_a;
        size_t len_b = h1->new_first + h1->added + tail - from_b;
        strbuf_addf(out, "@@ -%zu,%zu +%zu,%zu @@\n", from_a, len_a, from_b, len_b);
        size_t at = from_a - 1;
        for (; i <= j; i++) {
            const struct hunk *h = &v.items[i];
            print_lines(out, ' ', &a, at, h->first - 1 - at);
            print_lines(out, '-', &a, h->first - 1, h->removed);
            print_lines(out, '+', &b, h->new_first - 1, h->added);
            at = h->first - 1 + h->removed;
        }
        print_lines(out, ' ', &a, at, tail);
    }
    text_free(&a);
    text_free(&b);
    vec_release(&v);
}
