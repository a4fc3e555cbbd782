/* table.c - reads the rows of a study, and writes its two tables (study.h). */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "base/util.h"
#include "study/scores.h"
#include "sys/file.h"

#define STREAM_BOOTSTRAP 7501 /* random numbers of study_mean() (base/rng.h) */
#define RESAMPLES 2000

/* ---- rows ------------------------------------------------------------------------------------ */

static const struct study_arm *find_arm(const char *name)
{
    const struct study_arm *arm = study_arms;
    while (arm->name && !str_eq(arm->name, name))
        arm++;
    return arm->name ? arm : NULL;
}

static const struct study_task *find_task(const struct study *s, const char *name)
{
    vec_each (struct study_task, t, &s->tasks)
        if (str_eq(t->name, name))
            return t;
    return NULL;
}

/* Reads a line of study.tsv. Returns false if the line has another form, or belongs to a study with
 * other tasks, another budget, another author or other sibling tasks. */
static bool read_row(const struct study *s, char *line, struct study_row *r)
{
    char *save = NULL, *arm = strtok_r(line, "\t", &save), *task = strtok_r(NULL, "\t", &save);
    char *seed = strtok_r(NULL, "\t", &save), *setup = strtok_r(NULL, "\t", &save);
    char *curve = strtok_r(NULL, "\t", &save);
    if (!curve || !find_arm(arm) || !find_task(s, task))
        return false;
    struct strbuf wanted = STRBUF_INIT(1024);
    study_setup(s, find_arm(arm), find_task(s, task)->task, &wanted);
    bool ours = str_eq(wanted.buf, setup);
    strbuf_release(&wanted);
    *r = (struct study_row){.arm = arm, .task = task, .seed = (uint32_t)strtoul(seed, NULL, 10)};
    for (char *p = curve; ours && *p && r->n < STUDY_MAX_BUDGET;) {
        char *end;
        r->best_ns[r->n] = strtod(p, &end);
        if (end == p)
            return false;
        r->n++;
        p = end + (*end == ',');
    }
    return ours && r->n == s->budget;
}

int study_read_rows(const struct study *s, struct study_row_vec *out, struct arena *a,
                    struct err *err)
{
    char *path = xasprintf("%s/study.tsv", s->dir);
    struct strbuf text = STRBUF_INIT(64u << 20);
    int rc = file_exists(path) ? file_read(path, 64u << 20, &text, err) : 0;
    char *line = rc == 0 ? arena_strdup(a, text.buf) : NULL;
    for (char *end; line && (end = strchr(line, '\n')); line = end + 1) {
        struct study_row r;
        /* A killed study may leave a last line without '\n'; it is skipped. */
        *end = '\0';
        if (read_row(s, line, &r))
            *vec_push(out) = r;
    }
    strbuf_release(&text);
    free(path);
    return rc;
}

/* ---- scores ---------------------------------------------------------------------------------- */

