#include "hone_ref.h"

/* One unit per element of the result. */
PHASE(reference)
{
    int64_t planes = AX(D) + 1, rows = (AX(H) - 3) / 2 + 1, cols = (AX(W) - 1) / 3 + 1;
    int64_t k = unit % cols, j = unit / cols % rows, i = unit / (cols * rows) % planes;
    int64_t o = unit / (cols * rows * planes) % AX(O), n = unit / (cols * rows * planes * AX(O));
    double sum = 0, size = 0;
    for (int64_t c = 0; c < AX(C); c++)
        for (int64_t t = 0; t < 18; t++) {
            int64_t d = i + t / 9 - 1, h = 2 * j + t / 3 % 3, l = 3 * k + t % 3 * 2 - 2;
            if (d < 0 || d >= AX(D) || l < 0 || l >= AX(W))
                continue;
            double v = IN(vol, (((n * AX(C) + c) * AX(D) + d) * AX(H) + h) * AX(W) + l) *
                       IN(w, (o * AX(C) + c) * 18 + t);
            sum += v;
            size += fabs(v);
        }
    OUT_MAG(out, unit, sum, size);
}
