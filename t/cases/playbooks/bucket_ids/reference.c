#include "hone_ref.h"

static double floor_mod(double a, double b)
{
    return a - b * floor(a / b);
}

PHASE(reference)
{
    double a = IN(key, unit), b = IN(by, unit);
    OUT(y, unit, floor_mod(a, b) * 1000 + floor(a / b) + floor_mod(a, 7));
}
