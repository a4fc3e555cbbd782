#include "hone_ref.h"

/* Score of query row q (of all B*H*S) against key j of its head, before the division by sqrt(D). */
HONE_FN double score(const struct hone_ref_ctx *hone, int64_t q, int64_t j)
{
    int64_t k = q / AX(S) * AX(S) + j;
    double s = 0;
    for (int64_t d = 0; d < AX(D); d++)
        s += IN(Q, q * AX(D) + d) * IN(K, k * AX(D) + d);
    return s;
}

/* One unit per query row: the largest score, then the weighted sum of the values. */
PHASE(reference)
{
    int64_t head = unit / AX(S) * AX(S);
    double scale = 1 / sqrt((double)AX(D)), m = -INFINITY, sum = 0;
    for (int64_t j = 0; j < AX(S); j++)
        m = fmax(m, score(hone, unit, j) * scale);
    for (int64_t d = 0; d < AX(D); d++)
        OUT_MAG(O, unit * AX(D) + d, 0, 0);
    for (int64_t j = 0; j < AX(S); j++) {
        double p = exp(score(hone, unit, j) * scale - m);
        sum += p;
        for (int64_t d = 0; d < AX(D); d++) {
            double v = IN(V, (head + j) * AX(D) + d);
            OUT_ADD(O, unit * AX(D) + d, p * v, p * fabs(v));
        }
    }
    for (int64_t d = 0; d < AX(D); d++) {
        int64_t i = unit * AX(D) + d;
        OUT_MAG(O, i, OUT_VALUE(O, i) / sum, OUT_MAGNITUDE(O, i) / sum);
    }
}
