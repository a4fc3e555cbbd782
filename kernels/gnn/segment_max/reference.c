#include "hone_ref.h"

/* One unit per element of y. */
PHASE(reference)
{
    int64_t i = unit / AX(D), d = unit % AX(D), arg = -1;
    double most = 0;
    for (int64_t e = (int64_t)IN(row, i); e < (int64_t)IN(row, i + 1); e++) {
        double v = IN(x, (int64_t)IN(col, e) * AX(D) + d);
        if (arg < 0 || v > most) {
            most = v;
            arg = (int64_t)IN(col, e);
        }
    }
    OUT(y, unit, most);
    OUT(arg, unit, (double)arg);
}
