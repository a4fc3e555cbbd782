#include "hone_ref.h"

/* One unit per element of dx. */
PHASE(reference)
{
    int64_t r = unit / (AX(H) * AX(D)), c = unit % AX(D);
    double v = IN(dy, r * AX(D) + c) / (double)AX(H), old = AX(ADD) ? IN(dx, unit) : 0;
    OUT_MAG(dx, unit, old + v, fabs(old) + fabs(v));
}
