#include "hone_ref.h"

PHASE(reference)
{
    int keep = IN(keep, unit % AX(C)) != 0 && IN(q, unit) != -128;
    OUT(y, unit, keep ? (IN(q, unit) - SC(zero)) * IN(s, unit / AX(C)) : 0);
}
