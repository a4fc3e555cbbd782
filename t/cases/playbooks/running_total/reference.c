#include "hone_ref.h"

/* One unit per column. */
PHASE(column)
{
    int64_t first = unit / AX(C) * AX(R) * AX(C) + unit % AX(C);
    double s = 0, m = 0;
    for (int64_t r = 0; r < AX(R); r++) {
        double t = IN(x, first + r * AX(C)) * IN(z, first + r * AX(C));
        s += t;
        m += fabs(t);
        OUT_MAG(y, first + r * AX(C), s, m);
    }
}
