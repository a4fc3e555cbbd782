#include "hone_ref.h"

/* One unit per element of C. A sum clipped by relu keeps its magnitude. */
PHASE(reference)
{
    int64_t m = unit / AX(N), n = unit % AX(N);
    double sum = IN(bias, n), mag = fabs(sum);
    for (int64_t k = 0; k < AX(K); k++) {
        double p = IN(A, m * AX(K) + k) * IN(B, n * AX(K) + k);
        sum += p;
        mag += fabs(p);
    }
    OUT_MAG(C, unit, fmax(sum, 0.0), mag);
}
