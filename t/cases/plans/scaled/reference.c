#include "hone_ref.h"
PHASE(rows) /* units: R + 1 */
{
    double s = 0, m = 0;
    for (int64_t j = 0; unit < AX(R) && j < AX(C); j++) {
        double v = IN(x, unit * AX(C) + j);
        s += v;
        m += v < 0 ? -v : v;
    }
    OUT_MAG(s, unit, s, m);
}
PHASE(reference) /* units: R*C */
{
    double v = IN(x, unit);
    OUT(y, unit, v / sqrt((double)AX(C)) + SC(eps) * 4 - 1);
    OUT(k, unit, v);
}
