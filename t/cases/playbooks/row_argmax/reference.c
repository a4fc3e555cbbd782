#include "hone_ref.h"

PHASE(reference)
{
    int64_t best = 0;
    for (int64_t j = 1; j < AX(C); j++)
        if (IN(x, unit * AX(C) + j) > IN(x, unit * AX(C) + best))
            best = j;
    OUT(y, unit, (double)best);
}
