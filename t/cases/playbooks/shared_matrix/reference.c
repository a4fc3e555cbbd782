#include "hone_ref.h"

/* The sum of the squares of the partial sums that are rounded: as the terms came, or as they
 * come in a random order. n terms with sum s and sum of squares q. */
HONE_FN double hone_chain(double squares, double s, double q, double n, int products)
{
    if (!(n > 0))
        return 0;
    double mean = s / n, var = q / n - mean * mean;
    double any = n * (n + 1) / 6 * ((2 * n + 1) * mean * mean + (var > 0 ? var : 0));
    any -= products ? 0 : q / n;
    return any > squares ? any : squares;
}

/* The same for a tree over n sums that add up to s; q is the sum of their squares. */
HONE_FN double hone_tree(double s, double q, double n)
{
    return n > 1 ? 2 * s * s + log2(n) * q : 0.0;
}

HONE_FN double hone_sigma(double variance)
{
    return variance > 0 && variance < INFINITY ? sqrt(variance) : 0.0;
}

/* Units: B*M*N; one unit per element of output y. */
PHASE(reference)
{
    double v1 = 0;
    double v2 = 0;
    double v3 = 0;
    double v4 = 0;
    double v5 = 0;
    double v6 = 0;
    double v7 = 0;
    double v8 = 0;
    double v9 = 0;
    const int64_t i11 = unit / (AX(M) * AX(N));
    const int64_t i12 = unit / AX(N);
    const int64_t i13 = i12 % AX(M);
    const int64_t i14 = unit % AX(N);
    const int64_t i19 = i11 * AX(K);
    for (int64_t i10 = 0; i10 < AX(K); i10++) {
        const int64_t i20 = i19 + i10;
        const int64_t i21 = i20 * AX(M);
        const int64_t i22 = i21 + i13;
        const double v23 = IN(x, i22);
        const int64_t i24 = i10 * AX(N);
        const int64_t i25 = i24 + i14;
        const double v26 = IN(w, i25);
        const double v27 = v23 * v26;
        v3 = v3 + v27;
        v4 += v3 * v3;
        v5 += v27 * v27;
        v6 += 1;
        if (v6 == 1024) {
            v7 += hone_chain(v4, v3, v5, v6, 1);
            v1 += v3;
            v9 += v3 * v3;
            v8 += 1;
            v3 = 0;
            v4 = 0;
            v5 = 0;
            v6 = 0;
        }
    }
    const double v28 = v1 + v3;
    const double v29 = hone_tree(v28, v9 + v3 * v3, v8 + (v6 > 0));
    const double v30 = v2 + 1.18423789e-15 * (v7 + hone_chain(v4, v3, v5, v6, 1) + v29);
    OUT_SIGMA(y, unit, v28, hone_sigma(v30));
}
