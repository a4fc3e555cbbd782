#include "hone_ref.h"

/* One unit per element of y. */
PHASE(reference)
{
    int64_t c = unit % AX(C), w = AX(C);
    double v = IN(stat, w + c), inv = AX(RUNNING) ? 1 / sqrt(v + 1e-5) : v;
    double factor = inv * IN(gain, c);
    OUT_MAG(y, unit, (IN(x, unit) - IN(stat, c)) * factor + IN(gain, w + c),
            (fabs(IN(x, unit)) + fabs(IN(stat, c))) * fabs(factor) + fabs(IN(gain, w + c)));
}
