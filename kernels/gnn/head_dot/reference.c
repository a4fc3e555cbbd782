#include "hone_ref.h"

/* One unit per row and head. */
PHASE(reference)
{
    double sum = 0, mag = 0;
    for (int64_t c = 0; c < AX(D); c++) {
        double p = IN(z, unit * AX(D) + c) * IN(a, unit % AX(H) * AX(D) + c);
        sum += p;
        mag += fabs(p);
    }
    OUT_MAG(score, unit, sum, mag);
}
