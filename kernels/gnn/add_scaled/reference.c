#include "hone_ref.h"

/* One unit per element. */
PHASE(reference)
{
    double v = (double)AX(FACTOR) / 1e6 * IN(x, unit), old = AX(ADD) ? IN(y, unit) : 0;
    OUT_MAG(y, unit, old + v, fabs(old) + fabs(v));
}
