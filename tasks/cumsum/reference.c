#include "hone_ref.h"

/* One unit per row. */
PHASE(reference)
{
    double sum = 0, mag = 0;
    for (int64_t i = unit * AX(C); i < (unit + 1) * AX(C); i++) {
        sum += IN(x, i);
        mag += fabs(IN(x, i));
        OUT_MAG(y, i, sum, mag);
    }
}
