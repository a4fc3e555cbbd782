#include "hone_ref.h"

/* One unit per source, and one for the last element of t_row. Each runs over all edges. */
PHASE(reference)
{
    int64_t first = 0;
    for (int64_t e = 0; e < AX(E); e++)
        first += (int64_t)IN(col, e) < unit;
    OUT(t_row, unit, (double)first);
    for (int64_t i = 0; i < AX(N) && unit < AX(V); i++)
        for (int64_t e = (int64_t)IN(row, i); e < (int64_t)IN(row, i + 1); e++)
            if ((int64_t)IN(col, e) == unit) {
                OUT(t_edge, first, (double)e);
                OUT(t_dst, first, (double)i);
                first++;
            }
}
