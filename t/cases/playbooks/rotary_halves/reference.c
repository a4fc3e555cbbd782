#include "hone_ref.h"

PHASE(reference)
{
    int64_t d = unit % AX(D), half = AX(D) / 2, at = unit % (AX(S) * AX(D));
    double other = d < half ? -IN(x, unit + half) : IN(x, unit - half);
    double a = IN(x, unit) * IN(cos, at), b = other * IN(sin, at);
    OUT_MAG(y, unit, a + b, fabs(a) + fabs(b));
}
