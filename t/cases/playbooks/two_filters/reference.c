#include "hone_ref.h"

/* One unit per output element. */
PHASE(reference)
{
    int64_t L = AX(L), outputs = 2 * AX(C), i = unit % L, o = unit / L % outputs, b = unit / L / outputs;
    int64_t from = (b * AX(C) + o / 2) * (L + 2) + i;
    double sum = 0, mag = 0;
    for (int64_t k = 0; k < 3; k++) {
        double p = IN(x, from + k) * IN(w, o * 3 + k);
        sum += p;
        mag += fabs(p);
    }
    OUT_MAG(y, unit, sum, mag);
}
