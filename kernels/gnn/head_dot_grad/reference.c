#include "hone_ref.h"

/* One unit per element of da. */
PHASE(reference)
{
    int64_t h = unit / AX(D);
    double sum = 0, mag = 0;
    for (int64_t r = 0; r < AX(R); r++) {
        double p = IN(dscore, r * AX(H) + h) * IN(z, r * AX(H) * AX(D) + unit);
        sum += p;
        mag += fabs(p);
    }
    OUT_MAG(da, unit, sum, mag);
}
