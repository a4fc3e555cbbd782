/* table.c - what the rows of a study say: tables with intervals. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "base/util.h"
#include "study/scores.h"
#include "sys/file.h"

#define STREAM_BOOTSTRAP 7501
#define RESAMPLES 2000
#define REACHED 1.005 /* a time within 0.5% of another has reached it */

/* ---- rows ------------------------------------------------------------------------------------ */

static bool read_row(char *line, struct study_row *r)
{
    char *save = NULL, *arm = strtok_r(line, "\t", &save), *task = strtok_r(NULL, "\t", &save);
    char *seed = strtok_r(NULL, "\t", &save), *curve = strtok_r(NULL, "\t", &save);
    if (!arm || !task || !seed || !curve)
        return false;
    *r = (struct study_row){.arm = arm, .task = task, .seed = (uint32_t)strtoul(seed, NULL, 10)};
    for (char *p = curve; *p && r->n < STUDY_MAX_BUDGET;) {
        char *end;
        r->best_ns[r->n] = strtod(p, &end);
        if (end == p)
            return false;
        r->n++;
        p = end + (*end == ',');
    }
    return r->n > 0;
}

int study_read_rows(const struct study *s, struct study_row_vec *out, struct arena *a,
                    struct err *err)
{
    char *path = xasprintf("%s/study.tsv", s->dir), *save = NULL;
    struct strbuf text = STRBUF_INIT(64u << 20);
    int rc = file_exists(path) ? file_read(path, 64u << 20, &text, err) : 0;
    char *copy = rc == 0 ? arena_strdup(a, text.buf) : NULL;
    for (char *l = copy ? strtok_r(copy, "\n", &save) : NULL; l; l = strtok_r(NULL, "\n", &save)) {
        struct study_row r;
        if (read_row(l, &r)) /* a line that a killed study cut off is computed again */
            *vec_push(out) = r;
    }
    strbuf_release(&text);
    free(path);
    return rc;
}

/* ---- scores ---------------------------------------------------------------------------------- */

/* The place of a row in the index; -1 if the study has no such arm, task or seed. */
static ptrdiff_t place_of(const struct study_scores *x, const char *arm, const char *task,
                          uint32_t seed)
{
    size_t a = 0, t = 0;
    while (study_arms[a].name && !str_eq(study_arms[a].name, arm))
        a++;
    while (t < x->s->tasks.n && !str_eq(x->s->tasks.items[t].name, task))
        t++;
    if (!study_arms[a].name || t == x->s->tasks.n || seed > x->s->seeds)
        return -1;
    return (ptrdiff_t)((a * x->s->tasks.n + t) * (x->s->seeds + 1) + seed);
}

int study_scores_load(struct study_scores *x, const struct study *s, struct err *err)
{
    *x = (struct study_scores){.s = s};
    if (study_read_rows(s, &x->rows, &x->mem, err) < 0)
        return -1;
    size_t arms = 0;
    while (study_arms[arms].name)
        arms++;
    x->index = xcalloc(arms * s->tasks.n * (s->seeds + 1) + 1, sizeof *x->index);
    vec_each (struct study_row, r, &x->rows) {
        ptrdiff_t at = place_of(x, r->arm, r->task, r->seed);
        if (at >= 0)
            x->index[at] = r;
    }
    x->best_ns = arena_alloc(&x->mem, (s->tasks.n + 1) * sizeof *x->best_ns);
    for (size_t t = 0; t < s->tasks.n; t++) {
        x->best_ns[t] = 0;
        vec_each (struct study_row, r, &x->rows) {
            double v = r->best_ns[r->n - 1];
            if (str_eq(r->task, s->tasks.items[t].name) && v > 0 &&
                (x->best_ns[t] <= 0 || v < x->best_ns[t]))
                x->best_ns[t] = v;
        }
    }
    return 0;
}

void study_scores_release(struct study_scores *x)
{
    vec_release(&x->rows);
    free(x->index);
    arena_release(&x->mem);
}

const struct study_row *study_find_row(const struct study_scores *x, const char *arm,
                                       const char *task, uint32_t seed)
{
    ptrdiff_t at = place_of(x, arm, task, seed);
    return at < 0 ? NULL : x->index[at];
}

