#include "hone_ref.h"

/* One unit per element. */
PHASE(reference)
{
    OUT(y, unit, IN(x, unit));
}
