#include "hone_ref.h"

/* One unit per element of dw. */
PHASE(reference)
{
    int64_t k = unit / AX(N), n = unit % AX(N);
    double sum = 0, mag = 0;
    for (int64_t m = 0; m < AX(M); m++) {
        double p = IN(x, m * AX(K) + k) * IN(dy, m * AX(N) + n);
        sum += p;
        mag += fabs(p);
    }
    OUT_MAG(dw, unit, sum, mag);
}
