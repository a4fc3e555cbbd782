#include "hone_ref.h"

/* One unit per output pixel of a channel; pixels outside the image count as 0. */
PHASE(reference)
{
    int64_t plane = unit / (AX(H) * AX(W)), pixel = unit % (AX(H) * AX(W));
    int64_t c = plane % AX(C), h = pixel / AX(W), v = pixel % AX(W);
    double sum = 0, mag = 0;
    for (int dy = -1; dy <= 1; dy++)
        for (int dx = -1; dx <= 1; dx++) {
            int64_t ih = h + dy, iw = v + dx;
            if (ih < 0 || ih >= AX(H) || iw < 0 || iw >= AX(W))
                continue;
            double p =
                IN(x, (plane * AX(H) + ih) * AX(W) + iw) * IN(w, c * 9 + (dy + 1) * 3 + dx + 1);
            sum += p;
            mag += fabs(p);
        }
    OUT_MAG(y, unit, sum, mag);
}
