#include "hone_ref.h"

/* One unit per element. */
PHASE(reference)
{
    OUT(c, unit, IN(a, unit) + IN(b, unit));
}
