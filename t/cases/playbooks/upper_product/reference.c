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

/* Integers wrap around. */
HONE_FN double hone_int64(uint64_t v)
{
    return (double)(int64_t)v;
}

/* Units: M*N; one unit per element of output y. */
PHASE(reference)
{
    const int64_t i1 = unit % AX(N);
    const int64_t i2 = unit / AX(N);
    const double v3 = hone_int64((uint64_t)(int64_t)(double)(i1) - (uint64_t)(int64_t)(double)(i2));
    const double v4 = 0.0 + 0.0;
    const double v5 = (double)(v3 >= 1.0);
    const double v6 = 4 * sqrt(v4);
    const double v7 = (double)((v3 + v6) >= 1.0);
    const double v8 = (double)((v3 - v6) >= 1.0);
    const double v9 = hone_secant(v5, v7, v8);
    double v10 = 0;
    double v11 = 0;
    double v12 = 0;
    double v13 = 0;
    double v14 = 0;
    double v15 = 0;
    double v16 = 0;
    double v17 = 0;
    double v18 = 0;
    const int64_t i20 = i2 * AX(K);
    for (int64_t i19 = 0; i19 < AX(K); i19++) {
        const int64_t i21 = i20 + i19;
        const double v22 = IN(x, i21);
        const int64_t i23 = i19 * AX(N);
        const int64_t i24 = i23 + i1;
        const double v25 = IN(w, i24);
        const double v26 = v22 * v25;
        v12 = v12 + v26;
        v13 += v12 * v12;
        v14 += v26 * v26;
        v15 += 1;
        if (v15 == 1024) {
            v16 += hone_chain(v13, v12, v14, v15, 1);
            v10 += v12;
            v18 += v12 * v12;
            v17 += 1;
            v12 = 0;
            v13 = 0;
            v14 = 0;
            v15 = 0;
        }
    }
    const double v27 = v10 + v12;
    const double v28 = hone_tree(v27, v18 + v12 * v12, v17 + (v15 > 0));
    const double v29 = v11 + 1.18423789e-15 * (v16 + hone_chain(v13, v12, v14, v15, 1) + v28);
    const double v30 = IN(b, i1);
    const double v31 = (v27 + v30);
    const double v32 = v29 + 0.0 + hone_own(1.18423789e-15, 4.60595656e-77, v31);
    const double v33 = 0.0;
    const double v34 = (v5 != 0 ? v31 : v33);
    const double v35 = (v5 != 0 ? v32 : 0.0) + (v9 > 0 ? hone_secant(v34, v31, v33) : 0.0);
    OUT_SIGMA(y, unit, v34, hone_sigma(v35));
}