/* Returns the position of a row in x->index, or -1 if the study has no such arm, task or seed. */
static ptrdiff_t place_of(const struct study_scores *x, const char *arm, const char *task,
                          uint32_t seed)
{
    const struct study_arm *a = find_arm(arm);
    const struct study_task *t = find_task(x->s, task);
    if (!a || !t || seed > x->s->seeds)
        return -1;
    size_t pair = (size_t)(a - study_arms) * x->s->tasks.n + (size_t)(t - x->s->tasks.items);
    return (ptrdiff_t)(pair * (x->s->seeds + 1) + seed);
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

/* Returns the row, or NULL if the study does not have it yet. */
static const struct study_row *find_row(const struct study_scores *x, const char *arm,
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
        const struct study_row *r = find_row(x, arm, x->s->tasks.items[t].name, seed);
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

/* The scores of one arm, with an element for each seed whose runs are complete. */
struct arm_scores {
    double *end;       /* score at the end of the runs */
    double *way;       /* mean of the scores after 1, 2, ... candidates */
    double *more;      /* `end` minus that of the arm refine */
    uint32_t n;        /* length of `end` and `way` */
    uint32_t compared; /* length of `more` */
};

static struct arm_scores score_arm(const struct study_scores *x, const struct study_arm *arm)
{
    const struct study *s = x->s;
    struct arm_scores a = {.end = xcalloc(s->seeds + 1, sizeof(double)),
                           .way = xcalloc(s->seeds + 1, sizeof(double)),
                           .more = xcalloc(s->seeds + 1, sizeof(double))};
    for (uint32_t seed = 1; seed <= s->seeds; seed++) {
        double v = study_score(x, arm->name, seed, s->budget);
        double base = study_score(x, "refine", seed, s->budget);
        if (v < 0)
            continue;
        a.end[a.n] = v;
        if (base >= 0 && !str_eq(arm->name, "refine"))
            a.more[a.compared++] = v - base;
        for (uint32_t c = 1; c <= s->budget; c++)
            a.way[a.n] += study_score(x, arm->name, seed, c) / s->budget;
        a.n++;
    }
    return a;
}

static void add_arm(const struct study_scores *x, const struct study_arm *arm, struct strbuf *out)
{
    struct arm_scores a = score_arm(x, arm);
    if (a.n) {
        struct study_interval e = study_mean(a.end, a.n), w = study_mean(a.way, a.n);
        strbuf_addf(out, "| %s%s | %u | %.1f [%.1f, %.1f] | %.1f [%.1f, %.1f] |", arm->name,
                    arm->words ? " (*)" : "", a.n, 100 * e.mean, 100 * e.lo, 100 * e.hi,
                    100 * w.mean, 100 * w.lo, 100 * w.hi);
    }
    if (a.compared) {
        struct study_interval d = study_mean(a.more, a.compared);
        strbuf_addf(out, " %+.1f [%+.1f, %+.1f] |\n", 100 * d.mean, 100 * d.lo, 100 * d.hi);
    } else if (a.n) {
        strbuf_adds(out, " |\n");
    }
    free(a.end);
    free(a.way);
    free(a.more);
}

/* Returns how many rows the study has. *wanted becomes the number that a complete study has. */
static uint64_t count_runs(const struct study_scores *x, uint64_t *wanted)
{
    uint64_t n = 0;
    *wanted = 0;
    for (const struct study_arm *arm = study_arms; arm->name; arm++)
        for (uint32_t seed = 1; seed <= study_seeds(x->s, arm); seed++)
            vec_each (const struct study_task, t, &x->s->tasks) {
                n += find_row(x, arm->name, t->name, seed) != NULL;
                (*wanted)++;
            }
    return n;
}

int study_table(const struct study *s, struct strbuf *out, struct err *err)
{
    struct study_scores x;
    if (study_scores_load(&x, s, err) < 0)
        return -1;
    uint64_t wanted, runs = count_runs(&x, &wanted);
    bool words = false;
    if (runs < wanted)
        strbuf_addf(
            out,
            "The study is not complete: it has %llu of %llu runs. The table uses a seed of an "
            "arm only if every task has a run with it.\n\n",
            (unsigned long long)runs, (unsigned long long)wanted);
    strbuf_addf(
        out,
        "%zu tasks, at most %u seeds, %u candidates for each run. 100 stands for the best time "
        "that any run of the study reached on the task, 50 for half its speed. In brackets: 95%%\n"
        "intervals over seeds.\n\n| arm | seeds | at the end | along the way | more than "
        "refine |\n| --- | --- | --- | --- | --- |\n",
        s->tasks.n, s->seeds, s->budget);
    for (const struct study_arm *arm = study_arms; arm->name; arm++)
        if (study_has_arm(s, arm) && !arm->author) {
            add_arm(&x, arm, out);
            words |= arm->words;
        }
    if (words)
        strbuf_adds(out,
                    "\n(*) This arm changes only advice and counters in the prompts. The simulated "
                    "author does not read them, so the arm gives the same results as its strategy "
                    "without the change. A study cannot say what the change is worth.\n");
    study_scores_release(&x);
    return 0;
}

/* ---- the table of memory --------------------------------------------------------------------- */

/* Returns how many candidates the run needed to reach the goal, or r->n + 1 if it never did. */
static uint32_t candidates_to(const struct study_row *r, double goal)
{
    for (uint32_t i = 0; i < r->n; i++)
        if (r->best_ns[i] > 0 && r->best_ns[i] <= goal * STUDY_REACHED)
            return i + 1;
    return r->n + 1;
}

/* How many candidates the built-in author needs to reach its best time without memory. */
struct memory_row {
    /* Candidates without memory; runs with memory; runs that never reached the goal. */
    uint32_t without, seeds, never;
    double with;                 /* candidates with memory: mean over the runs */
    struct study_interval share; /* candidates with memory / candidates without */
};

/* Fills *out for a task. Returns false if the study lacks the run without memory or all runs with
 * memory, or if no kernel passed without memory. */
static bool memory_row(const struct study_scores *x, const char *task, struct memory_row *out)
{
    const struct study_row *base = find_row(x, "playbook", task, 1);
    *out = (struct memory_row){.without = 0};
    if (!base || base->best_ns[base->n - 1] <= 0)
        return false;
    double goal = base->best_ns[base->n - 1], *share = xcalloc(x->s->seeds + 1, sizeof *share);
    out->without = candidates_to(base, goal);
    for (uint32_t seed = 1; seed <= x->s->seeds; seed++) {
        const struct study_row *r = find_row(x, "playbook, with memory", task, seed);
        if (!r)
            continue;
        uint32_t c = candidates_to(r, goal);
        out->with += c;
        out->never += c > r->n;
        share[out->seeds++] = (double)c / out->without;
    }
    if (out->seeds) {
        out->with /= out->seeds;
        out->share = study_mean(share, out->seeds);
    }
    free(share);
    return out->seeds > 0;
}

int study_memory_table(const struct study *s, struct strbuf *out, struct err *err)
{
    struct study_scores x;
    double with = 0;
    uint32_t without = 0, rows = 0, good = 0, first = 0;
    if (study_scores_load(&x, s, err) < 0)
        return -1;
    strbuf_addf(
        out,
        "How many candidates the built-in author needs until its best time is at most "
        "0.5%% above the best time that it reaches without memory.\n\n| task | without "
        "memory | with memory, mean of "
        "%u seeds | share | seeds that never get there |\n| --- | --- | --- | --- | --- |\n",
        s->seeds);
    vec_each (const struct study_task, t, &s->tasks) {
        struct memory_row r;
        if (!memory_row(&x, t->name, &r))
            continue;
        strbuf_addf(out, "| %s | %u | %.1f | %.0f%% [%.0f, %.0f] | %u of %u |\n", t->name,
                    r.without, r.with, 100 * r.share.mean, 100 * r.share.lo, 100 * r.share.hi,
                    r.never, r.seeds);
        rows++;
        first += r.without == 1;
        good += r.without > 1 && r.share.mean <= STUDY_SHARE;
        with += r.with;
        without += r.without;
    }
    if (rows)
        strbuf_addf(
            out,
            "| all | %u | %.1f | %.0f%% | |\n\n%u of %u tasks need at most %.0f%% of the "
            "candidates that they need without memory. %u reach the time with their first kernel, "
            "so memory cannot save a candidate there.\n",
            without, with, 100 * with / without, good, rows, 100 * STUDY_SHARE, first);
    study_scores_release(&x);
    return 0;
}
