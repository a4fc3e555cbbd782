#include "hone_ref.h"

PHASE(reference)
{
    double ax = SC(alpha) * IN(x, unit), b = IN(b, unit % AX(C));
    OUT_MAG(y, unit, ax + b, fabs(ax) + fabs(b));
}
