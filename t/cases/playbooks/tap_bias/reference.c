#include "hone_ref.h"

PHASE(reference)
{
    int64_t at = unit % (AX(L) + 1), row = unit / (AX(L) + 1), c = row % AX(C);
    double s = IN(b, c), m = fabs(s);
    for (int64_t k = 0; k < AX(K); k++) {
        int64_t l = at + k - 2;
        if (l < 0 || l >= AX(L))
            continue;
        double t = IN(x, row * AX(L) + l) * IN(w, c * AX(K) + k);
        s += t;
        m += fabs(t);
    }
    OUT_MAG(y, unit, s, m);
}
