/*
 * pattern.c - describes the bad elements of an output in words.
 *
 * We treat the output as a matrix whose rows run along the last dimension. To find where the bad
 * elements are, we count them in each row and column. To find what they hold, we try hypotheses
 * ("all zero", "transposed") on up to 256 of them.
 */
#include "worker/pattern.h"

#include <math.h>
#include <stdlib.h>

#include "base/strbuf.h"
#include "base/util.h"

enum { PROBES = 256, WORDS_MAX = 600 };

struct view {
    const struct pattern_input *p;
    const struct job_buffer *b;
    uint64_t rows, cols;
    uint64_t *row_bad, *col_bad; /* bad elements in each row, in each column */
    uint64_t probe[PROBES];      /* bad elements, evenly spread */
    size_t nprobes;
};

static void view_init(struct view *v, const struct pattern_input *p)
{
    *v = (struct view){.p = p, .b = p->in->b};
    v->cols = v->b->rank && v->b->dims[v->b->rank - 1] > 0 ? (uint64_t)v->b->dims[v->b->rank - 1]
                                                           : v->b->elems;
    if (!v->cols || v->b->elems % v->cols)
        v->cols = MAX(v->b->elems, UINT64_C(1));
    v->rows = v->b->elems / v->cols;
    v->row_bad = xcalloc(v->rows, sizeof *v->row_bad);
    v->col_bad = xcalloc(v->cols, sizeof *v->col_bad);
    uint64_t want = MIN(p->nbad, (uint64_t)PROBES), seen = 0;
    for (uint64_t r = 0, i = 0; r < v->rows; r++)
        for (uint64_t c = 0; c < v->cols; c++, i++) {
            if (!p->bad[i])
                continue;
            v->row_bad[r]++;
            v->col_bad[c]++;
            if (v->nprobes < want && seen * want / p->nbad >= v->nprobes)
                v->probe[v->nprobes++] = i;
            seen++;
        }
}

static void view_release(struct view *v)
{
    free(v->row_bad);
    free(v->col_bad);
}

static double got_at(const struct view *v, uint64_t i)
{
    return compare_decode((uint32_t)v->b->dtype,
                          compare_element_bits(v->p->in->got, dtype_bytes(v->b->dtype), i));
}

/* ---- where the bad elements are ------------------------------------------------------------- */

/* The bad lines: the first, the last, and how many there are. A line is a row or a column. */
struct span {
    uint64_t first, last, lines;
};

static struct span span_of(const uint64_t *count, uint64_t n)
{
    struct span s = {n, 0, 0};
    for (uint64_t i = 0; i < n; i++)
        if (count[i]) {
            s.first = MIN(s.first, i);
            s.last = i;
            s.lines++;
        }
    return s;
}

/* Returns a number k such that exactly the lines with index % k == *rest are bad. Returns 0 if
 * there is none. */
static uint64_t stride_of(const uint64_t *count, uint64_t n, const struct span *s, uint64_t *rest)
{
    if (s->lines < 3 || s->lines == n)
        return 0;
    uint64_t next = s->first + 1;
    while (next <= s->last && !count[next])
        next++;
    uint64_t k = next - s->first;
    if (k < 2 || s->first >= k)
        return 0;
    for (uint64_t i = 0; i < n; i++)
        if ((count[i] != 0) != (i % k == s->first))
            return 0;
    *rest = s->first;
    return k;
}

/* Cuts the lines into tiles. Returns the width at which exactly every second tile is bad, or 0 if
 * there is none. *odd says whether the odd tiles are the bad ones. */
static uint64_t tiles_of(const uint64_t *count, uint64_t n, const struct span *s, bool *odd)
{
    for (uint64_t w = 2; w <= 512 && 2 * w <= n; w *= 2) {
        bool phase = (s->first / w) % 2, fits = s->lines > w;
        for (uint64_t i = 0; i < n && fits; i++)
            fits = (count[i] != 0) == ((i / w) % 2 == phase);
        if (fits) {
            *odd = phase;
            return w;
        }
    }
    return 0;
}

static const char *ordinal_suffix(uint64_t k)
{
    if (k % 100 >= 11 && k % 100 <= 13)
        return "th";
    return k % 10 == 1 ? "st" : k % 10 == 2 ? "nd" : k % 10 == 3 ? "rd" : "th";
}

static void tell_tail(struct strbuf *sb, const char *line, uint64_t first, uint64_t n)
{
    uint64_t m = n - first;
    strbuf_addf(sb, "%s%s %llu..%llu, the last %llu of %llu", line, m > 1 ? "s" : "",
                (unsigned long long)first, (unsigned long long)(n - 1), (unsigned long long)m,
                (unsigned long long)n);
    for (uint64_t tile = 1024; tile >= 4; tile /= 2)
        if (n > tile && n % tile == m) {
            strbuf_addf(sb, " (the rest after whole tiles of %llu)", (unsigned long long)tile);
            return;
        }
}

/* Says which rows or columns are bad. Returns false if all are bad, or if the bad ones form no
 * regular pattern. */
