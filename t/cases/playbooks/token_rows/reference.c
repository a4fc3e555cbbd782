#include "hone_ref.h"

/* One unit per element of the result. */
PHASE(reference)
{
    OUT(out, unit, IN(weight, (int64_t)IN(tokens, unit / AX(D)) * AX(D) + unit % AX(D)));
}
