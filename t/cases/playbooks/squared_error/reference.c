#include "hone_ref.h"

/* One unit per row: its sum. */
PHASE(row)
{
    double s = 0;
    for (int64_t j = unit * AX(C); j < (unit + 1) * AX(C); j++)
        s += (IN(got, j) - IN(want, j)) * (IN(got, j) - IN(want, j));
    SCRATCH(unit) = s;
}

PHASE(reference)
{
    double s = 0;
    for (int64_t r = 0; r < AX(R); r++)
        s += SCRATCH(r);
    OUT(loss, 0, s / (AX(R) * AX(C)));
}
