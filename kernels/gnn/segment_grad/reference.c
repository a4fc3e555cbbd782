#include "hone_ref.h"

/* One unit per element of dx. */
PHASE(reference)
{
    int64_t j = unit / AX(D), d = unit % AX(D);
    double sum = j < AX(ADD) ? IN(dx, unit) : 0, mag = fabs(sum);
    for (int64_t t = (int64_t)IN(t_row, j); t < (int64_t)IN(t_row, j + 1); t++) {
        int64_t i = (int64_t)IN(t_dst, t), n = (int64_t)(IN(row, i + 1) - IN(row, i));
        double v = IN(dy, i * AX(D) + d) / (double)(AX(MEAN) && n > 0 ? n : 1);
        sum += v;
        mag += fabs(v);
    }
    if (AX(RELU)) {
        double scale = IN(y, unit) > 0 ? 65536.0 / (65536.0 - (double)AX(LIMIT)) : 0;
        sum *= scale;
        mag *= scale;
    }
    OUT_MAG(dx, unit, sum, mag);
}
