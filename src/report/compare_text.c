/* compare_text.c - writes the comparison of two kernels as text or JSON. See compare_text.h. */
#include "report/compare_text.h"

#include <math.h>

#include "base/util.h"
#include "report/verdict_text.h"
#include "sys/json.h"

static bool is_baseline(const struct compare_side *s)
{
    return !str_eq(s->who, "candidate");
}

static bool in_one_job(const struct compare_side *a, const struct compare_side *b)
{
    return a->verdict == b->verdict;
}

static const struct verdict_baseline *baseline_of(const struct compare_side *s)
{
    vec_each (struct verdict_baseline, x, &s->verdict->baselines)
        if (str_eq(x->who, s->who))
            return x;
    return NULL;
}

/* Returns the kind of the side's verdict. A baseline has a state instead of a verdict; we show the
 * state "right" as "pass". */
static const char *kind_of(const struct compare_side *s)
{
    const struct verdict_baseline *x = is_baseline(s) ? baseline_of(s) : NULL;
    if (!is_baseline(s))
        return verdict_kind_name(s->verdict->kind);
    return !x ? "not judged" : str_eq(x->state, "right") ? "pass" : x->state;
}

static const char *reason_of(const struct compare_side *s)
{
    const struct verdict_baseline *x = is_baseline(s) ? baseline_of(s) : NULL;
    return is_baseline(s) ? (x ? x->text : "") : s->verdict->summary;
}

bool compare_side_passes(const struct compare_side *s)
{
    return str_eq(kind_of(s), "pass");
}

/* Returns the side's time for the workload of `like`, or NULL. Compares shapes too, because the
 * sides may come from two tasks or two versions of one. */
static const struct verdict_time *time_at(const struct compare_side *s,
                                          const struct verdict_time *like)
{
    vec_each (struct verdict_time, t, &s->verdict->times)
        if (str_eq(t->who, s->who) && str_eq(t->workload, like->workload) &&
            str_eq(t->shape, like->shape))
            return t;
    return NULL;
}

/* Returns the geometric mean of the side's times over the shapes that both sides have; 0 if there
 * are none. */
static double mean_time(const struct compare_side *s, const struct compare_side *other)
{
    double sum = 0;
    unsigned n = 0;
    vec_each (struct verdict_time, t, &s->verdict->times)
        if (str_eq(t->who, s->who) && t->median_ns > 0 && time_at(other, t)) {
            sum += log(t->median_ns);
            n++;
        }
    return n ? exp(sum / n) : 0;
}

/* Returns B's time / A's time, or 0 if it is not known. Both times must come from one job. */
static double ratio_at(const struct verdict_time *a, const struct verdict_time *b)
{
    if (b->ratio > 0)
        return b->ratio;
    return a->median_ns > 0 ? b->median_ns / a->median_ns : 0;
}

/* ---- text ----------------------------------------------------------------------------------- */

enum { FIRST = 24, COLUMN = 34 }; /* least widths of the first and of the other columns */

static int first_width(const struct compare_side *a, const struct compare_side *b)
{
    size_t width = FIRST;
    for (int i = 0; i < 2; i++) {
        const struct compare_side *s = i ? b : a;
        vec_each (struct verdict_time, t, &s->verdict->times)
            if (str_eq(t->who, s->who))
                width = MAX(width, strlen(t->workload) + 1 + strlen(t->shape));
    }
    return (int)width;
}

/* Appends a row of the table, unless both cells are empty. Cuts nothing off, because a part of a
 * shape or of a device's name could be read as another shape or name. */
static void row(struct strbuf *out, int width, const char *what, const char *a, const char *b,
                const char *more)
{
    if (!*a && !*b)
        return;
    strbuf_addf(out, "%-*s  %-*s  %-*s%s%s\n", width, what, COLUMN, a, *more ? COLUMN : 0, b,
                *more ? "  " : "", more);
}

static void add_time(const struct verdict_time *t, struct strbuf *out)
{
    if (!t)
        return;
    time_text(out, t->median_ns);
    if (t->is_model)
        strbuf_adds(out, " model");
    if (t->roofline_pct > 0)
        strbuf_addf(out, ", %.0f%% roofline", t->roofline_pct);
}

/* `r` is B's time / A's time; lo and hi are its interval if hi > lo. */
static void add_factor(double r, double lo, double hi, struct strbuf *out)
{
    bool faster = r >= 1;
    if ((faster ? r : 1 / r) < 1.005)
        strbuf_adds(out, "equal");
    else
        strbuf_addf(out, "A is %.2fx %s", faster ? r : 1 / r, faster ? "faster" : "slower");
    if (hi > lo && lo > 0)
        strbuf_addf(out, " [%.2f, %.2f]", faster ? lo : 1 / hi, faster ? hi : 1 / lo);
}

