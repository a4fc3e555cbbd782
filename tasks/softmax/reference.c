#include "hone_ref.h"

/* One unit per row: its maximum and the sum of its exponentials. */
PHASE(row)
{
    int64_t base = unit * AX(C);
    double m = IN(x, base), sum = 0;
    for (int64_t j = 1; j < AX(C); j++)
        m = fmax(m, IN(x, base + j));
    for (int64_t j = 0; j < AX(C); j++)
        sum += exp(IN(x, base + j) - m);
    SCRATCH(2 * unit) = m;
    SCRATCH(2 * unit + 1) = sum;
}

/* One unit per element. */
PHASE(reference)
{
    int64_t row = unit / AX(C);
    OUT(y, unit, exp(IN(x, unit) - SCRATCH(2 * row)) / SCRATCH(2 * row + 1));
}
