#include "hone_ref.h"

/* One unit per element of the result. */
PHASE(reference)
{
    int64_t c = unit % AX(C), place = unit / AX(C) % (AX(H) * AX(W));
    int64_t n = unit / (AX(C) * AX(H) * AX(W));
    OUT(out, unit, IN(img, (n * AX(C) + c) * AX(H) * AX(W) + place));
}
