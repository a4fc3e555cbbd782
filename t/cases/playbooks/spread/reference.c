#include "hone_ref.h"

PHASE(reference)
{
    int64_t c = unit % (2 * AX(C)), h = unit / (2 * AX(C)) % AX(H);
    int64_t b = unit / (2 * AX(C) * AX(H)) % AX(B), a = unit / (2 * AX(C) * AX(H) * AX(B));
    double xs = IN(x, unit) * IN(scale, b * 2 * AX(C) + c), s = IN(shift, a);
    if (IN(mask, h) != 0)
        OUT_MAG(y, unit, (xs + s) * SC(times), (fabs(xs) + fabs(s)) * SC(times));
    else
        OUT(y, unit, SC(low) * SC(times));
}
