#include "hone_ref.h"

/* One unit per element of y (n, h, v, k); pixels outside the image count as 0. */
PHASE(reference)
{
    int64_t k = unit % AX(K), pixel = unit / AX(K);
    int64_t v = pixel % AX(W), h = pixel / AX(W) % AX(H), n = pixel / (AX(W) * AX(H));
    double sum = 0, mag = 0;
    for (int dy = -1; dy <= 1; dy++)
        for (int dx = -1; dx <= 1; dx++) {
            int64_t ih = h + dy, iw = v + dx;
            if (ih < 0 || ih >= AX(H) || iw < 0 || iw >= AX(W))
                continue;
            int64_t xi = ((n * AX(H) + ih) * AX(W) + iw) * AX(C);
            int64_t wi = ((k * 3 + dy + 1) * 3 + dx + 1) * AX(C);
            for (int64_t c = 0; c < AX(C); c++) {
                double p = IN(x, xi + c) * IN(w, wi + c);
                sum += p;
                mag += fabs(p);
            }
        }
    double scale = IN(scale, k), shift = IN(shift, k);
    OUT_MAG(y, unit, fmax(sum * scale + shift, 0.0), mag * fabs(scale) + fabs(shift));
}
