#include "hone_ref.h"

PHASE(group)
{
    int64_t n = AX(C) / 8 * AX(H) * AX(W);
    double mean = 0, var = 0;
    for (int64_t i = 0; i < n; i++)
        mean += IN(x, unit * n + i) / (double)n;
    for (int64_t i = 0; i < n; i++)
        var += pow(IN(x, unit * n + i) - mean, 2) / (double)n;
    SCRATCH(2 * unit) = mean;
    SCRATCH(2 * unit + 1) = 1 / sqrt(var + 1e-5);
}

PHASE(reference)
{
    int64_t c = unit / (AX(H) * AX(W)) % AX(C), group = unit / (AX(C) / 8 * AX(H) * AX(W));
    double mean = SCRATCH(2 * group), scale = SCRATCH(2 * group + 1) * IN(weight, c);
    double v = (IN(x, unit) - mean) * scale + IN(bias, c);
    double mag = (fabs(IN(x, unit)) + fabs(mean)) * fabs(scale) + fabs(IN(bias, c));
    OUT_MAG(y, unit, v / (1 + exp(-v)), mag);
}
