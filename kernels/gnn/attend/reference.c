#include "hone_ref.h"

/* One unit per element of y. */
PHASE(reference)
{
    int64_t width = AX(H) * AX(D), i = unit / width, at = unit % width, h = at / AX(D);
    double sum = IN(weight, (AX(E) + i) * AX(H) + h) * IN(z, unit), mag = fabs(sum);
    for (int64_t e = (int64_t)IN(row, i); e < (int64_t)IN(row, i + 1); e++) {
        double p = IN(weight, e * AX(H) + h) * IN(z, (int64_t)IN(col, e) * width + at);
        sum += p;
        mag += fabs(p);
    }
    OUT_MAG(y, unit, sum, mag);
}
