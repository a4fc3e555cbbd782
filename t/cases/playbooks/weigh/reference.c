#include "hone_ref.h"

/* The variance of a rounding: c is its variance at 1, `least` the least. */
HONE_FN double hone_own(double c, double least, double v)
{
    return v != 0 && v * v < INFINITY ? c * v * v + least : 0.0;
}

/* The variance of f, which becomes `up` or `down` if an operand is off by 4 sigma. */
HONE_FN double hone_secant(double f, double up, double down)
{
    double a = fabs(up - f), b = fabs(down - f);
    a = a < INFINITY ? a : 0.0;
    b = b < INFINITY ? b : 0.0;
    a = a > b ? a : b;
    return a * a / 16;
}

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

HONE_FN int64_t hone_size_min(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Values that phases store: VAL and PART, with variances MAG and PMAG. */
#define SIZE0 (((AX(K) + 4095) / 4096) * AX(M))
#define BASE0 ((int64_t)0)
#define AT_PART3 (BASE0 + 0 * SIZE0)
#define PART3(i) SCRATCH(PART3_at + (i))
#define AT_PMAG3 (BASE0 + 1 * SIZE0)
#define PMAG3(i) SCRATCH(PMAG3_at + (i))

/* Units: ((K+4095)/4096)*M; one unit per part of value 3 (matmul). */
PHASE(p1_matmul)
{
    const int64_t PART3_at = AT_PART3;
    const int64_t PMAG3_at = AT_PMAG3;
    const int64_t i1 = unit / ((AX(K) + 4095) / 4096);
    const int64_t i2 = unit % ((AX(K) + 4095) / 4096);
    const int64_t i3 = i2 * 4096;
    const int64_t i4 = hone_size_min(i3 + 4096, AX(K));
    double v5 = 0;
    double v6 = 0;
    double v7 = 0;
    double v8 = 0;
    double v9 = 0;
    double v10 = 0;
    double v11 = 0;
    double v12 = 0;
    double v13 = 0;
    const int64_t i15 = i1 * AX(K);
    for (int64_t i14 = i3; i14 < i4; i14++) {
        const int64_t i16 = i15 + i14;
        const double v17 = IN(x, i16);
        const double v18 = IN(w, i14);
        const double v19 = v17 * v18;
        v7 = v7 + v19;
        v8 += v7 * v7;
        v9 += v19 * v19;
        v10 += 1;
        if (v10 == 1024) {
            v11 += hone_chain(v8, v7, v9, v10, 1);
            v5 += v7;
            v13 += v7 * v7;
            v12 += 1;
            v7 = 0;
            v8 = 0;
            v9 = 0;
            v10 = 0;
        }
    }
    const double v20 = v5 + v7;
    const double v21 = hone_tree(v20, v13 + v7 * v7, v12 + (v10 > 0));
    const double v22 = v6 + 1.18423789e-15 * (v11 + hone_chain(v8, v7, v9, v10, 1) + v21);
    PART3(unit) = v20;
    PMAG3(unit) = v22;
}

/* Units: M; one unit per element of output y. */
PHASE(reference)
{
    const int64_t PART3_at = AT_PART3;
    const int64_t PMAG3_at = AT_PMAG3;
    const int64_t i1 = unit * ((AX(K) + 4095) / 4096);
    double v2 = 0;
    double v3 = 0;
    double v4 = 0;
    double v5 = 0;
    double v6 = 0;
    double v7 = 0;
    double v8 = 0;
    double v9 = 0;
    double v10 = 0;
    const int64_t i11 = i1 + ((AX(K) + 4095) / 4096);
    for (int64_t i12 = i1; i12 < i11; i12++) {
        const double v13 = PART3(i12);
        const double v14 = PMAG3(i12);
        v2 += v13;
        v10 += v13 * v13;
        v9 += 1;
        v3 += v14;
    }
    const double v15 = v2 + v4;
    const double v16 = hone_tree(v15, v10 + v4 * v4, v9 + (v7 > 0));
    const double v17 = v3 + 1.18423789e-15 * (v8 + hone_chain(v5, v4, v6, v7, 0) + v16);
    const double v18 = IN(b, unit);
    const double v19 = (v15 + v18);
    const double v20 = v17 + 0.0 + hone_own(1.18423789e-15, 4.60595656e-77, v19);
    const double v21 = (v19 > 0 ? v19 : (v19 == v19 ? 0.0 : v19));
    const double v22 = 4 * sqrt(v20);
    const double v23 = ((v19 + v22) > 0 ? (v19 + v22) : ((v19 + v22) == (v19 + v22) ? 0.0 : (v19 + v22)));
    const double v24 = ((v19 - v22) > 0 ? (v19 - v22) : ((v19 - v22) == (v19 - v22) ? 0.0 : (v19 - v22)));
    const double v25 = hone_secant(v21, v23, v24);
    OUT_SIGMA(y, unit, v21, hone_sigma(v25));
}
