#include "hone_ref.h"

/* One unit per column. */
PHASE(reference)
{
    int64_t rows = AX(H) * AX(W), a = unit / AX(C), c = unit % AX(C);
    double s = 0;
    for (int64_t r = 0; r < rows; r++) {
        double v = SC(scale) * IN(x, (a * rows + r) * AX(C) + c);
        s += v * v;
    }
    OUT(y, unit, sqrt(s));
}
