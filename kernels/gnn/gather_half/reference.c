#include "hone_ref.h"

/* One unit per element of y. */
PHASE(reference)
{
    OUT(y, unit, IN(x, (int64_t)IN(node, unit / AX(D)) * AX(D) + unit % AX(D)));
}
