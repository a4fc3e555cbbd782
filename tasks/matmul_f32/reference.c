#include "hone_ref.h"

/* One unit per element of C: row m of A times column n of B. */
PHASE(reference)
{
    int64_t m = unit / AX(N), n = unit % AX(N);
    double sum = 0, mag = 0;
    for (int64_t k = 0; k < AX(K); k++) {
        double p = IN(A, m * AX(K) + k) * IN(B, k * AX(N) + n);
        sum += p;
        mag += fabs(p);
    }
    OUT_MAG(C, unit, sum, mag);
}
