#include "hone_ref.h"

PHASE(reference)
{
    int64_t lo = (int64_t)IN(lo, unit), hi = (int64_t)IN(hi, unit);
    int64_t y = hi > 250 ? lo * 3 + hi : (lo & 15) | hi << 4;
    OUT(y, unit, (double)(y & 255));
}
