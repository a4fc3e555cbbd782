#include "hone_ref.h"

/* One unit per element of y. */
PHASE(reference)
{
    int64_t r = unit / AX(D), c = unit % AX(D);
    double sum = 0, mag = 0;
    for (int64_t h = 0; h < AX(H); h++) {
        sum += IN(x, (r * AX(H) + h) * AX(D) + c);
        mag += fabs(IN(x, (r * AX(H) + h) * AX(D) + c));
    }
    OUT_MAG(y, unit, sum / (double)AX(H), mag / (double)AX(H));
}
