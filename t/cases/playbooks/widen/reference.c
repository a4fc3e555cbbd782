#include "hone_ref.h"

/* One unit per element of the result. */
PHASE(reference)
{
    int64_t rows = 2 * AX(H) + 1, cols = 3 * AX(W), j = unit % cols, i = unit / cols % rows;
    int64_t o = unit / (cols * rows) % (2 * AX(O)), n = unit / (cols * rows * 2 * AX(O));
    double sum = 0, size = 0;
    for (int64_t c = 0; c < AX(C); c++)
        for (int64_t p = 0; p < 4; p++)
            for (int64_t q = 0; q < 3; q++) {
                int64_t h = i + 1 - p, k = j + 2 - 2 * q, from = o / AX(O) * AX(C) + c;
                if (h < 0 || k < 0 || h % 2 || k % 3 || h / 2 >= AX(H) || k / 3 >= AX(W))
                    continue;
                double v = IN(img, ((n * 2 * AX(C) + from) * AX(H) + h / 2) * AX(W) + k / 3) *
                           IN(w, (from * AX(O) + o % AX(O)) * 12 + p * 3 + q);
                sum += v;
                size += fabs(v);
            }
    OUT_MAG(out, unit, sum < 0 ? -sum : sum, size);
}
