#include "hone_ref.h"

/* One unit per element of y. */
PHASE(reference)
{
    int64_t d = unit % AX(D), s = unit / AX(D) % AX(S), h = unit / (AX(D) * AX(S)) % AX(H);
    int64_t b = unit / (AX(D) * AX(S) * AX(H));
    OUT(y, unit, IN(x, ((b * AX(S) + s) * AX(H) + h) * AX(D) + d));
}
