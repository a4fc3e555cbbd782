/*
 * stats.h - what a set of timings says: median, spread, and how sure we are.
 *
 *     struct summary s = stats_summary(times, n, seed);
 *     printf("%.1f us, 95%% in [%.1f, %.1f]\n", s.median, s.lo, s.hi);
 *
 * Intervals are bootstrap percentile intervals of the median (fixed seed: the same times give the
 * same interval). With fewer than 3 values the interval is the range of the values.
 */
#ifndef BASE_STATS_H
#define BASE_STATS_H

#include <stddef.h>
#include <stdint.h>

struct summary {
    size_t n;
    double median, mad, lo, hi, min, max;
    double rel; /* (hi - lo) / median */
};

double stats_median(double *v, size_t n); /* reorders v; 0 for n == 0 */
struct summary stats_summary(const double *v, size_t n, uint64_t seed);
/* The mean of the middle half; of fewer than 8 values, the median. As deaf to outliers as a clock
 * needs, and unlike the median not stuck to the clock's own steps (32 ns on some GPUs). Reorders v.
 */
double stats_midmean(double *v, size_t n);
/* Of midmean(a) / midmean(b), resampling pairs; give them in the order they were taken. */
struct summary stats_ratio(const double *a, const double *b, size_t n, uint64_t seed);

#endif