static void shape_row(const struct compare_side *a, const struct compare_side *b, int width,
                      const struct verdict_time *t, struct strbuf *out)
{
    struct strbuf what = STRBUF_INIT(400), x = STRBUF_INIT(200), y = STRBUF_INIT(200),
                  more = STRBUF_INIT(200);
    const struct verdict_time *ta = time_at(a, t), *tb = time_at(b, t);
    strbuf_addf(&what, "%s %s", t->workload, t->shape);
    add_time(ta, &x);
    add_time(tb, &y);
    if (in_one_job(a, b) && ta && tb && ratio_at(ta, tb) > 0)
        add_factor(ratio_at(ta, tb), tb->ratio_lo, tb->is_model ? 0 : tb->ratio_hi, &more);
    row(out, width, what.buf, x.buf, y.buf, more.buf);
    strbuf_release(&what);
    strbuf_release(&x);
    strbuf_release(&y);
    strbuf_release(&more);
}

static void mean_row(const struct compare_side *a, const struct compare_side *b, int width,
                     struct strbuf *out)
{
    struct strbuf x = STRBUF_INIT(200), y = STRBUF_INIT(200), more = STRBUF_INIT(200);
    double ta = mean_time(a, b), tb = mean_time(b, a);
    if (ta > 0 && tb > 0) {
        time_text(&x, ta);
        time_text(&y, tb);
        if (in_one_job(a, b))
            add_factor(tb / ta, 0, 0, &more);
    }
    row(out, width, "geometric mean", x.buf, y.buf, more.buf);
    strbuf_release(&x);
    strbuf_release(&y);
    strbuf_release(&more);
}

static void add_notes(const struct compare_side *a, const struct compare_side *b,
                      struct strbuf *out)
{
    const struct verdict *x = a->verdict, *y = b->verdict;
    const struct compare_side *side[2] = {a, b};
    strbuf_addc(out, '\n');
    for (int i = 0; i < 2; i++)
        if (*reason_of(side[i]))
            strbuf_addf(out, "%c: %s\n", 'A' + i, reason_of(side[i]));
        else if (in_one_job(a, b) && str_eq(kind_of(side[i]), "pass"))
            strbuf_addf(out, "%c: passes: judged by the same rules, in the same job as A\n",
                        'A' + i);
    if (in_one_job(a, b))
        return;
    if (*x->task_sha && *y->task_sha && !str_eq(x->task_sha, y->task_sha))
        strbuf_addf(out, "warning: the tasks differ: %s %.12s and %s %.12s\n", x->task, x->task_sha,
                    y->task, y->task_sha);
    if (*x->device && *y->device && !str_eq(x->device, y->device))
        strbuf_addf(out, "warning: the devices differ: %s and %s\n", x->device, y->device);
    if (mean_time(a, b) > 0)
        strbuf_adds(out, "The times come from two jobs, so there is no ratio. `hone compare TASK "
                         "A.cu B.cu` times two kernels in one job.\n");
}

void compare_text(const struct compare_side *a, const struct compare_side *b, struct strbuf *out)
{
    int width = first_width(a, b);
    strbuf_addf(out, "A is %s\nB is %s\n\n", a->name, b->name);
    row(out, width, "", "A", "B", "");
    row(out, width, "verdict", kind_of(a), kind_of(b), "");
    vec_each (struct verdict_time, t, &a->verdict->times)
        if (str_eq(t->who, a->who))
            shape_row(a, b, width, t, out);
    vec_each (struct verdict_time, t, &b->verdict->times)
        if (str_eq(t->who, b->who) && !time_at(a, t))
            shape_row(a, b, width, t, out);
    mean_row(a, b, width, out);
    if (!in_one_job(a, b)) {
        row(out, width, "device", a->verdict->device, b->verdict->device, "");
        row(out, width, "compiler", a->verdict->compiler, b->verdict->compiler, "");
    }
    add_notes(a, b, out);
}

/* ---- JSON ----------------------------------------------------------------------------------- */

static json_t *side_json(const struct compare_side *s)
{
    json_t *times = json_array();
    vec_each (struct verdict_time, t, &s->verdict->times)
        if (str_eq(t->who, s->who))
            json_array_append_new(times,
                                  json_pack("{s:o, s:o, s:f, s:b}", "workload",
                                            json_text(t->workload), "shape", json_text(t->shape),
                                            "median_ns", t->median_ns, "model", t->is_model));
    return json_pack("{s:o, s:s, s:o, s:o}", "name", json_text(s->name), "kind", kind_of(s),
                     "reason", json_text(reason_of(s)), "times", times);
}

json_t *compare_json(const struct compare_side *a, const struct compare_side *b)
{
    double ta = mean_time(a, b), tb = mean_time(b, a);
    json_t *ratio = in_one_job(a, b) && ta > 0 ? json_real(tb / ta) : json_null();
    return json_pack("{s:o, s:o, s:o, s:b}", "a", side_json(a), "b", side_json(b), "ratio", ratio,
                     "one_job", in_one_job(a, b));
}
