#include "hone_ref.h"

/* One unit per element of y. */
PHASE(reference)
{
    int64_t i = unit / AX(D), d = unit % AX(D);
    int64_t first = (int64_t)IN(row, i), end = (int64_t)IN(row, i + 1);
    double sum = 0, mag = 0, count = AX(MEAN) && end > first ? (double)(end - first) : 1;
    for (int64_t e = first; e < end; e++) {
        int64_t from = (int64_t)IN(node, (int64_t)IN(col, e));
        double v = IN(x, from * AX(D) + d);
        sum += v;
        mag += fabs(v);
    }
    OUT_MAG(y, unit, sum / count, mag / count);
}
