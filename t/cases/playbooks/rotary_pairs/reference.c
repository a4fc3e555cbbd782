#include "hone_ref.h"

PHASE(reference)
{
    int64_t d = unit % AX(D), s = unit / (AX(D) * AX(H)) % AX(S);
    double angle = IN(angle, s * (AX(D) / 2) + d / 2);
    double other = d % 2 ? IN(x, unit - 1) : -IN(x, unit + 1);
    double a = IN(x, unit) * cos(angle), b = other * sin(angle);
    OUT_MAG(y, unit, a + b, fabs(a) + fabs(b));
}
