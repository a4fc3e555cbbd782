#include "hone_ref.h"

/* The score of query row q (of all B*L) and key j of its batch. */
HONE_FN double score(const struct hone_ref_ctx *hone, int64_t q, int64_t j)
{
    int64_t k = q / AX(L) * AX(S) + j;
    double s = 0;
    for (int64_t d = 0; d < AX(D); d++)
        s += IN(q, q * AX(D) + d) * IN(k, k * AX(D) + d);
    return s * 0.25;
}

/* One unit per query row: the largest score, then the weighted sum of the values. */
PHASE(reference)
{
    int64_t place = unit % AX(L), first = unit / AX(L) * AX(S);
    int64_t keys = place + 1 < AX(S) ? place + 1 : AX(S);
    double m = -INFINITY, sum = 0;
    for (int64_t j = 0; j < keys; j++)
        m = fmax(m, score(hone, unit, j));
    for (int64_t e = 0; e < AX(E); e++)
        OUT_MAG(y, unit * AX(E) + e, 0, 0);
    for (int64_t j = 0; j < keys; j++) {
        double p = exp(score(hone, unit, j) - m);
        sum += p;
        for (int64_t e = 0; e < AX(E); e++) {
            double v = IN(v, (first + j) * AX(E) + e);
            OUT_ADD(y, unit * AX(E) + e, p * v, p * fabs(v));
        }
    }
    for (int64_t e = 0; e < AX(E); e++) {
        int64_t i = unit * AX(E) + e;
        OUT_MAG(y, i, OUT_VALUE(y, i) / sum, OUT_MAGNITUDE(y, i) / sum);
    }
}
