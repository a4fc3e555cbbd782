#include "hone_ref.h"

/* One unit per element of y. */
PHASE(reference)
{
    int64_t i = unit / AX(D), d = unit % AX(D);
    OUT(y, unit, IN(table, (int64_t)IN(idx, i) * AX(D) + d));
}
