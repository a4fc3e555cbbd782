#include "hone_ref.h"

/* One unit per element. */
PHASE(reference)
{
    OUT(y, unit, 1 / (1 + exp(-IN(x, unit))));
}
