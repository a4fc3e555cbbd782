#include "hone_ref.h"

PHASE(reference)
{
    double s = 0;
    for (int64_t j = 0; j < AX(C); j++)
        s += fabs(SC(scale) * IN(x, unit * AX(C) + j));
    OUT(y, unit, s);
}
