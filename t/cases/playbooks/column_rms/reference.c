#include "hone_ref.h"

PHASE(column)
{
    double sq = 0;
    for (int64_t r = 0; r < AX(R); r++) {
        double v = IN(x, (unit / AX(C) * AX(R) + r) * AX(C) + unit % AX(C));
        sq += v * v;
    }
    SCRATCH(unit) = sqrt(sq / (double)AX(R) + 1e-4);
}

PHASE(reference)
{
    int64_t c = unit % AX(C), r = unit / AX(C) % AX(R), a = unit / AX(C) / AX(R);
    OUT(y, unit, IN(x, unit) / SCRATCH(a * AX(C) + c) * IN(gain, r));
}
