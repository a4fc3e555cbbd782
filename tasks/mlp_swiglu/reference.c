#include "hone_ref.h"

/* One unit per hidden element (n, f): silu(x * wg^T) * (x * wu^T). */
PHASE(hidden)
{
    int64_t n = unit / AX(F), f = unit % AX(F);
    double gate = 0, up = 0;
    for (int64_t d = 0; d < AX(D); d++) {
        double v = IN(x, n * AX(D) + d);
        gate += v * IN(wg, f * AX(D) + d);
        up += v * IN(wu, f * AX(D) + d);
    }
    SCRATCH(unit) = gate / (1 + exp(-gate)) * up;
}

/* One unit per element of y. */
PHASE(reference)
{
    int64_t n = unit / AX(D), d = unit % AX(D);
    double sum = 0, mag = 0;
    for (int64_t f = 0; f < AX(F); f++) {
        double p = SCRATCH(n * AX(F) + f) * IN(wd, d * AX(F) + f);
        sum += p;
        mag += fabs(p);
    }
    OUT_MAG(y, unit, sum, mag);
}
