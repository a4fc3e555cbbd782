#include "hone_ref.h"

PHASE(reference)
{
    int64_t place = AX(H) * AX(W), first = unit / place * AX(C) * place + unit % place;
    int64_t label = (int64_t)IN(label, unit);
    double most = IN(x, first), sum = 0, all = 0, size = 0;
    if (label == 255) {
        OUT(loss, unit, 0);
        return;
    }
    for (int64_t j = 0; j < AX(C); j++) {
        double v = IN(x, first + j * place);
        most = fmax(most, v);
        all += v;
        size += fabs(v);
    }
    for (int64_t j = 0; j < AX(C); j++)
        sum += exp(IN(x, first + j * place) - most);
    double total = most + log(sum), picked = 0.9 * IN(x, first + label * place),
           rest = 0.1 * all / (double)AX(C);
    OUT_MAG(loss, unit, total - picked - rest,
            fabs(most) + log(sum) + fabs(picked) + 0.1 * size / (double)AX(C));
}
