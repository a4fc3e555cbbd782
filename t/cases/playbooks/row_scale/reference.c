#include "hone_ref.h"

PHASE(row)
{
    double sum = 0, sq = 0;
    for (int64_t j = 0; j < AX(C); j++)
        sum += IN(x, unit * AX(C) + j);
    double mean = sum / (double)AX(C);
    for (int64_t j = 0; j < AX(C); j++) {
        double d = IN(x, unit * AX(C) + j) - mean;
        sq += d * d;
    }
    SCRATCH(2 * unit) = mean;
    SCRATCH(2 * unit + 1) = sqrt(sq / ((double)AX(C) - 1) + 1e-4);
}

PHASE(reference)
{
    int64_t row = unit / AX(C);
    double g = 1 + IN(gain, unit % AX(C)), s = SCRATCH(2 * row + 1), mean = SCRATCH(2 * row);
    OUT_MAG(y, unit, (IN(x, unit) - mean) / s * g,
            (fabs(IN(x, unit)) + fabs(mean)) / s * fabs(g));
}
