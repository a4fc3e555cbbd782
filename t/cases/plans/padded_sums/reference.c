#include "hone_ref.h"
PHASE(reference) /* units: R */
{
    double s = 0, m = 0;
    for (int64_t j = 0; j < IN(len, unit); j++) {
        double v = IN(x, unit * AX(C) + j) + IN(pick, unit * AX(C) + j);
        s += v;
        m += fabs(IN(x, unit * AX(C) + j)) + IN(pick, unit * AX(C) + j);
    }
    OUT_MAG(y, unit, s, m);
}
PHASE(columns) /* units: C */
{
    double v = IN(edges, unit) * IN(t, unit * AX(C) + AX(C) - 1);
    OUT(d, unit, v * IN(edges, AX(C) - 1));
}
