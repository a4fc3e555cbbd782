#include "hone_ref.h"

PHASE(reference)
{
    double a = IN(x, unit), b = IN(bias, unit % AX(C));
    OUT_MAG(x, unit, a + b > 0 ? a + b : 0, fabs(a) + fabs(b));
}
