/*
 * ncu.c - reads Nsight Compute's CSV (--csv --page raw).
 *
 * Lines of ncu itself (==PROF== ...) and of the profiled program may come before the header, the
 * first line with the column "Kernel Name". The line after it has the units. We keep every column
 * that prof_metrics lists, with its unit as printed. With --print-units base, ncu always prints ns,
 * byte and %.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "prof/metrics.h"
#include "prof/prof.h"

enum { MAX_COLUMNS = 512, MAX_ROWS = 4096, MAX_KERNELS = 64 };

struct row {
    char **cell;
    int n;
};

struct ncu_table {
    struct row header, units;
    int name; /* column "Kernel Name" */
    size_t nrows;
    struct row *rows;
};

const char *ncu_metrics(struct arena *a)
{
    struct strbuf sb = STRBUF_INIT(8192);
    for (size_t i = 0; i < prof_nmetrics; i++)
        if (strstr(prof_metrics[i].name, "__"))
            strbuf_addf(&sb, "%s%s", sb.len ? "," : "", prof_metrics[i].name);
    const char *out = arena_strdup(a, sb.buf);
    strbuf_release(&sb);
    return out;
}

/* Reads the line at p into *r. Returns the start of the next line. */
static const char *read_row(const char *p, const char *end, struct row *r, struct arena *a)
{
    const char *eol = memchr(p, '\n', (size_t)(end - p));
    eol = eol ? eol : end;
    char *cell[MAX_COLUMNS] = {0};
    r->n = 0;
    while (p < eol && r->n < MAX_COLUMNS) {
        struct strbuf sb = STRBUF_INIT(1 << 16);
        bool quoted = *p == '"';
        for (p += quoted; p < eol; p++) {
            if (quoted && *p == '"' && p + 1 < eol && p[1] == '"')
                strbuf_addc(&sb, *p++);
            else if (quoted ? *p == '"' : *p == ',')
                break;
            else if (*p != '\r')
                strbuf_addc(&sb, *p);
        }
        cell[r->n++] = arena_strdup(a, sb.buf);
        strbuf_release(&sb);
        while (p < eol && *p != ',')
            p++;
        p += p < eol;
    }
    r->cell = arena_alloc(a, ((size_t)r->n + 1) * sizeof *r->cell);
    memcpy(r->cell, cell, (size_t)r->n * sizeof *cell);
    return eol < end ? eol + 1 : end;
}

static int column(const struct row *header, const char *name)
{
    for (int i = 0; i < header->n; i++)
        if (str_eq(header->cell[i], name))
            return i;
    return -1;
}

/* Reads "1,234.5" and "1234.5" alike. Returns NaN for "n/a" and for an empty cell. */
static double number(const char *s)
{
    char plain[64];
    size_t n = 0;
    for (; *s && n < sizeof plain - 1; s++)
        if (*s != ',')
            plain[n++] = *s;
    plain[n] = '\0';
    char *rest;
    double v = strtod(plain, &rest);
    return n && !*rest && isfinite(v) ? v : NAN;
}

/* Copies ncu's own error line to `out`, or "" if there is none. Our error message quotes it. */
static void ncu_words(const char *csv, size_t len, char out[200])
{
    const char *at = memmem(csv, len, "==ERROR==", 9), *end = csv + len;
    size_t n = 0;
    while (at && at + n < end && n < 199 && at[n] != '\r' && at[n] != '\n')
        n++;
    snprintf(out, 200, "%.*s", (int)n, at ? at : "");
}

