#include "hone_ref.h"

PHASE(row)
{
    double m = -INFINITY, s = 0;
    for (int64_t j = 0; j < AX(C); j++)
        m = fmax(m, IN(x, unit * AX(C) + j));
    for (int64_t j = 0; j < AX(C); j++)
        s += exp(IN(x, unit * AX(C) + j) - m);
    SCRATCH(unit) = m + log(s);
}

PHASE(reference)
{
    double x = IN(x, unit), s = SCRATCH(unit / AX(C));
    OUT_MAG(y, unit, x - s, fabs(x) + fabs(s));
}
