#include "hone_ref.h"

/* One unit per element of y. */
PHASE(reference)
{
    int64_t n = unit % AX(N), row = unit / AX(N), z = row / AX(M);
    double sum = 0, size = 0;
    for (int64_t k = 0; k < AX(K); k++) {
        double p = IN(a, row * AX(K) + k) * IN(b, (z * AX(K) + k) * AX(N) + n);
        sum += p;
        size += fabs(p);
    }
    double v = SC(alpha) * sum + IN(r, unit);
    OUT_MAG(y, unit, v > 0 ? v : 0, SC(alpha) * size + fabs(IN(r, unit)));
}
