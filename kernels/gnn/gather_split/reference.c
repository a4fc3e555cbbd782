#include "hone_ref.h"

/* One unit per element of y. */
PHASE(reference)
{
    int64_t at = (int64_t)IN(slot, (int64_t)IN(node, unit / AX(D))), d = unit % AX(D);
    if (at >= 0)
        OUT(y, unit, IN(cache, at * AX(D) + d));
    else
        OUT(y, unit, IN(host, (-1 - at) * AX(D) + d));
}

/* One unit in all. */
PHASE(count)
{
    int64_t missed = 0;
    for (int64_t i = 0; i < AX(N); i++)
        missed += IN(slot, (int64_t)IN(node, i)) < 0;
    OUT(missed, unit, (double)missed);
}
