#include "hone_ref.h"

/* One unit per (token, head): m, wa, wb; an lse of +inf counts as -inf. */
PHASE(weights)
{
    double a = IN(sa, unit), b = IN(sb, unit);
    if (a == INFINITY)
        a = -INFINITY;
    if (b == INFINITY)
        b = -INFINITY;
    double m = fmax(a, b);
    int none = m == -INFINITY;
    SCRATCH(3 * unit) = m;
    SCRATCH(3 * unit + 1) = none ? 0 : exp(a - m);
    SCRATCH(3 * unit + 2) = none ? 0 : exp(b - m);
}

/* One unit per element of v; the first of each head also writes s. */
PHASE(reference)
{
    int64_t head = unit / AX(D);
    double m = SCRATCH(3 * head), wa = SCRATCH(3 * head + 1), wb = SCRATCH(3 * head + 2);
    double sum = wa + wb;
    if (unit % AX(D) == 0) {
        if (sum > 0)
            OUT_MAG(s, head, log(sum) + m, log(sum) + fabs(m));
        else
            OUT(s, head, m);
    }
    double a = wa * IN(va, unit), b = wb * IN(vb, unit);
    if (sum > 0)
        OUT_MAG(v, unit, (a + b) / sum, (fabs(a) + fabs(b)) / sum);
    else
        OUT(v, unit, 0);
}
