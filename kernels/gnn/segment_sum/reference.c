#include "hone_ref.h"

/* One unit per element of y. */
PHASE(reference)
{
    int64_t i = unit / AX(D), d = unit % AX(D);
    int64_t first = (int64_t)IN(row, i), end = (int64_t)IN(row, i + 1);
    double sum = 0, mag = 0;
    for (int64_t e = first; e < end; e++) {
        double v = IN(x, (int64_t)IN(col, e) * AX(D) + d);
        sum += v;
        mag += fabs(v);
    }
    double n = AX(MEAN) && end > first ? (double)(end - first) : 1;
    OUT_MAG(y, unit, sum / n, mag / n);
}
