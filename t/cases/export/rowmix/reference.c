#include "hone_ref.h"

PHASE(elements)
{
    int64_t c = unit % AX(C), row = unit / AX(C) * 2 * AX(C);
    double a = SC(alpha) * IN(in, row + c) * IN(scale, c), b = IN(in, row + AX(C) + c), s = SC(shift);
    double size = (a < 0 ? -a : a) + (b < 0 ? -b : b) + s;
    OUT_MAG(out, unit, a + b + s, size);
    SCRATCH(2 * unit) = a + b + s;
    SCRATCH(2 * unit + 1) = size;
}

PHASE(rows)
{
    double sum = 0, size = 0;
    for (int64_t c = 0; c < AX(C); c++) {
        sum += SCRATCH(2 * (unit * AX(C) + c));
        size += SCRATCH(2 * (unit * AX(C) + c) + 1);
    }
    OUT_MAG(total, unit, sum, size);
}
