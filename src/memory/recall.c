/*
 * recall.c - finds the lessons that may help with a task, and sums them up. memory.h explains
 * points, moves and playbooks.
 *
 * Only lessons of other tasks of the same class count. A lesson's weight says how similar its task
 * is. It is lower for another GPU, for an imported lesson, and if only one of the two runs has
 * measured times.
 *
 * Points. L(r, p) is the logarithm of the gain of point p in run r. If r did not try p, L is the
 * mean of two numbers: an estimate from the points of the same playbook (estimate.h), and the mean
 * over the points that r tried. The second number is a caution: settings may depend on each other.
 * If r tried no point of the playbook, L is the second number. So a point's rank hardly depends on
 * how often it was tried. Points are ranked by the weighted mean of L over the runs. If the gains
 * of two points agree in every run that tried both, the points differ only in a setting that does
 * not matter. Then the one with the lower rank goes to the end.
 *
 * Lines. All lessons of one move make one line. Lines are ranked by the weighted sum of the
 * logarithms of all gains.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/strbuf.h"
#include "base/util.h"
#include "memory/estimate.h"
#include "memory/lesson.h"
#include "memory/memory.h"
#include "playbook/playbook.h"
#include "sys/json.h"
#include "task/snapshot.h"

/* Smaller gains count as this gain. In ranks, a failure counts as this gain too. */
#define FAILED_GAIN 0.125
/* For ranks, a passing point has at least this gain: 20% slower is as bad as 5% slower. */
#define SLOW_GAIN 0.95
#define SAME_GAIN 0.001 /* gains that differ by at most this share agree */
#define RECALL_MAX 4000
#define HELD_POINT 0.98 /* a point "held" in a run with at least this gain */
#define HELD_MOVE 1.01  /* the same for a move */

struct past_run {
    const struct lesson_rec *first;
    double weight, sum; /* `sum`: of the logarithms of its points' gains */
    unsigned points;
};

struct outcome {
    size_t run; /* index into the runs of struct recall */
    double gain;
};

struct summary {
    const struct lesson_rec *l;   /* its first lesson in the store's list */
    VEC(struct outcome) outcomes; /* of a point */
    double score;
    double log_gain; /* sum of the logarithms of gains above 0 */
    unsigned tried, passed, held;
};

struct recall {
    const struct task *task;
    struct task_traits traits;
    char sha[TASK_HASH];
    char gpu[LESSON_NAME];
    bool measured;
    VEC(struct past_run) runs;
    VEC(struct summary) points;
    VEC(struct summary) moves;
};

static bool is_own_task(const struct recall *r, const struct lesson_rec *l)
{
    return str_eq(l->task_sha, r->sha) || traits_share_mark(l->marks, r->traits.marks);
}

static double weight_of(const struct recall *r, const struct lesson_rec *l)
{
    return traits_similarity(l->ops, l->sizes, r->traits.ops, r->traits.sizes) *
           (str_eq(l->gpu, r->gpu) ? 1 : 0.4) * (l->measured == r->measured ? 1 : 0.6) *
           (l->imported ? 0.5 : 1);
}

static struct past_run *run_of(struct recall *r, const struct lesson_rec *l)
{
    vec_each (struct past_run, p, &r->runs)
        if (p->first->imported == l->imported && str_eq(p->first->run, l->run) &&
            str_eq(p->first->task_sha, l->task_sha))
            return p;
    struct past_run *p = vec_push(&r->runs);
    *p = (struct past_run){.first = l, .weight = weight_of(r, l)};
    return p;
}

static double log_gain(double gain)
{
    return log(MAX(MIN(gain, LESSON_MAX_GAIN), FAILED_GAIN));
}

static double point_gain(double gain)
{
    return gain > 0 ? MAX(log_gain(gain), log(SLOW_GAIN)) : log_gain(gain);
}

static struct summary *summary_of(struct recall *r, const struct lesson_rec *l, bool point)
{
    struct summary *all = point ? r->points.items : r->moves.items;
    size_t n = point ? r->points.n : r->moves.n;
    for (size_t i = 0; i < n; i++)
        if (str_eq(all[i].l->kind, l->kind) && str_eq(all[i].l->playbook, l->playbook) &&
            str_eq(all[i].l->text, l->text))
            return &all[i];
    struct summary *s = point ? vec_push(&r->points) : vec_push(&r->moves);
    *s = (struct summary){.l = l};
    return s;
}

