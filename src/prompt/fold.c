/* fold.c - leaves out the least important lines of a text. See fold.h. */
#include "prompt/fold.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/tokens.h"
#include "base/util.h"
#include "base/vec.h"

struct line {
    const char *text;
    size_t len;
    int weight;     /* lines of the least weight are left out first */
    unsigned again; /* how many lines after it differ from it only in digits */
    bool gone;      /* left out */
};

static bool mentions(const struct line *l, const char *word)
{
    size_t n = strlen(word);
    for (size_t i = 0; i + n <= l->len; i++)
        if (strncasecmp(l->text + i, word, n) == 0)
            return true;
    return false;
}

static int weigh(const struct line *l, size_t i, size_t n)
{
    static const char *const strong[] = {
        "error", "fatal",      "expected", "got ",   "mismatch", "out-of-bounds", "out of bounds",
        "race",  "misaligned", "deadlock", "uninit", "refused",  "kernel.cu",     "fault"};
    static const char *const weak[] = {"warning", "note", "hint", "line "};
    int w = 1;
    for (size_t k = 0; k < ARRAY_LEN(strong); k++)
        if (mentions(l, strong[k]))
            w = 8;
    for (size_t k = 0; k < ARRAY_LEN(weak) && w < 3; k++)
        if (mentions(l, weak[k]))
            w = 3;
    if (i < 3 || i + 2 >= n)
        w += 4;
    return l->len ? w : 0;
}

static bool alike(const struct line *a, const struct line *b)
{
    size_t i = 0, j = 0;
    while (i < a->len && j < b->len) {
        bool da = isdigit((unsigned char)a->text[i]), db = isdigit((unsigned char)b->text[j]);
        if (da && db) {
            while (i < a->len && isdigit((unsigned char)a->text[i]))
                i++;
            while (j < b->len && isdigit((unsigned char)b->text[j]))
                j++;
        } else if (a->text[i++] != b->text[j++]) {
            return false;
        }
    }
    return i == a->len && j == b->len;
}

VEC_DECL(line_vec, struct line);

static void split(const char *text, size_t len, struct line_vec *lines)
{
    for (const char *p = text, *end = text + len; p < end;) {
        const char *eol = memchr(p, '\n', (size_t)(end - p));
        struct line l = {.text = p, .len = (size_t)((eol ? eol : end) - p)};
        struct line *last = lines->n ? &lines->items[lines->n - 1] : NULL;
        if (last && l.len > 8 && alike(last, &l))
            last->again++;
        else
            *vec_push(lines) = l;
        p = eol ? eol + 1 : end;
    }
    for (size_t i = 0; i < lines->n; i++)
        lines->items[i].weight = weigh(&lines->items[i], i, lines->n);
}

static uint64_t cost(const struct line *l)
{
    return estimate_tokens(l->text, l->len) + 1;
}

/* Drops the lightest lines first. Among lines of equal weight, starts in the middle. */
static void drop_until(struct line_vec *v, uint64_t total, uint64_t max)
{
    for (int w = 0; w <= 12; w++) {
        size_t lo = v->n / 2, hi = lo; /* lines [lo, hi) are done */
        while ((lo > 0 || hi < v->n) && total > max) {
            bool up = lo == 0 || (hi < v->n && hi - v->n / 2 <= v->n / 2 - lo);
            struct line *l = &v->items[up ? hi++ : --lo];
            if (l->gone || l->weight > w)
                continue;
            l->gone = true;
            total -= MIN(total, cost(l));
        }
    }
}

static void print(const struct line_vec *v, struct strbuf *out)
{
    size_t gap = 0;
    for (size_t i = 0; i <= v->n; i++) {
        const struct line *l = i < v->n ? &v->items[i] : NULL;
        if (l && l->gone) {
            gap += 1 + l->again;
            continue;
        }
        if (gap)
            strbuf_addf(out, "[... %zu lines left out ...]\n", gap);
        gap = 0;
        if (!l)
            break;
        strbuf_add(out, l->text, l->len);
        strbuf_addc(out, '\n');
        if (l->again)
            strbuf_addf(out, "[... %u more like this ...]\n", l->again);
    }
}

bool fold_text(const char *text, size_t len, uint32_t max_tokens, struct strbuf *out)
{
    if (!max_tokens || estimate_tokens(text, len) <= max_tokens) {
        strbuf_add(out, text, len);
        return false;
    }
    struct line_vec lines = VEC_INIT;
    uint64_t total = 0;
    split(text, len, &lines);
    vec_each (struct line, l, &lines)
        total += cost(l);
    drop_until(&lines, total, max_tokens);
    print(&lines, out);
    vec_release(&lines);
    return true;
}

void number_lines(const char *text, size_t len, struct strbuf *out)
{
    size_t n = 1;
    for (const char *p = text, *end = text + len; p < end; n++) {
        const char *eol = memchr(p, '\n', (size_t)(end - p));
        size_t k = (size_t)((eol ? eol : end) - p);
        strbuf_addf(out, "%4zu| %.*s\n", n, (int)k, p);
        p = eol ? eol + 1 : end;
    }
}
