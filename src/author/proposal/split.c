/* split.c - chooses ranges of shapes and their settings (split.h). */
#include "author/proposal/split.h"

#include <math.h>
#include <string.h>

#include "base/util.h"

/* A further range must make the whole candidate at least this much faster, because each range adds
 * code and compile time. */
#define RANGE_GAIN 1.02
/* A new table must promise to be this much faster than the base. */
#define TABLE_GAIN 1.01

/* The timed shapes in order of their size along one axis. A group has all shapes of one size. */
struct groups {
    const char *axis;
    int64_t sizes[SHAPES_MAX]; /* ascending */
    uint32_t n;
};

static bool was_tried(const struct bound_book *book, const struct shape_times *t,
                      const struct pb_ranges *r)
{
    vec_each (const struct pb_ranges, x, &t->tables)
        if (ranges_equal(book->pb, x, r))
            return true;
    return false;
}

static bool can_propose(const struct bound_book *book, const struct shape_times *t,
                        const struct pb_ranges *r)
{
    struct strbuf code = STRBUF_INIT(4096), source = STRBUF_INIT(4u << 20);
    bool ok = r->n > 1 && !was_tried(book, t, r) && ranges_allows(book, r);
    if (ok) {
        ranges_code(book->pb, r, &code);
        ok = code.len <= SPLIT_MAX_LABEL &&
             playbook_expand_ranges(book->pb, book->binding, r, &source, NULL) == 0;
    }
    strbuf_release(&code);
    strbuf_release(&source);
    return ok;
}

/* ---- the best table -------------------------------------------------------------------------- */

static struct groups group_shapes(const struct shape_times *t, const char *axis)
{
    struct groups g = {.axis = axis};
    for (uint32_t s = 0; s < t->nshapes; s++) {
        int64_t size = shape_size(t, s, axis);
        uint32_t i = 0;
        while (i < g.n && g.sizes[i] < size)
            i++;
        if (!t->known[s] || (i < g.n && g.sizes[i] == size))
            continue;
        memmove(g.sizes + i + 1, g.sizes + i, (g.n - i) * sizeof *g.sizes);
        g.sizes[i] = size;
        g.n++;
    }
    return g;
}

/* Returns the sum of the logarithms of the point's times at all shapes with sizes from `from` to
 * `to`; INFINITY if one of these times is missing. */
static double cost_of(const struct shape_times *t, const struct point_times *p, const char *axis,
                      int64_t from, int64_t to)
{
    double sum = 0;
    for (uint32_t s = 0; s < t->nshapes; s++) {
        int64_t size = shape_size(t, s, axis);
        if (t->known[s] && size >= from && size <= to)
            sum += p->n[s] ? p->log_ns[s] : (double)INFINITY;
    }
    return sum;
}

struct choice {
    double cost;
    const struct point_times *point;
    uint32_t first; /* the first group for which this point is chosen */
};

/* Returns the best point for the groups `first` to `last`, and its cost. */
static struct choice choose_point(const struct shape_times *t, const struct groups *g,
                                  uint32_t first, uint32_t last)
{
    struct choice best = {INFINITY, NULL, first};
    vec_each (const struct point_times, p, &t->points) {
        double cost = cost_of(t, p, g->axis, g->sizes[first], g->sizes[last]);
        if (cost < best.cost)
            best = (struct choice){cost, p, first};
    }
    return best;
}

/* Returns the end of a range between two timed sizes: the largest power of two up to their
 * geometric mean, or `below` if that power is less than `below`. */
static int64_t end_between(int64_t below, int64_t above)
{
    double middle = sqrt((double)MAX(below, 1) * (double)above);
    int64_t to = 1;
    while (to <= INT64_MAX / 2 && (double)to * 2 <= middle)
        to *= 2;
    return to >= below && to < above ? to : below;
}

/*
 * Sets *out to the best table for the axis. best[n][j] is the best way to cover groups 0 to j with
 * n + 1 ranges. Returns the sum of the logarithms of the times plus a penalty for each range after
 * the first, or INFINITY if no table covers all groups.
 */
static double best_for_axis(const struct shape_times *t, const struct groups *g, uint32_t nshapes,
                            struct pb_ranges *out)
{
    struct choice best[RANGES_MAX][SHAPES_MAX];
    double penalty = nshapes * log(RANGE_GAIN), score = INFINITY;
    uint32_t ranges = 0, last = g->n - 1;
    for (uint32_t n = 0; n < RANGES_MAX && n < g->n; n++)
        for (uint32_t j = n; j < g->n; j++) {
            best[n][j] = n ? (struct choice){INFINITY, NULL, 0} : choose_point(t, g, 0, j);
            for (uint32_t i = n; n && i <= j; i++) {
                struct choice c = choose_point(t, g, i, j);
                c.cost += best[n - 1][i - 1].cost;
                if (c.cost < best[n][j].cost)
                    best[n][j] = c;
            }
        }
    for (uint32_t n = 0; n < RANGES_MAX && n < g->n; n++)
        if (best[n][last].cost + n * penalty < score) {
            score = best[n][last].cost + n * penalty;
            ranges = n + 1;
        }
    *out = (struct pb_ranges){.n = ranges};
    snprintf(out->axis, sizeof out->axis, "%s", g->axis);
    int64_t to = INT64_MAX;
    for (uint32_t n = ranges; n-- > 0;) {
        const struct choice *c = &best[n][last];
        out->items[n] = (struct pb_range){to, c->point->point};
        if (n) {
            last = c->first - 1;
            to = end_between(g->sizes[last], g->sizes[c->first]);
        }
    }
    return score;
}

