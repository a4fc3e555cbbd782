#include "hone_ref.h"
PHASE(add_one)
{
    OUT_MAG(y, unit, IN(x, unit) + 1, fabs(IN(x, unit)) + 1);
}
