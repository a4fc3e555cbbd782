#include "hone_ref.h"

/* One unit per row. */
PHASE(reference)
{
    int64_t best = 0;
    for (int64_t c = 1; c < AX(C); c++)
        if (IN(x, unit * AX(C) + c) > IN(x, unit * AX(C) + best))
            best = c;
    OUT(best, unit, (double)best);
}
