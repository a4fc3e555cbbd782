#include "hone_ref.h"

/* Scratch: (mean, 1 / sqrt(var + eps)) of every row, then the normalised x. */
#define NORMED(i) SCRATCH(2 * AX(M) + (i))

/* One unit per row of x, in two passes. */
PHASE(row)
{
    int64_t base = unit * AX(K);
    double sum = 0, sq = 0;
    for (int64_t k = 0; k < AX(K); k++)
        sum += IN(x, base + k);
    double mean = sum / AX(K);
    for (int64_t k = 0; k < AX(K); k++) {
        double d = IN(x, base + k) - mean;
        sq += d * d;
    }
    SCRATCH(2 * unit) = mean;
    SCRATCH(2 * unit + 1) = 1 / sqrt(sq / AX(K) + SC(eps));
}

/* One unit per element of x. */
PHASE(normed)
{
    int64_t m = unit / AX(K), k = unit % AX(K);
    NORMED(unit) = (IN(x, unit) - SCRATCH(2 * m)) * SCRATCH(2 * m + 1) * IN(g, k) + IN(b, k);
}

/* One unit per element of y. */
PHASE(reference)
{
    int64_t m = unit / AX(N), n = unit % AX(N);
    double sum = IN(r, unit), mag = fabs(sum);
    for (int64_t k = 0; k < AX(K); k++) {
        double p = NORMED(m * AX(K) + k) * IN(W, n * AX(K) + k);
        sum += p;
        mag += fabs(p);
    }
    OUT_MAG(y, unit, sum, mag);
}
