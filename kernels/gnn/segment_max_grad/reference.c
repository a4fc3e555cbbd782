#include "hone_ref.h"

/* One unit per element of dx. */
PHASE(reference)
{
    int64_t j = unit / AX(D), d = unit % AX(D), first = (int64_t)IN(t_row, j);
    double sum = AX(ADD) ? IN(dx, unit) : 0, mag = fabs(sum);
    for (int64_t t = first; t < (int64_t)IN(t_row, j + 1); t++) {
        int64_t i = (int64_t)IN(t_dst, t);
        if ((t > first && (int64_t)IN(t_dst, t - 1) == i) || (int64_t)IN(arg, i * AX(D) + d) != j)
            continue;
        sum += IN(dy, i * AX(D) + d);
        mag += fabs(IN(dy, i * AX(D) + d));
    }
    OUT_MAG(dx, unit, sum, mag);
}
