#include "hone_ref.h"

/* One unit per element of the result. */
PHASE(reference)
{
    int64_t rows = (AX(H) + 1) / 2, j = unit % AX(W), i = unit / AX(W) % rows;
    int64_t plane = unit / (AX(W) * rows), c = plane % AX(C);
    double sum = IN(bias, c), size = fabs(sum);
    for (int64_t p = 0; p < 5; p++)
        for (int64_t q = 0; q < 3; q++) {
            int64_t h = 2 * i + p - 2, k = j + 2 * q - 2;
            if (h < 0 || h >= AX(H) || k < 0 || k >= AX(W))
                continue;
            double v = IN(img, (plane * AX(H) + h) * AX(W) + k) * IN(w, c * 15 + p * 3 + q);
            sum += v;
            size += fabs(v);
        }
    OUT_MAG(out, unit, sum > 0 ? sum : 0, size);
}
