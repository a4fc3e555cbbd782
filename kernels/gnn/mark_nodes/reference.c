#include "hone_ref.h"

/* One unit per element of local; it searches the list of nodes. */
PHASE(reference)
{
    double value = IN(local, unit);
    for (int64_t i = 0; i < AX(N); i++)
        if ((int64_t)IN(node, i) == unit)
            value = AX(FORGET) ? -1 : (double)i;
    OUT(local, unit, value);
}
