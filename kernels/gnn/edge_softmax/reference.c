#include "hone_ref.h"

/* One unit per target and head. */
PHASE(reference)
{
    int64_t i = unit / AX(H), h = unit % AX(H), first = (int64_t)IN(row, i);
    int64_t end = (int64_t)IN(row, i + 1);
    double slope = (double)AX(SLOPE) / 1e6, to = IN(dst, unit), own = IN(src, unit) + to;
    own = own > 0 ? own : slope * own;
    double most = own, sum = 0, times = 1;
    if (AX(MOST) > 0 && end > first)
        times = fmin(IN(degree, i), (double)AX(MOST)) / (double)(end - first);
    for (int pass = 0; pass < 3; pass++)
        for (int64_t e = first; e <= end; e++) {
            int64_t j = e < end ? (int64_t)IN(col, e) : i, at = e < end ? e : AX(E) + i;
            double s = IN(src, j * AX(H) + h) + to;
            s = s > 0 ? s : slope * s;
            if (e < end && j == i) {
                if (pass == 2)
                    OUT(weight, at * AX(H) + h, 0);
            } else if (pass == 0) {
                most = s > most ? s : most;
            } else if (pass == 1) {
                sum += (e < end ? times : 1) * exp(s - most);
            } else {
                OUT(weight, at * AX(H) + h, (e < end ? times : 1) * exp(s - most) / sum);
            }
        }
}
