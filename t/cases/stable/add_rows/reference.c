#include "hone_ref.h"
PHASE(add_rows)
{
    int64_t r = unit / AX(C), c = unit % AX(C);
    double sum = IN(t, unit), mag = fabs(sum);
    for (int64_t i = 0; i < AX(N); i++)
        if ((int64_t)IN(row, i) == r) {
            sum += IN(x, i * AX(C) + c);
            mag += fabs(IN(x, i * AX(C) + c));
        }
    OUT_MAG(t, unit, sum, mag);
}
