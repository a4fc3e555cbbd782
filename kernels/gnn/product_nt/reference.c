#include "hone_ref.h"

/* One unit per element of dx. */
PHASE(reference)
{
    int64_t m = unit / AX(K), k = unit % AX(K);
    double sum = AX(ADD) ? IN(dx, unit) : 0, mag = fabs(sum);
    for (int64_t n = 0; n < AX(N); n++) {
        double p = IN(dy, m * AX(N) + n) * IN(w, k * AX(N) + n);
        sum += p;
        mag += fabs(p);
    }
    OUT_MAG(dx, unit, sum, mag);
}
