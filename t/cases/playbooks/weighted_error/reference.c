#include "hone_ref.h"

/* One unit per line of C elements: the sum of its squares, or 0 if the line does not count. */
PHASE(line)
{
    double s = 0;
    for (int64_t c = 0; c < AX(C); c++) {
        double v = IN(x, unit * AX(C) + c) * IN(w, c) - 1;
        s += IN(keep, unit) != 0 ? v * v : 0;
    }
    SCRATCH(unit) = s;
}

PHASE(reference)
{
    double s = 0;
    for (int64_t t = unit * AX(T); t < (unit + 1) * AX(T); t++)
        s += SCRATCH(t);
    OUT(y, unit, s / AX(T));
}
