#include "hone_ref.h"

/* One unit per element of the result. */
PHASE(reference)
{
    int64_t rows = (AX(H) + 1) / 2, cols = AX(W) + 1, j = unit % cols, i = unit / cols % rows;
    int64_t o = unit / (cols * rows) % (2 * AX(O)), n = unit / (cols * rows * 2 * AX(O));
    double sum = IN(bias, o), size = fabs(sum);
    for (int64_t c = 0; c < AX(C); c++)
        for (int64_t p = 0; p < 3; p++)
            for (int64_t q = 0; q < 2; q++) {
                int64_t h = 2 * i + p - 1, k = j + q - 1, from = n * 2 * AX(C) + o / AX(O) * AX(C) + c;
                if (h < 0 || h >= AX(H) || k < 0 || k >= AX(W))
                    continue;
                double v = IN(img, (from * AX(H) + h) * AX(W) + k) * IN(w, (o * AX(C) + c) * 6 + p * 2 + q);
                sum += v;
                size += fabs(v);
            }
    double all = sum * 0.5 + IN(res, unit);
    OUT_MAG(out, unit, all > 0 ? all : 0, size * 0.5 + fabs(IN(res, unit)));
}
