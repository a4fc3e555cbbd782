#include "hone_ref.h"
PHASE(reference) /* units: N */
{
    OUT(y, unit, IN(x, unit) > 0 ? IN(x, unit) : 0);
}
