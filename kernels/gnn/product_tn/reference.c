#include "hone_ref.h"

/* One unit per element of dw. */
PHASE(reference)
{
    int64_t k = unit / AX(N) % AX(K), n = unit % AX(N);
    int second = unit / AX(N) >= AX(K);
    double sum = 0, mag = 0;
    for (int64_t m = 0; m < AX(M); m++) {
        double left = second ? IN(u, m * AX(K) + k) : IN(x, m * AX(K) + k);
        double p = left * IN(dy, m * AX(N) + n);
        sum += p;
        mag += fabs(p);
    }
    OUT_MAG(dw, unit, sum, mag);
}
