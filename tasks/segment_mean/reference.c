#include "hone_ref.h"

/* One unit per element of y; an empty row gives 0. */
PHASE(reference)
{
    int64_t i = unit / AX(D), d = unit % AX(D);
    int64_t first = (int64_t)IN(rowptr, i), end = (int64_t)IN(rowptr, i + 1);
    double sum = 0, mag = 0;
    for (int64_t e = first; e < end; e++) {
        double v = IN(x, (int64_t)IN(col, e) * AX(D) + d);
        sum += v;
        mag += fabs(v);
    }
    int64_t degree = end > first ? end - first : 1;
    OUT_MAG(y, unit, sum / degree, mag / degree);
}
