#include "hone_ref.h"

/* One unit per node of the list. */
PHASE(reference)
{
    int64_t v = (int64_t)IN(node, unit);
    OUT(degree, unit, IN(offset, v + 1) - IN(offset, v));
}
