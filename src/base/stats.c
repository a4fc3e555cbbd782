/*
 * stats.c - computes medians and midmeans, and their intervals by the bootstrap.
 */
#include "base/stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"

enum { RESAMPLES = 400 };

static int cmp_double(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double stats_median(double *v, size_t n)
{
    if (!n)
        return 0;
    qsort(v, n, sizeof *v, cmp_double);
    return n % 2 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
}

double stats_midmean(double *v, size_t n)
{
    if (n < 8)
        return stats_median(v, n);
    qsort(v, n, sizeof *v, cmp_double);
    double sum = 0;
    size_t cut = n / 4;
    for (size_t i = cut; i < n - cut; i++)
        sum += v[i];
    return sum / (double)(n - 2 * cut);
}

/* Returns the next number of a splitmix64 sequence, which is random enough to pick indices. */
static uint64_t next_random(uint64_t *s)
{
    uint64_t z = (*s += 0x9e3779b97f4a7c15u);
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

static void interval(double *medians, struct stats *s)
{
    qsort(medians, RESAMPLES, sizeof *medians, cmp_double);
    s->lo = medians[(int)(RESAMPLES * 0.025)];
    s->hi = medians[(int)(RESAMPLES * 0.975)];
    s->rel = s->median != 0 ? (s->hi - s->lo) / fabs(s->median) : 0;
}

static void describe(const double *v, size_t n, double *scratch, struct stats *s)
{
    memcpy(scratch, v, n * sizeof *v);
    s->n = n;
    s->median = stats_median(scratch, n);
    s->min = scratch[0];
    s->max = scratch[n - 1];
    for (size_t i = 0; i < n; i++)
        scratch[i] = fabs(v[i] - s->median);
    s->mad = stats_median(scratch, n);
    s->lo = s->min;
    s->hi = s->max;
    s->rel = s->median != 0 ? (s->hi - s->lo) / fabs(s->median) : 0;
}

struct stats stats_summary(const double *v, size_t n, uint64_t seed)
{
    struct stats s = {0};
    if (!n)
        return s;
    double *scratch = xmalloc(n * sizeof *scratch);
    describe(v, n, scratch, &s);
    if (n >= 3) {
        double medians[RESAMPLES];
        for (int r = 0; r < RESAMPLES; r++) {
            for (size_t i = 0; i < n; i++)
                scratch[i] = v[next_random(&seed) % n];
            medians[r] = stats_median(scratch, n);
        }
        interval(medians, &s);
    }
    free(scratch);
    return s;
}

/*
 * a[i] and b[i] are the times of two calls, one right after the other, so a disturbance slows both.
 * A resample of the bootstrap therefore draws pairs (a[k], b[k]). Then the disturbance is in both
 * midmeans or in neither, and nearly cancels out in their ratio.
 */
struct stats stats_ratio(const double *a, const double *b, size_t n, uint64_t seed)
{
    struct stats s = {0};
    if (!n)
        return s;
    double *x = xmalloc(n * sizeof *x), *y = xmalloc(n * sizeof *y);
    memcpy(x, a, n * sizeof *x);
    memcpy(y, b, n * sizeof *y);
    s.n = n;
    s.median = s.lo = s.hi = s.min = s.max = stats_midmean(x, n) / stats_midmean(y, n);
    if (n >= 3) {
        double medians[RESAMPLES];
        for (int r = 0; r < RESAMPLES; r++) {
            for (size_t i = 0; i < n; i++) {
                size_t k = next_random(&seed) % n;
                x[i] = a[k];
                y[i] = b[k];
            }
            medians[r] = stats_midmean(x, n) / stats_midmean(y, n);
        }
        interval(medians, &s);
    }
    free(x);
    free(y);
    return s;
}
