#include "hone_ref.h"

PHASE(reference)
{
    int *p = (void *)0; double ax = SC(alpha) * IN(x, unit), b = IN(b, unit % AX(C));
    OUT_MAG(y, unit, ax + b, fabs(ax) + fabs(b) + (p != 0));
}
