#include "hone_ref.h"

/* One unit is one element of y. A reduction would be a phase of its own that leaves its results in
 * SCRATCH. Compute in double, and use only the common subset of C17 and C++17. */
PHASE(reference)
{
    double ax = SC(alpha) * IN(x, unit), b = IN(b, unit % AX(C));
    /* The magnitude tells Hone how large the terms were that may cancel. */
    OUT_MAG(y, unit, ax + b, fabs(ax) + fabs(b));
}