/* An imported lesson does not count beside an own one. Own lessons come first in the list, so s->l
 * is an own one if there is any. */
static bool is_outranked(const struct summary *s, const struct lesson_rec *l)
{
    return l->imported && !s->l->imported;
}

static void add_lesson(struct recall *r, const struct lesson_rec *l)
{
    bool point = str_eq(l->kind, LESSON_POINT);
    struct past_run *run = run_of(r, l);
    struct summary *s = summary_of(r, l, point);
    if (is_outranked(s, l))
        return;
    s->tried++;
    s->passed += l->gain > 0;
    s->held += l->gain >= (point ? HELD_POINT : HELD_MOVE);
    s->log_gain += l->gain > 0 ? log_gain(l->gain) : 0;
    if (point) {
        run->sum += point_gain(l->gain);
        run->points++;
        *vec_push(&s->outcomes) = (struct outcome){(size_t)(run - r->runs.items), l->gain};
    } else {
        s->score += run->weight * log_gain(l->gain);
    }
}

static bool same_playbook(const struct summary *a, const struct summary *b)
{
    return str_eq(a->l->playbook, b->l->playbook);
}

/* tried[r] becomes true for the runs that tried a point of the playbook of `s`. */
static void find_users(const struct recall *r, const struct summary *s, bool *tried)
{
    memset(tried, 0, r->runs.n * sizeof *tried);
    vec_each (const struct summary, other, &r->points)
        if (same_playbook(s, other))
            vec_each (const struct outcome, o, &other->outcomes)
                tried[o->run] = true;
}

static void fit_points(const struct recall *r, struct estimate *e)
{
    vec_each (const struct summary, s, &r->points) {
        uint32_t point = estimate_point(e, s->l->playbook, s->l->text);
        vec_each (const struct outcome, o, &s->outcomes)
            estimate_add(e, (uint32_t)o->run, point, r->runs.items[o->run].weight,
                         MAX(point_gain(o->gain), log(SLOW_GAIN)));
    }
    estimate_fit(e);
}

/* Sets gains[r] to L(r, p) for each run r; p is the number of a point. Also sets tried[], as
 * find_users() does. */
static void take_gains(const struct recall *r, const struct estimate *e, size_t p, bool *tried,
                       double *gains)
{
    const struct summary *s = &r->points.items[p];
    find_users(r, s, tried);
    for (size_t i = 0; i < r->runs.n; i++) {
        const struct past_run *run = &r->runs.items[i];
        double mean = run->points ? run->sum / run->points : 0;
        gains[i] = tried[i] ? (estimate_gain(e, (uint32_t)i, (uint32_t)p) + mean) / 2 : mean;
    }
    vec_each (const struct outcome, o, &s->outcomes)
        gains[o->run] = point_gain(o->gain);
}

static void score_points(struct recall *r)
{
    struct estimate e = ESTIMATE_INIT;
    bool *tried = xcalloc(r->runs.n + 1, sizeof *tried);
    double *gains = xcalloc(r->runs.n + 1, sizeof *gains), weights = 0;
    vec_each (struct past_run, p, &r->runs)
        weights += p->points ? p->weight : 0;
    fit_points(r, &e);
    for (size_t p = 0; p < r->points.n; p++) {
        take_gains(r, &e, p, tried, gains);
        double sum = 0;
        for (size_t i = 0; i < r->runs.n; i++)
            sum += r->runs.items[i].points ? r->runs.items[i].weight * gains[i] : 0;
        r->points.items[p].score = sum / MAX(weights, 1e-9);
    }
    free(tried);
    free(gains);
    estimate_release(&e);
}

static int by_score(const void *a, const void *b)
{
    const struct summary *x = a, *y = b;
    int order = (x->score < y->score) - (x->score > y->score);
    order = order ? order : strcmp(x->l->playbook, y->l->playbook);
    return order ? order : strcmp(x->l->text, y->l->text);
}

static double mean_gain(const struct summary *s)
{
    return exp(s->log_gain / MAX(s->passed, 1));
}

