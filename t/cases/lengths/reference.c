#include "hone_ref.h"

PHASE(reference)
{
    int64_t n = (int64_t)IN(len, unit);
    double m = -INFINITY, s = 0;
    for (int64_t j = 0; j < n; j++)
        m = fmax(m, IN(x, unit * AX(C) + j));
    for (int64_t j = 0; j < n; j++)
        s += exp(IN(x, unit * AX(C) + j) - m);
    OUT_MAG(y, unit, m + log(s), n > 0 ? fabs(m) + fabs(log(s)) : 0);
}
