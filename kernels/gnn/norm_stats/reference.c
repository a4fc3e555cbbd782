#include "hone_ref.h"

/* One unit per column. */
PHASE(reference)
{
    int64_t w = AX(C);
    double n = (double)AX(R), sum = 0, mag = 0, square = 0;
    for (int64_t r = 0; r < AX(R); r++) {
        sum += IN(x, r * w + unit);
        mag += fabs(IN(x, r * w + unit));
    }
    double mean = sum / n;
    for (int64_t r = 0; r < AX(R); r++)
        square += (IN(x, r * w + unit) - mean) * (IN(x, r * w + unit) - mean);
    double unbiased = AX(R) > 1 ? square / (n - 1) : 0;
    OUT_MAG(saved, unit, mean, mag / n);
    OUT(saved, w + unit, 1 / sqrt(square / n + 1e-5));
    OUT_MAG(running, unit, 0.9 * IN(running, unit) + 0.1 * mean, fabs(IN(running, unit)) + mag / n);
    OUT_MAG(running, w + unit, 0.9 * IN(running, w + unit) + 0.1 * unbiased,
            fabs(IN(running, w + unit)) + unbiased);
}