int ncu_read(struct ncu_table **out, const char *csv, size_t len, struct arena *a, struct err *err)
{
    struct ncu_table *t = arena_alloc(a, sizeof *t);
    const char *p = csv, *end = csv + len;
    *t = (struct ncu_table){.name = -1};
    while (p < end && t->name < 0) {
        p = read_row(p, end, &t->header, a);
        t->name = column(&t->header, "Kernel Name");
    }
    if (t->name < 0) {
        char words[200];
        ncu_words(csv, len, words);
        return err_set(err, ERR_INPUT, "ncu printed no table%s%s", *words ? ": " : "", words);
    }
    p = read_row(p, end, &t->units, a);
    size_t cap = 16;
    t->rows = arena_alloc(a, cap * sizeof *t->rows);
    while (p < end && t->nrows < MAX_ROWS) {
        struct row r;
        p = read_row(p, end, &r, a);
        if (r.n <= t->name || !*r.cell[t->name])
            continue;
        if (t->nrows == cap) {
            struct row *more = arena_alloc(a, 2 * cap * sizeof *more);
            memcpy(more, t->rows, cap * sizeof *more);
            t->rows = more;
            cap *= 2;
        }
        t->rows[t->nrows++] = r;
    }
    *out = t;
    return 0;
}

size_t ncu_launches(const struct ncu_table *t)
{
    return t->nrows;
}

/* If the kernel's name in the module is mangled, ncu prints its parameters too: "softmax(const
 * float *, ...)". */
const char *ncu_kernel(const struct ncu_table *t, size_t launch)
{
    return t->rows[launch].cell[t->name];
}

static double cell(const struct ncu_table *t, size_t row, int c)
{
    return c >= 0 && c < t->rows[row].n ? number(t->rows[row].cell[c]) : NAN;
}

static bool ends_with(const char *s, const char *tail)
{
    size_t n = strlen(s), k = strlen(tail);
    return n >= k && str_eq(s + n - k, tail);
}

/* Returns the metric in column c for one kernel: the sum or the mean over its launches among the n
 * launches from `first` on. Returns NaN if none of them has a value. */
static double merged(const struct ncu_table *t, size_t first, size_t n, const char *kernel, int c)
{
    int tc = column(&t->header, "gpu__time_duration.sum");
    bool adds = ends_with(t->header.cell[c], ".sum");
    double sum = 0, weight = 0;
    bool any = false;
    for (size_t i = first; i < first + n; i++) {
        double v = cell(t, i, c), w = tc >= 0 ? cell(t, i, tc) : 1;
        if (!str_eq(ncu_kernel(t, i), kernel) || isnan(v))
            continue;
        any = true;
        w = w > 0 ? w : 1;
        sum += adds ? v : v * w;
        weight += w;
    }
    return !any ? NAN : adds ? sum : sum / weight;
}

static bool seen_before(const struct ncu_table *t, size_t first, size_t i)
{
    for (size_t k = first; k < i; k++)
        if (str_eq(ncu_kernel(t, k), ncu_kernel(t, i)))
            return true;
    return false;
}

static void put(struct verdict *v, const char *workload, const char *kernel, const char *name,
                const char *unit, double value)
{
    *vec_push(&v->counters) = (struct verdict_counter){
        .workload = arena_strdup(&v->arena, workload),
        .role = "time",
        .kernel = arena_strdup(&v->arena, kernel),
        .name = arena_strdup(&v->arena, name),
        .unit = arena_strdup(&v->arena, unit),
        .value = value,
    };
}

void ncu_counters(const struct ncu_table *t, size_t first, size_t n, const char *workload,
                  struct verdict *v)
{
    for (size_t i = first; i < first + n && i < t->nrows; i++) {
        const char *kernel = ncu_kernel(t, i);
        unsigned launches = 0;
        if (seen_before(t, first, i))
            continue;
        for (size_t k = i; k < first + n; k++)
            launches += str_eq(ncu_kernel(t, k), kernel);
        put(v, workload, kernel, "launches", "1", launches);
        for (int c = 0; c < t->header.n; c++) { /* skip parts of metrics, which ncu also prints */
            double x = prof_is_metric(t->header.cell[c]) ? merged(t, first, n, kernel, c) : NAN;
            if (!isnan(x))
                put(v, workload, kernel, t->header.cell[c], c < t->units.n ? t->units.cell[c] : "",
                    x);
        }
    }
}
