#include "hone_ref.h"


/* One unit per target and head. */
PHASE(reference)
{
    int64_t i = unit / AX(H), h = unit % AX(H), heads = AX(H), first = (int64_t)IN(row, i);
    int64_t end = (int64_t)IN(row, i + 1);
    double mean = 0, mean_mag = 0, sum = 0, sum_mag = 0;
    for (int pass = 0; pass < 2; pass++)
        for (int64_t e = first; e <= end; e++) {
            int64_t j = e < end ? (int64_t)IN(col, e) : i, at = (e < end ? e : AX(E) + i) * heads + h;
            double dw = 0, mag = 0, w = IN(weight, at);
            for (int64_t c = 0; c < AX(D); c++) {
                double p = IN(dy, unit * AX(D) + c) * IN(z, (j * heads + h) * AX(D) + c);
                dw += p;
                mag += fabs(p);
            }
            if (pass == 0) {
                mean += w * dw;
                mean_mag += w * mag;
                continue;
            }
            float score = (float)IN(src, j * heads + h) + (float)IN(dst, unit);
            double factor = score > 0 ? 1 : (double)AX(SLOPE) / 1e6;
            OUT_MAG(dscore, at, w * (dw - mean) * factor, w * (mag + mean_mag) * factor);
            sum += w * (dw - mean) * factor;
            sum_mag += w * (mag + mean_mag) * factor;
        }
    OUT_MAG(ddst, unit, sum, sum_mag);
}
