#include "hone_ref.h"

/* One unit per element of y. */
PHASE(reference)
{
    int64_t l = unit % AX(L), c = unit / AX(L) % AX(C);
    double sum = 0, size = 0;
    for (int64_t k = l < 3 ? 3 - l : 0; k < 4; k++) {
        double v = IN(x, unit + k - 3) * IN(w, c * 4 + k);
        sum += v;
        size += fabs(v);
    }
    OUT_MAG(y, unit, sum / (1 + exp(-sum)) * IN(z, unit), size * fabs(IN(z, unit)));
}
