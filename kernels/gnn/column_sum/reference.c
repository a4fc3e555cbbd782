#include "hone_ref.h"

/* One unit per column. */
PHASE(reference)
{
    double sum = 0, mag = 0;
    for (int64_t r = 0; r < AX(R); r++) {
        sum += IN(x, r * AX(C) + unit);
        mag += fabs(IN(x, r * AX(C) + unit));
    }
    OUT_MAG(sum, unit, sum, mag);
}
