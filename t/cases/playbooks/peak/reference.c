#include "hone_ref.h"

PHASE(reference)
{
    double top = -3;
    for (int64_t i = unit * AX(C); i < (unit + 1) * AX(C) && top == top; i++) {
        double v = IN(x, i) > 2.5 ? 2.5 : IN(x, i);
        if (!(v <= top))
            top = v;
    }
    OUT(y, unit, top);
}
