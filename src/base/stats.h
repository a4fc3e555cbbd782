/*
 * stats.h - statistics of a set of times: median, spread, and how certain the median is.
 *
 *     struct stats s = stats_summary(times, n, seed);
 *     printf("%.1f us, 95%% in [%.1f, %.1f]\n", s.median, s.lo, s.hi);
 *
 * [lo, hi] is the 95% interval of the median, by the bootstrap: it holds the middle 95% of the
 * medians of random resamples. Equal times and equal seeds give equal intervals. With fewer than 3
 * values the interval is the range of the values.
 */
#ifndef BASE_STATS_H
#define BASE_STATS_H

#include <stddef.h>
#include <stdint.h>

struct stats {
    size_t n;
    double median, mad, lo, hi, min, max; /* mad: the median of |value - median| */
    double rel;                           /* (hi - lo) / |median| */
};

double stats_median(double *v, size_t n); /* reorders v; 0 for n == 0 */
struct stats stats_summary(const double *v, size_t n, uint64_t seed);
/* Returns the midmean: the mean of the middle half of the values, or the median if there are fewer
 * than 8. Outliers hardly change the midmean. Unlike a median, it can lie between two ticks of the
 * clock (32 ns apart on some GPUs). Reorders v. */
double stats_midmean(double *v, size_t n);
/* Returns the ratio midmean(a) / midmean(b), and its 95% interval [lo, hi] by resampling pairs.
 * a[i] and b[i] must have been measured one after the other. `median`, `min` and `max` of the
 * result are the ratio, and `mad` is 0. With fewer than 3 pairs, lo and hi are the ratio too. */
struct stats stats_ratio(const double *a, const double *b, size_t n, uint64_t seed);

#endif
