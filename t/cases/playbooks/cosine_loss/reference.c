#include "hone_ref.h"

/* One unit per row: its share of the loss. */
PHASE(row)
{
    double xy = 0, xx = 0, yy = 0;
    for (int64_t i = unit * AX(D); i < (unit + 1) * AX(D); i++) {
        xy += IN(x, i) * IN(y, i);
        xx += IN(x, i) * IN(x, i);
        yy += IN(y, i) * IN(y, i);
    }
    SCRATCH(unit) = IN(weight, unit) * (1 - xy / (sqrt(xx) * sqrt(yy) + SC(eps)));
}

PHASE(reference)
{
    double s = 0;
    for (int64_t r = 0; r < AX(B); r++)
        s += SCRATCH(r);
    OUT(loss, 0, s / AX(B));
}
