#include "hone_ref.h"

/* One unit is one element of y; a reduction would be a phase of its own, with its results in
 * SCRATCH. Computed in double, in the common subset of C17 and C++17. */
PHASE(reference)
{
    double ax = SC(alpha) * IN(x, unit), b = IN(b, unit % AX(C));
    /* The magnitude tells the judge how large the terms were that may cancel. */
    OUT_MAG(y, unit, ax + b, fabs(ax) + fabs(b));
}
