#include "hone_ref.h"

/* One unit per element of y. */
PHASE(reference)
{
    int64_t n = unit % AX(N), m = unit / AX(N);
    double sum = 0, size = 0;
    for (int64_t k = 0; k < AX(K); k++) {
        double p = IN(a, m * AX(K) + k) * IN(b, k * AX(N) + n);
        sum += p;
        size += fabs(p);
    }
    OUT_MAG(y, unit, sum, size);
}
