#include "hone_ref.h"

PHASE(row)
{
    double sq = 0;
    for (int64_t j = 0; j < AX(B); j++)
        sq += IN(x, unit * AX(B) + j) * IN(x, unit * AX(B) + j);
    SCRATCH(unit) = sq;
}

PHASE(all)
{
    double sq = 0;
    for (int64_t i = 0; i < AX(A); i++)
        sq += SCRATCH(i);
    SCRATCH(AX(A)) = sqrt(sq);
}

PHASE(reference)
{
    OUT(y, unit, IN(x, unit) / SCRATCH(AX(A)));
}
