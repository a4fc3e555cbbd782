#include "hone_ref.h"

#define GROUP 256

/* One unit per row: its loss, and the size of what cancels in it. */
PHASE(row)
{
    double pos = 0, neg = 0;
    for (int64_t i = unit * AX(D); i < (unit + 1) * AX(D); i++) {
        double dp = IN(a, i) - IN(p, i) + SC(eps), dn = IN(a, i) - IN(n, i) + SC(eps);
        pos += dp * dp;
        neg += dn * dn;
    }
    SCRATCH(2 * unit) = fmax(0.0, SC(margin) + sqrt(pos) - sqrt(neg));
    SCRATCH(2 * unit + 1) = SC(margin) + sqrt(pos) + sqrt(neg);
}

/* One unit per 256 rows: the sums over them, behind the rows' own results. */
PHASE(partial)
{
    int64_t end = (unit + 1) * GROUP < AX(B) ? (unit + 1) * GROUP : AX(B);
    double sum = 0, mag = 0;
    for (int64_t i = unit * GROUP; i < end; i++) {
        sum += SCRATCH(2 * i);
        mag += SCRATCH(2 * i + 1);
    }
    SCRATCH(2 * (AX(B) + unit)) = sum;
    SCRATCH(2 * (AX(B) + unit) + 1) = mag;
}

/* The one unit: the mean. */
PHASE(reference)
{
    int64_t groups = (AX(B) + GROUP - 1) / GROUP;
    double sum = 0, mag = 0;
    for (int64_t i = 0; i < groups; i++) {
        sum += SCRATCH(2 * (AX(B) + i));
        mag += SCRATCH(2 * (AX(B) + i) + 1);
    }
    OUT_MAG(loss, unit, sum / AX(B), mag / AX(B));
}
