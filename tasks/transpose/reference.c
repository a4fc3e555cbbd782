#include "hone_ref.h"

/* One unit per element of y. */
PHASE(reference)
{
    int64_t n = unit / AX(M), m = unit % AX(M);
    OUT(y, unit, IN(x, m * AX(N) + n));
}