/* Did at least one run try both points, and do the gains agree in each such run? */
static bool same_outcomes(const struct summary *a, const struct summary *b)
{
    size_t both = 0;
    vec_each (struct outcome, x, &a->outcomes)
        vec_each (struct outcome, y, &b->outcomes) {
            if (x->run != y->run || x->gain + y->gain == 0) /* two failures say nothing */
                continue;
            if (fabs(x->gain - y->gain) > SAME_GAIN * MAX(x->gain, y->gain))
                return false;
            both++;
        }
    return both > 0;
}

static json_t *point_json(const struct summary *s)
{
    struct lesson_setting settings[LESSON_SETTINGS];
    size_t n = lesson_read_point(s->l->text, settings);
    if (!s->passed || !n)
        return NULL;
    json_t *values = json_object();
    for (size_t i = 0; i < n; i++)
        json_object_set_new(values, settings[i].name, json_integer(settings[i].to));
    return json_pack("{s:s, s:o, s:f, s:i, s:i}", "playbook", s->l->playbook, "settings", values,
                     "gain", mean_gain(s), "held", (int)s->held, "tried", (int)s->tried);
}

static json_t *points_json(struct recall *r)
{
    json_t *list = json_array(), *repeated = json_array();
    const struct summary *chosen[MEMORY_POINTS] = {0};
    size_t n = 0;
    if (r->points.n)
        qsort(r->points.items, r->points.n, sizeof *r->points.items, by_score);
    vec_each (struct summary, s, &r->points) {
        json_t *j = n < MEMORY_POINTS ? point_json(s) : NULL;
        bool repeats = false;
        if (!j)
            continue;
        for (size_t k = 0; k < n && !repeats; k++)
            repeats = str_eq(chosen[k]->l->playbook, s->l->playbook) && same_outcomes(chosen[k], s);
        if (!repeats)
            chosen[n++] = s;
        json_array_append_new(repeats ? repeated : list, j);
    }
    for (size_t i = 0; i < json_array_size(repeated) && json_array_size(list) < MEMORY_POINTS; i++)
        json_array_append(list, json_array_get(repeated, i));
    json_decref(repeated);
    return list;
}

/* ---- lines ----------------------------------------------------------------------------------- */

static const struct pb_setting *find_setting(const struct playbook_shelf *shelf, const char *book,
                                             const char *name)
{
    vec_each (struct playbook, pb, &shelf->books)
        for (uint32_t i = 0; str_eq(pb->name, book) && i < pb->nsettings; i++)
            if (str_eq(pb->settings[i].name, name))
                return &pb->settings[i];
    return NULL;
}

/* Returns false for words that must not reach a prompt: imported free text, or a setting that no
 * loaded playbook has. */
static bool say_move(const struct lesson_rec *l, const struct playbook_shelf *shelf,
                     struct strbuf *out)
{
    struct lesson_setting settings[LESSON_SETTINGS];
    size_t n = lesson_read_move(l->text, settings);
    if (!*l->playbook && l->imported)
        return false;
    if (!*l->playbook) {
        strbuf_addf(out, "\"%s\"", l->text);
        return true;
    }
    for (size_t i = 0; i < n; i++) {
        const struct pb_setting *s = find_setting(shelf, l->playbook, settings[i].name);
        if (!s)
            return false;
        strbuf_addf(out, "%s%s %lld -> %lld (%.*s)", i ? ", " : "", s->name,
                    (long long)settings[i].from, (long long)settings[i].to,
                    (int)MIN(strcspn(s->why, ";:,"), 80), s->why);
    }
    return n > 0;
}

static json_t *lines_json(struct recall *r, const struct playbook_shelf *shelf)
{
    json_t *list = json_array();
    if (r->moves.n)
        qsort(r->moves.items, r->moves.n, sizeof *r->moves.items, by_score);
    vec_each (struct summary, s, &r->moves) {
        struct strbuf line = STRBUF_INIT(2048);
        strbuf_addf(&line, "%s: ", s->l->kind);
        if (s->held && s->score > 0 && json_array_size(list) < MEMORY_LINES &&
            say_move(s->l, shelf, &line)) {
            strbuf_addf(&line, ": %.2fx as fast, held in %u of %u run%s", mean_gain(s), s->held,
                        s->tried, s->tried > 1 ? "s" : "");
            json_array_append_new(list, json_text(line.buf));
        }
        strbuf_release(&line);
    }
    return list;
}

