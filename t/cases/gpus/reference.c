#include "hone_ref.h"

PHASE(reference)
{
    OUT(c, unit, IN(a, unit) + 1);
}
