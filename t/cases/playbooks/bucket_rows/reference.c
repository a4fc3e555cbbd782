#include "hone_ref.h"

PHASE(reference)
{
    double s = IN(sums, unit), m = fabs(s);
    for (int64_t n = 0; n < AX(N); n++) {
        if ((int64_t)IN(bucket, n) != unit / AX(D))
            continue;
        double t = IN(rows, n * AX(D) + unit % AX(D));
        s += t;
        m += fabs(t);
    }
    OUT_MAG(y, unit, s, m);
}
