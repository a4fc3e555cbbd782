#include "hone_ref.h"

/* The score of query row q (of all B*H*L) and key j of its head. */
HONE_FN double score(const struct hone_ref_ctx *hone, int64_t q, int64_t j)
{
    int64_t head = q / AX(L), k = head * AX(S) + j, h = head % AX(H), b = head / AX(H);
    double s = 0;
    if (IN(mask, b * AX(S) + j) != 0)
        return -100;
    for (int64_t d = 0; d < AX(D); d++)
        s += IN(q, q * AX(D) + d) * IN(k, k * AX(D) + d);
    return SC(alpha) * s + IN(bias, (h * AX(L) + q % AX(L)) * AX(S) + j);
}

/* One unit per query row: the largest score, then the weighted sum of the values. */
PHASE(reference)
{
    int64_t first = unit / AX(L) * AX(S);
    double m = -INFINITY, sum = 0;
    for (int64_t j = 0; j < AX(S); j++)
        m = fmax(m, score(hone, unit, j));
    for (int64_t d = 0; d < AX(D); d++)
        OUT_MAG(y, unit * AX(D) + d, 0, 0);
    for (int64_t j = 0; j < AX(S); j++) {
        double p = exp(score(hone, unit, j) - m);
        sum += p;
        for (int64_t d = 0; d < AX(D); d++) {
            double v = IN(v, (first + j) * AX(D) + d);
            OUT_ADD(y, unit * AX(D) + d, p * v, p * fabs(v));
        }
    }
    for (int64_t d = 0; d < AX(D); d++) {
        int64_t i = unit * AX(D) + d;
        OUT_MAG(y, i, OUT_VALUE(y, i) / sum, OUT_MAGNITUDE(y, i) / sum);
    }
}
