#include "hone_ref.h"

/* One unit per element of y. */
PHASE(reference)
{
    int64_t n = unit % AX(N), row = unit / AX(N);
    double sum = IN(b, n), size = fabs(sum);
    for (int64_t k = 0; k < AX(K); k++) {
        double p = IN(x, row * AX(K) + k) * IN(w, n * AX(K) + k);
        sum += p;
        size += fabs(p);
    }
    OUT_MAG(y, unit, sum / (1 + exp(-sum)) + IN(x0, unit), size + fabs(IN(x0, unit)));
}
