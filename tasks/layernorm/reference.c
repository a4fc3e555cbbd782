#include "hone_ref.h"

/* One unit per row: its mean and 1 / sqrt(var + eps), in two passes. */
PHASE(row)
{
    int64_t base = unit * AX(C);
    double sum = 0, sq = 0;
    for (int64_t j = 0; j < AX(C); j++)
        sum += IN(x, base + j);
    double mean = sum / AX(C);
    for (int64_t j = 0; j < AX(C); j++) {
        double d = IN(x, base + j) - mean;
        sq += d * d;
    }
    SCRATCH(2 * unit) = mean;
    SCRATCH(2 * unit + 1) = 1 / sqrt(sq / AX(C) + SC(eps));
}

/* One unit per element. x - mean and the shift by b both cancel. */
PHASE(reference)
{
    int64_t row = unit / AX(C), j = unit % AX(C);
    double mean = SCRATCH(2 * row), scale = SCRATCH(2 * row + 1) * IN(w, j);
    OUT_MAG(y, unit, (IN(x, unit) - mean) * scale + IN(b, j),
            (fabs(IN(x, unit)) + fabs(mean)) * fabs(scale) + fabs(IN(b, j)));
}
