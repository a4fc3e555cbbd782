#include "hone_ref.h"

HONE_FN double score(const struct hone_ref_ctx *hone, int64_t i)
{
    int64_t s = i % AX(S), h = i / (AX(S) * AX(Q)) % AX(H), b = i / (AX(S) * AX(Q) * AX(H));
    return IN(mask, b * AX(S) + s) != 0 ? -100 : SC(alpha) * IN(x, i) + IN(bias, h * AX(S) + s);
}

/* One unit per row: its maximum and the sum of its exponentials. */
PHASE(row)
{
    double m = -1e300, sum = 0;
    for (int64_t j = unit * AX(S); j < (unit + 1) * AX(S); j++)
        m = fmax(m, score(hone, j));
    for (int64_t j = unit * AX(S); j < (unit + 1) * AX(S); j++)
        sum += exp(score(hone, j) - m);
    SCRATCH(2 * unit) = m;
    SCRATCH(2 * unit + 1) = sum;
}

PHASE(reference)
{
    int64_t r = unit / AX(S);
    OUT(y, unit, exp(score(hone, unit) - SCRATCH(2 * r)) / SCRATCH(2 * r + 1));
}
