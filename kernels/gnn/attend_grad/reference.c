#include "hone_ref.h"

/* One unit per element of dz. */
PHASE(reference)
{
    int64_t width = AX(H) * AX(D), j = unit / width, at = unit % width, h = at / AX(D), heads = AX(H);
    double sum = AX(ADD) ? IN(dz, unit) : 0, mag = fabs(sum);
    for (int64_t t = (int64_t)IN(t_row, j); t < (int64_t)IN(t_row, j + 1); t++) {
        double p = IN(weight, (int64_t)IN(t_edge, t) * heads + h) *
                   IN(dy, (int64_t)IN(t_dst, t) * width + at);
        sum += p;
        mag += fabs(p);
    }
    sum += IN(dsrc, j * heads + h) * IN(a_src, at);
    mag += fabs(IN(dsrc, j * heads + h) * IN(a_src, at));
    if (j < AX(N)) {
        double p = IN(weight, (AX(E) + j) * heads + h) * IN(dy, unit);
        double q = IN(ddst, j * heads + h) * IN(a_dst, at);
        sum += p + q;
        mag += fabs(p) + fabs(q);
    }
    OUT_MAG(dz, unit, sum, mag);
}
