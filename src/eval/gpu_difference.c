/* gpu_difference.c - compares the times of baselines on different GPUs. See gpu_difference.h. */
#include "eval/gpu_difference.h"

#include <math.h>
#include <stdlib.h>

#include "base/stats.h"
#include "base/util.h"

/* The time that was first measured for a baseline on a GPU. */
struct gpu_time {
    char *what;   /* task, workload, shape, baseline */
    char *device; /* the device's name with the GPU's number */
    double ns;
};

static const double MOST_PCT = 2; /* a larger difference gives a warning */

static struct gpu_time *find(struct gpu_times *seen, const char *what, const char *device)
{
    vec_each (struct gpu_time, x, seen)
        if (str_eq(x->what, what) && str_eq(x->device, device))
            return x;
    return NULL;
}

static void keep(struct gpu_times *seen, const char *what, const char *device, double ns)
{
    if (!find(seen, what, device))
        *vec_push(seen) = (struct gpu_time){xstrdup(what), xstrdup(device), ns};
}

static bool is_reference(const struct verdict_time *t)
{
    return t->median_ns > 0 && !str_eq(t->who, "candidate");
}

static char *what_of(const struct verdict *v, const struct verdict_time *t)
{
    return xasprintf("%s|%s|%s|%s|%s", v->task ? v->task : "", v->task_sha ? v->task_sha : "",
                     t->workload, t->shape, t->who);
}

/* Adds a warning if this verdict's GPU and the GPU `other` need different times for the same
 * baselines. */
static void compare(struct gpu_times *seen, struct verdict *v, const char *other)
{
    double *pct = xcalloc(v->times.n + 1, sizeof *pct);
    size_t n = 0;
    vec_each (const struct verdict_time, t, &v->times) {
        char *what = is_reference(t) ? what_of(v, t) : NULL;
        const struct gpu_time *x = what ? find(seen, what, other) : NULL;
        if (x)
            pct[n++] = 100 * (t->median_ns / x->ns - 1);
        free(what);
    }
    double middle = n ? stats_median(pct, n) : 0;
    if (fabs(middle) > MOST_PCT)
        *vec_push(&v->warnings) = arena_printf(
            &v->arena,
            "%s runs the baselines %.0f%% %s than %s: compare ratios to baselines, not times",
            v->device, fabs(middle), middle > 0 ? "slower" : "faster", other);
    free(pct);
}

void gpu_difference_note(struct gpu_times *seen, struct verdict *v)
{
    VEC(const char *) others = VEC_INIT;
    vec_each (struct gpu_time, x, seen) {
        bool known = str_eq(x->device, v->device);
        for (size_t i = 0; i < others.n && !known; i++)
            known = str_eq(others.items[i], x->device);
        if (!known)
            *vec_push(&others) = x->device;
    }
    for (size_t i = 0; i < others.n; i++)
        compare(seen, v, others.items[i]);
    vec_release(&others);
    vec_each (const struct verdict_time, t, &v->times) {
        if (!is_reference(t))
            continue;
        char *what = what_of(v, t);
        keep(seen, what, v->device, t->median_ns);
        free(what);
    }
}

void gpu_times_release(struct gpu_times *seen)
{
    vec_each (struct gpu_time, x, seen) {
        free(x->what);
        free(x->device);
    }
    vec_release(seen);
}
