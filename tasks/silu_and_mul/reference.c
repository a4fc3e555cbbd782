#include "hone_ref.h"

/* One unit per element of y. */
PHASE(reference)
{
    int64_t row = unit / AX(D), j = unit % AX(D);
    double gate = IN(x, row * 2 * AX(D) + j), up = IN(x, row * 2 * AX(D) + AX(D) + j);
    OUT(y, unit, gate / (1 + exp(-gate)) * up);
}
