#include "hone_ref.h"

PHASE(elements)
{
    double a = IN(x, unit) * IN(norm_scale, unit % AX(C)), b = IN(norm_shift, unit % AX(C));
    OUT_MAG(y, unit, a + b, (a < 0 ? -a : a) + b);
}

PHASE(last)
{
    double a = IN(x, unit) * IN(norm_scale, unit), b = IN(norm_shift, unit), l = IN(last, unit) / 2;
    OUT_MAG(new_last, unit, a + b + l, (a < 0 ? -a : a) + b + (l < 0 ? -l : l));
}
