#include "hone_ref.h"

PHASE(reference)
{
    int64_t n = unit % AX(N), m = unit / AX(N) % AX(M), z = unit / AX(N) / AX(M);
    double s = IN(b, n), mag = fabs(s);
    for (int64_t k = 0; k < AX(K); k++) {
        double t = IN(x, (z * AX(M) + m) * AX(K) + k) * IN(w, (z * AX(N) + n) * AX(K) + k);
        s += t;
        mag += fabs(t);
    }
    double y = IN(mask, unit) != 0 ? tanh(s) : -2;
    OUT_MAG(y, unit, y, mag + 2);
}