/* ---- the form of the result ------------------------------------------------------------------ */

static json_t *checked_point(const json_t *j)
{
    const char *book = json_string_value(json_object_get(j, "playbook"));
    const json_t *settings = json_object_get(j, "settings");
    double gain;
    if (!book || !lesson_is_name(book, strlen(book)) || !json_is_object(settings) ||
        json_get_double(json_object_get(j, "gain"), &gain) < 0 || !(gain >= 0 && gain <= 1.000001))
        return NULL;
    json_t *copy = json_object(), *v;
    const char *name;
    json_object_foreach((json_t *)settings, name, v)
    {
        if (lesson_is_name(name, strlen(name)) && json_is_integer(v) &&
            json_object_size(copy) < LESSON_SETTINGS)
            json_object_set(copy, name, v);
    }
    json_int_t held = json_integer_value(json_object_get(j, "held"));
    json_int_t tried = json_integer_value(json_object_get(j, "tried"));
    return json_pack("{s:s, s:o, s:f, s:I, s:I}", "playbook", book, "settings", copy, "gain", gain,
                     "held", MAX(MIN(held, MEMORY_MAX), 0), "tried",
                     MAX(MIN(tried, MEMORY_MAX), 0));
}

/* No character may begin a heading, a fence, a placeholder or a tag in a prompt. */
static bool line_is_plain(const char *s)
{
    size_t n = strlen(s);
    for (size_t i = 0; i < n; i++)
        if (s[i] < ' ' || s[i] > '~' || strchr("`#{}<\\", s[i]))
            return false;
    return n > 0 && n <= 400;
}

json_t *memory_checked(const json_t *j)
{
    json_t *points = json_array(), *lines = json_array();
    const json_t *from = json_object_get(j, "points");
    for (size_t i = 0; i < json_array_size(from) && json_array_size(points) < MEMORY_POINTS; i++) {
        json_t *p = checked_point(json_array_get(from, i));
        if (p)
            json_array_append_new(points, p);
    }
    from = json_object_get(j, "lines");
    for (size_t i = 0; i < json_array_size(from) && json_array_size(lines) < MEMORY_LINES; i++) {
        const char *s = json_string_value(json_array_get(from, i));
        if (s && line_is_plain(s))
            json_array_append_new(lines, json_string(s));
    }
    if (json_array_size(points) || json_array_size(lines))
        return json_pack("{s:o, s:o}", "points", points, "lines", lines);
    json_decref(points);
    json_decref(lines);
    return NULL;
}

/* Leaves out lessons of the run's own task, and those that break a rule: the store may come from
 * someone else. */
static void keep_useful(const struct recall *r, struct lesson_rec_vec *all)
{
    size_t n = 0;
    vec_each (struct lesson_rec, l, all)
        if (!lesson_bad_field(l) && !is_own_task(r, l))
            all->items[n++] = *l;
    all->n = n;
}

char *memory_recall(struct store *s, const struct task *t, const char *gpu, bool measured,
                    const char *books, struct err *err)
{
    struct arena mem = ARENA_INIT;
    struct lesson_rec_vec all = VEC_INIT;
    struct recall r = {.task = t, .measured = measured};
    struct playbook_shelf *shelf = NULL;
    char *text = NULL;
    task_traits(&r.traits, t, &mem);
    task_hash(t, r.sha);
    lesson_make_name(gpu, r.gpu);
    if (store_lesson_list(s, r.traits.class, RECALL_MAX, &all, &mem, err) == 0 &&
        playbooks_open(&shelf, books, err) == 0) {
        keep_useful(&r, &all);
        vec_each (struct lesson_rec, l, &all)
            add_lesson(&r, l);
        score_points(&r);
        json_t *found =
            json_pack("{s:o, s:o}", "points", points_json(&r), "lines", lines_json(&r, shelf));
        json_t *good = memory_checked(found);
        text = good ? json_dumps(good, JSON_COMPACT) : xstrdup("");
        json_decref(good);
        json_decref(found);
    }
    playbooks_close(shelf);
    vec_release(&r.runs);
    vec_each (struct summary, x, &r.points)
        vec_release(&x->outcomes);
    vec_release(&r.points);
    vec_release(&r.moves);
    vec_release(&all);
    arena_release(&mem);
    return text;
}