static bool tell_lines(struct strbuf *sb, const char *line, const uint64_t *count, uint64_t n)
{
    struct span s = span_of(count, n);
    uint64_t rest = 0, k;
    bool odd = false;
    if (n < 2 || s.lines == n)
        return false;
    if (s.lines == 1) {
        strbuf_addf(sb, "%s %llu only%s", line, (unsigned long long)s.first,
                    s.first == n - 1 ? " (the last)" : "");
        return true;
    }
    if ((k = stride_of(count, n, &s, &rest))) {
        strbuf_addf(sb, "every %llu%s %s, starting at %s %llu", (unsigned long long)k,
                    ordinal_suffix(k), line, line, (unsigned long long)rest);
        return true;
    }
    if ((k = tiles_of(count, n, &s, &odd))) {
        strbuf_addf(sb, "every second group of %llu %ss (the %s ones)", (unsigned long long)k, line,
                    odd ? "odd" : "even");
        return true;
    }
    if (s.first == 0 && s.last == n - 1)
        return false; /* the gaps form no pattern */
    if (s.last == n - 1 && s.lines * 10 >= (s.last - s.first + 1) * 9) {
        tell_tail(sb, line, s.first, n);
        return true;
    }
    if (s.lines * 10 >= (s.last - s.first + 1) * 9) {
        strbuf_addf(sb, "%ss %llu..%llu", line, (unsigned long long)s.first,
                    (unsigned long long)s.last);
        return true;
    }
    return false;
}

/* If exactly the last elements of the flat array are bad, says so and returns true. Returns false
 * for whole rows and for an output with a single row, because tell_lines() describes these
 * better. */
static bool tell_flat_tail(struct strbuf *sb, const struct view *v)
{
    uint64_t n = v->b->elems, first = n - v->p->nbad;
    if (v->p->nbad == n || v->rows == 1 || v->p->nbad % v->cols == 0)
        return false;
    for (uint64_t i = first; i < n; i++)
        if (!v->p->bad[i])
            return false;
    tell_tail(sb, "element", first, n);
    return true;
}

static void tell_where(struct strbuf *sb, const struct view *v)
{
    if (v->p->nbad == v->p->ncompared && v->p->ncompared == v->b->elems) {
        strbuf_adds(sb, "every element");
        return;
    }
    if (tell_flat_tail(sb, v))
        return;
    size_t start = sb->len;
    bool rows = tell_lines(sb, "row", v->row_bad, v->rows);
    size_t middle = sb->len;
    if (rows)
        strbuf_adds(sb, ", ");
    const char *line = v->rows == 1 ? "element" : "column";
    bool cols = tell_lines(sb, line, v->col_bad, v->cols);
    if (rows && !cols) {
        sb->len = middle;
        sb->buf[middle] = '\0';
    }
    if (!rows && !cols && v->p->nbad * 20 >= v->p->ncompared * 19)
        strbuf_adds(sb, "nearly every element");
    if (sb->len == start && v->p->nbad * 3 < v->p->ncompared && v->p->nbad > 3)
        strbuf_adds(sb, "scattered elements");
}

/* ---- what they hold ------------------------------------------------------------------------- */

/* Returns whether `got` would be right if `want` were the truth of element i. */
static bool fits(const struct view *v, uint64_t i, double got, double want)
{
    const struct compare_input *in = v->p->in;
    struct compare_rule r = compare_rule_of(v->b, in->poison);
    struct compare_type t = compare_type_of(r.dtype);
    if (!isfinite(want) || !isfinite(got) || want == 0)
        return false;
    double mag = in->mag[i] >= 0 && isfinite(in->mag[i]) ? in->mag[i] : fabs(want);
    double slack = r.atol + r.rtol * mag;
    return fabs(got - want) <= slack + compare_ulp(t, want);
}

static bool nearly_all(size_t yes, size_t asked)
{
    return asked >= 4 && yes * 10 >= asked * 9;
}

static bool tell_constant(struct strbuf *sb, const struct view *v)
{
    size_t zero = 0, nan = 0, same = 0;
    double first = got_at(v, v->probe[0]);
    for (size_t k = 0; k < v->nprobes; k++) {
        double g = got_at(v, v->probe[k]);
        zero += g == 0;
        nan += isnan(g) != 0;
        same += g == first;
    }
    if (nearly_all(zero, v->nprobes))
        strbuf_adds(sb, "they are all zero");
    else if (v->p->nunwritten * 10 < v->p->nbad * 9 && nearly_all(nan, v->nprobes))
        strbuf_adds(sb, "they are NaN");
    else if (nearly_all(same, v->nprobes))
        strbuf_addf(sb, "they all hold %.6g", first);
    else
        return false;
    return true;
}

