#include "hone_ref.h"

/* One unit per source and head. */
PHASE(reference)
{
    int64_t j = unit / AX(H), h = unit % AX(H);
    double sum = j < AX(N) ? IN(dscore, (AX(E) + j) * AX(H) + h) : 0, mag = fabs(sum);
    for (int64_t t = (int64_t)IN(t_row, j); t < (int64_t)IN(t_row, j + 1); t++) {
        sum += IN(dscore, (int64_t)IN(t_edge, t) * AX(H) + h);
        mag += fabs(IN(dscore, (int64_t)IN(t_edge, t) * AX(H) + h));
    }
    OUT_MAG(dsrc, unit, sum, mag);
}
