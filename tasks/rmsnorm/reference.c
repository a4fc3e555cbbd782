#include "hone_ref.h"

/* One unit per row: 1 / sqrt(mean(x^2) + eps). */
PHASE(row)
{
    double sq = 0;
    for (int64_t j = 0; j < AX(C); j++) {
        double v = IN(x, unit * AX(C) + j);
        sq += v * v;
    }
    SCRATCH(unit) = 1 / sqrt(sq / AX(C) + SC(eps));
}

/* One unit per element. */
PHASE(reference)
{
    OUT(y, unit, IN(x, unit) * SCRATCH(unit / AX(C)) * IN(w, unit % AX(C)));
}
