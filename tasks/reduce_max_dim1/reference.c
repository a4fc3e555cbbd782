#include "hone_ref.h"

/* One unit per element of y. */
PHASE(reference)
{
    int64_t base = unit / AX(C) * AX(R) * AX(C) + unit % AX(C);
    double m = IN(x, base);
    for (int64_t r = 1; r < AX(R); r++)
        m = fmax(m, IN(x, base + r * AX(C)));
    OUT(y, unit, m);
}
