#include "hone_ref.h"

PHASE(reference)
{
    double s = 0;
    for (int64_t j = 0; j < AX(C); j++)
        s += IN(x, unit / AX(C) * AX(C) + j) * IN(x, unit / AX(C) * AX(C) + j);
    OUT(y, unit, IN(x, unit) / sqrt(s / (double)AX(C) + 1e-14));
}