double study_score(const struct study_scores *x, const char *arm, uint32_t seed, uint32_t after)
{
    double sum = 0;
    unsigned n = 0;
    for (size_t t = 0; t < x->s->tasks.n; t++) {
        const struct study_row *r = study_find_row(x, arm, x->s->tasks.items[t].name, seed);
        if (!r)
            return -1;
        if (x->best_ns[t] <= 0)
            continue;
        double own = r->best_ns[MIN(after, r->n) - 1];
        sum += own > 0 ? x->best_ns[t] / own : 0;
        n++;
    }
    return n ? sum / n : -1;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

struct study_interval study_mean(const double *v, uint32_t n)
{
    struct study_interval i = {0, 0, 0};
    double means[RESAMPLES];
    struct rng r = rng_seeded(1, STREAM_BOOTSTRAP);
    for (uint32_t k = 0; k < n; k++)
        i.mean += v[k] / n;
    for (int b = 0; b < RESAMPLES; b++) {
        means[b] = 0;
        for (uint32_t k = 0; k < n; k++)
            means[b] += v[rng_below(&r, n)] / n;
    }
    qsort(means, RESAMPLES, sizeof *means, by_value);
    i.lo = means[RESAMPLES * 25 / 1000];
    i.hi = means[RESAMPLES * 975 / 1000 - 1];
    return i;
}

/* ---- the table of arms ----------------------------------------------------------------------- */

static void add_arm(const struct study_scores *x, const struct study_arm *arm, struct strbuf *out)
{
    const struct study *s = x->s;
    double *end = xcalloc(s->seeds + 1, sizeof *end), *way = xcalloc(s->seeds + 1, sizeof *way);
    double *more = xcalloc(s->seeds + 1, sizeof *more);
    uint32_t n = 0;
    for (uint32_t seed = 1; seed <= s->seeds; seed++) {
        double v = study_score(x, arm->name, seed, s->budget);
        double base = study_score(x, "refine", seed, s->budget);
        if (v < 0)
            continue;
        end[n] = v;
        more[n] = base < 0 ? 0 : v - base;
        for (uint32_t c = 1; c <= s->budget; c++)
            way[n] += study_score(x, arm->name, seed, c) / s->budget;
        n++;
    }
    if (n) {
        struct study_interval e = study_mean(end, n), w = study_mean(way, n),
                              d = study_mean(more, n);
        strbuf_addf(
            out, "| %s%s | %u | %.1f [%.1f, %.1f] | %.1f [%.1f, %.1f] | %+.1f [%+.1f, %+.1f] |\n",
            arm->name, arm->words ? " (*)" : "", n, 100 * e.mean, 100 * e.lo, 100 * e.hi,
            100 * w.mean, 100 * w.lo, 100 * w.hi, 100 * d.mean, 100 * d.lo, 100 * d.hi);
    }
    free(end);
    free(way);
    free(more);
}

int study_table(const struct study *s, struct strbuf *out, struct err *err)
{
    struct study_scores x;
    if (study_scores_load(&x, s, err) < 0)
        return -1;
    uint64_t wanted = 0;
    for (const struct study_arm *arm = study_arms; arm->name; arm++)
        wanted += study_seeds(s, arm) * s->tasks.n;
    if (x.rows.n < wanted)
        strbuf_addf(out,
                    "The study is not complete: it has %zu of %llu runs. A seed counts once all "
                    "tasks have it.\n\n",
                    x.rows.n, (unsigned long long)wanted);
    strbuf_addf(
        out,
        "%zu tasks, at most %u seeds, %u candidates for each run. 100 is the best time that "
        "any run of the study reached on the task, 50 half its speed. In brackets: 95%%\n"
        "intervals over seeds.\n\n| arm | seeds | at the end | along the way | more than "
        "refine |\n| --- | --- | --- | --- | --- |\n",
        s->tasks.n, s->seeds, s->budget);
    for (const struct study_arm *arm = study_arms; arm->name; arm++)
        if (study_has_arm(s, arm) && !arm->author)
            add_arm(&x, arm, out);
    strbuf_adds(out, "\n(*) changes only words of the prompts. The simulated author does not read "
                     "them, so this row cannot differ.\n");
    study_scores_release(&x);
    return 0;
}

/* ---- the table of memory --------------------------------------------------------------------- */

/* After how many candidates the run was as fast as `goal`; one more than the budget if never. */
static uint32_t candidates_to(const struct study_row *r, double goal)
{
    for (uint32_t i = 0; i < r->n; i++)
        if (r->best_ns[i] > 0 && r->best_ns[i] <= goal * REACHED)
            return i + 1;
    return r->n + 1;
}

int study_memory_table(const struct study *s, struct strbuf *out, struct err *err)
{
    struct study_scores x;
    double *share = xcalloc(s->seeds + 1, sizeof *share), all_with = 0, all_without = 0;
    if (study_scores_load(&x, s, err) < 0) {
        free(share);
        return -1;
    }
    strbuf_addf(out,
                "Candidates that the built-in author needs for the best time that it reaches "
                "without memory (within 0.5%%).\n\n| task | without memory | with memory, mean of "
                "%u seeds | share | never, of the seeds |\n| --- | --- | --- | --- | --- |\n",
                s->seeds);
    for (size_t t = 0; t < s->tasks.n; t++) {
        const char *name = s->tasks.items[t].name;
        const struct study_row *base = study_find_row(&x, "playbook", name, 1);
        uint32_t n = 0, never = 0;
        double with = 0;
        if (!base || base->best_ns[base->n - 1] <= 0)
            continue;
        double goal = base->best_ns[base->n - 1];
        uint32_t without = candidates_to(base, goal);
        for (uint32_t seed = 1; seed <= s->seeds; seed++) {
            const struct study_row *r = study_find_row(&x, "playbook, with memory", name, seed);
            if (!r)
                continue;
            uint32_t c = candidates_to(r, goal);
            with += c;
            never += c > r->n;
            share[n++] = (double)c / without;
        }
        if (!n)
            continue;
        struct study_interval i = study_mean(share, n);
        strbuf_addf(out, "| %s | %u | %.1f | %.0f%% [%.0f, %.0f] | %u of %u |\n", name, without,
                    with / n, 100 * i.mean, 100 * i.lo, 100 * i.hi, never, n);
        all_with += with / n;
        all_without += without;
    }
    if (all_without > 0)
        strbuf_addf(out, "| all | %.0f | %.1f | %.0f%% | |\n", all_without, all_with,
                    100 * all_with / all_without);
    study_scores_release(&x);
    free(share);
    return 0;
}
