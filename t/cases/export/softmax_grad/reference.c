#include "hone_ref.h"

PHASE(rows)
{
    double sum = 0, size = 0;
    for (int64_t c = 0; c < AX(C); c++) {
        double p = IN(y, unit * AX(C) + c) * IN(grad_y, unit * AX(C) + c);
        sum += p;
        size += p < 0 ? -p : p;
    }
    SCRATCH(2 * unit) = sum;
    SCRATCH(2 * unit + 1) = size;
}

PHASE(elements)
{
    double y = IN(y, unit), g = IN(grad_y, unit);
    OUT_MAG(grad_x, unit, y * (g - SCRATCH(2 * (unit / AX(C)))),
            y * ((g < 0 ? -g : g) + SCRATCH(2 * (unit / AX(C)) + 1)));
}