/* Returns the mean of the logarithms of the times that the settings `r` have at all known shapes;
 * INFINITY if one of these times is missing. */
static double log_time_of(const struct bound_book *book, const struct shape_times *t,
                          const struct pb_ranges *r)
{
    double sum = 0;
    uint32_t n = 0;
    for (uint32_t s = 0; s < t->nshapes; s++) {
        uint32_t i = ranges_choose(r, shape_size(t, s, r->axis));
        if (!t->known[s])
            continue;
        n++;
        double log_ns = INFINITY;
        vec_each (const struct point_times, p, &t->points)
            if (p->n[s] && points_equal(book->pb, &p->point, &r->items[i].point))
                log_ns = p->log_ns[s];
        sum += log_ns;
    }
    return n ? sum / n : (double)INFINITY;
}

bool split_best(const struct bound_book *book, const struct shape_times *t,
                const struct pb_ranges *base, struct pb_ranges *out)
{
    double before = log_time_of(book, t, base), score = INFINITY;
    uint32_t known = 0;
    size_t i;
    json_t *axis;
    for (uint32_t s = 0; s < t->nshapes; s++)
        known += t->known[s];
    json_array_foreach(json_object_get(book->task, "axes"), i, axis)
    {
        struct groups g = group_shapes(t, facts_text(axis, "name"));
        struct pb_ranges r;
        if (g.n < 2 || !ranges_has_axis(book->task, g.axis) || strlen(g.axis) >= RANGES_MAX_AXIS)
            continue;
        double s = best_for_axis(t, &g, known, &r);
        if (s < score) {
            score = s;
            *out = r;
        }
    }
    if (!isfinite(score) || !isfinite(before))
        return false;
    ranges_merge(book->pb, out);
    double after = log_time_of(book, t, out);
    bool gains = after + log(TABLE_GAIN) <= before &&
                 after + out->n * log(RANGE_GAIN) < before + base->n * log(RANGE_GAIN);
    return gains && can_propose(book, t, out);
}

/* ---- other settings for one range ------------------------------------------------------------ */

/* Appends a trial for each point that has times at all shapes of range i. The trial's time is the
 * geometric mean of these. A point that failed and has no time at any shape becomes a failed
 * trial. */
static void trials_in_range(const struct shape_times *t, const struct pb_ranges *r, uint32_t i,
                            struct pb_trial_vec *out)
{
    vec_each (const struct point_times, p, &t->points) {
        double sum = 0;
        uint32_t n = 0, times = 0;
        for (uint32_t s = 0; s < t->nshapes; s++) {
            times += p->n[s];
            if (shape_counts(t, s, r, i)) {
                sum += p->n[s] ? p->log_ns[s] : (double)INFINITY;
                n++;
            }
        }
        if (n && isfinite(sum))
            *vec_push(out) = (struct pb_trial){p->point, exp(sum / n)};
        else if (p->failed && !times)
            *vec_push(out) = (struct pb_trial){p->point, 0};
    }
}

static bool has_shapes(const struct shape_times *t, const struct pb_ranges *r, uint32_t i)
{
    for (uint32_t s = 0; s < t->nshapes; s++)
        if (shape_counts(t, s, r, i))
            return true;
    return false;
}

/* Sets *out to `base` with other settings for range i: the proposal number `at` of playbook_next().
 * Returns 1 if *out can be proposed, 0 if it cannot, -1 if playbook_next() has no such proposal. */
static int move_range(const struct bound_book *book, const struct shape_times *t,
                      const struct pb_ranges *base, uint32_t i, int stage, uint32_t at,
                      struct pb_ranges *out, uint32_t *changed)
{
    struct pb_trial_vec trials = VEC_INIT;
    *out = *base;
    trials_in_range(t, base, i, &trials);
    bool found = has_shapes(t, base, i) &&
                 playbook_next(book->pb, book->binding, &trials, &base->items[i].point, stage, at,
                               &out->items[i].point, changed);
    vec_release(&trials);
    if (!found)
        return -1;
    ranges_merge(book->pb, out);
    return can_propose(book, t, out);
}

/* The ranges take turns. The number of tables that were tried says which range is first. */
bool split_next(const struct bound_book *book, const struct shape_times *t,
                const struct pb_ranges *base, int stage, uint32_t *k, struct pb_ranges *out,
                uint32_t *range, uint32_t *changed)
{
    bool any = true;
    for (uint32_t at = 0; any; at++) {
        any = false;
        for (uint32_t turn = 0; turn < base->n; turn++) {
            *range = (uint32_t)((t->tables.n + turn) % base->n);
            int found = move_range(book, t, base, *range, stage, at, out, changed);
            any |= found >= 0;
            if (found > 0 && (*k)-- == 0)
                return true;
        }
    }
    return false;
}
