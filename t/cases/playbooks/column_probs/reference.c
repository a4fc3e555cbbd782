#include "hone_ref.h"

/* One unit per column: the logarithm of its sum of exponentials. */
PHASE(column)
{
    int64_t first = unit / AX(C) * AX(R) * AX(C) + unit % AX(C);
    double s = 0;
    for (int64_t r = 0; r < AX(R); r++) {
        int64_t at = first + r * AX(C);
        s += exp(SC(alpha) * (IN(x, at) - IN(z, at)));
    }
    SCRATCH(unit) = log(s);
}

PHASE(reference)
{
    int64_t column = unit / (AX(R) * AX(C)) * AX(C) + unit % AX(C);
    double v = SC(alpha) * (IN(x, unit) - IN(z, unit)), l = SCRATCH(column);
    OUT_MAG(y, unit, v - l, fabs(v) + fabs(l));
}