static bool tell_factor(struct strbuf *sb, const struct view *v)
{
    double ratio[PROBES], diff[PROBES];
    size_t n = 0;
    for (size_t k = 0; k < v->nprobes; k++) {
        double g = got_at(v, v->probe[k]), w = v->p->in->want[v->probe[k]];
        if (!isfinite(g) || !isfinite(w) || w == 0 || g == 0)
            continue;
        ratio[n] = g / w;
        diff[n++] = g - w;
    }
    if (n < 4)
        return false;
    size_t same_ratio = 0, same_diff = 0;
    for (size_t k = 0; k < n; k++) {
        same_ratio += fabs(ratio[k] - ratio[n / 2]) <= 2e-3 * fabs(ratio[n / 2]);
        same_diff += fabs(diff[k] - diff[n / 2]) <= 2e-3 * fabs(diff[n / 2]);
    }
    if (nearly_all(same_ratio, n) && fabs(ratio[n / 2] - 1) > 1e-2) {
        if (fabs(ratio[n / 2] + 1) < 1e-2)
            strbuf_adds(sb, "they have the wrong sign");
        else
            strbuf_addf(sb, "they are %.4g times the right values", ratio[n / 2]);
    } else if (nearly_all(same_diff, n)) {
        strbuf_addf(sb, "they differ from the right values by a constant %.4g", diff[n / 2]);
    } else {
        return false;
    }
    return true;
}

/* Returns the element whose value may have ended up at element i, or v->b->elems if there is
 * none. */
typedef uint64_t (*source_fn)(const struct view *v, uint64_t i, uint64_t arg);

static bool values_from(const struct view *v, source_fn f, uint64_t arg)
{
    size_t yes = 0, asked = 0, moved = 0;
    for (size_t k = 0; k < v->nprobes; k++) {
        uint64_t i = v->probe[k], j = f(v, i, arg);
        if (j >= v->b->elems || v->p->in->mag[j] < 0)
            continue;
        asked++;
        moved += j != i;
        yes += fits(v, j, got_at(v, i), v->p->in->want[j]);
    }
    return moved && asked * 2 >= v->nprobes && nearly_all(yes, asked);
}

static uint64_t source_transposed(const struct view *v, uint64_t i, uint64_t arg)
{
    uint64_t r = v->b->rank >= 2 ? (uint64_t)v->b->dims[v->b->rank - 2] : 1;
    uint64_t plane = r * v->cols, base = i / plane * plane, k = i % plane;
    return base + k % r * v->cols + k / r;
}

static uint64_t source_later(const struct view *v, uint64_t i, uint64_t arg)
{
    return i + arg;
}

static uint64_t source_earlier(const struct view *v, uint64_t i, uint64_t arg)
{
    return i >= arg ? i - arg : v->b->elems;
}

static uint64_t source_xor(const struct view *v, uint64_t i, uint64_t arg)
{
    return i ^ arg;
}

static uint64_t source_row_xor(const struct view *v, uint64_t i, uint64_t arg)
{
    return ((i / v->cols) ^ arg) * v->cols + i % v->cols;
}

static bool tell_moved(struct strbuf *sb, const struct view *v)
{
    if (v->b->rank >= 2 && v->rows > 1 && v->cols > 1 && values_from(v, source_transposed, 0)) {
        strbuf_adds(sb, "the values are those of the transposed matrix");
        return true;
    }
    static const struct {
        source_fn f;
        bool row;
        const char *words;
    } shifts[] = {
        {source_later, true, "each row holds the values of the row after it (off by one row)"},
        {source_earlier, true, "each row holds the values of the row before it (off by one row)"},
        {source_later, false, "each element holds the value of the next element (off by one)"},
        {source_earlier, false,
         "each element holds the value of the element before it (off by one)"},
    };
    for (size_t k = 0; k < ARRAY_LEN(shifts); k++)
        if ((!shifts[k].row || (v->rows > 1 && v->cols > 1)) &&
            values_from(v, shifts[k].f, shifts[k].row ? v->cols : 1)) {
            strbuf_adds(sb, shifts[k].words);
            return true;
        }
    for (uint64_t k = 1; k <= 64; k *= 2) {
        if (values_from(v, source_xor, k)) {
            strbuf_addf(sb, "neighbouring groups of %llu element%s are exchanged",
                        (unsigned long long)k, k > 1 ? "s" : "");
            return true;
        }
        if (v->rows > 1 && v->cols > 1 && values_from(v, source_row_xor, k)) {
            strbuf_addf(sb, "neighbouring groups of %llu row%s are exchanged",
                        (unsigned long long)k, k > 1 ? "s" : "");
            return true;
        }
    }
    return false;
}

const char *pattern_words(const struct pattern_input *p, struct arena *a)
{
    struct view v;
    view_init(&v, p);
    struct strbuf where = STRBUF_INIT(WORDS_MAX), what = STRBUF_INIT(WORDS_MAX);
    tell_where(&where, &v);
    /* The verdict tells elsewhere how many elements were never written. */
    bool unwritten = p->nunwritten * 10 >= p->nbad * 9;
    if (!unwritten && !tell_constant(&what, &v) && !tell_factor(&what, &v))
        tell_moved(&what, &v);
    const char *out =
        arena_printf(a, "%s%s%s", where.buf, where.len && what.len ? "; " : "", what.buf);
    strbuf_release(&where);
    strbuf_release(&what);
    view_release(&v);
    return out;
}
