#include "hone_ref.h"

/* One unit per row: 1 / sqrt(mean((x + r)^2) + eps). */
PHASE(row)
{
    double sq = 0;
    for (int64_t j = 0; j < AX(D); j++) {
        double s = IN(x, unit * AX(D) + j) + IN(r, unit * AX(D) + j);
        sq += s * s;
    }
    SCRATCH(unit) = 1 / sqrt(sq / AX(D) + SC(eps));
}

/* One unit per element; IN reads the values from before the update. */
PHASE(reference)
{
    double s = IN(x, unit) + IN(r, unit);
    OUT(r, unit, s);
    OUT(x, unit, s * SCRATCH(unit / AX(D)) * IN(w, unit % AX(D)));
}
