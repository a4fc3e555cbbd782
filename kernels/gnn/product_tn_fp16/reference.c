#include "hone_ref.h"

/* Returns v rounded to half precision: to nearest, ties to even. */
HONE_FN double to_half(double v)
{
    int exponent;
    if (fabs(v) >= 65520)
        return v < 0 ? -INFINITY : INFINITY;
    (void)frexp(v, &exponent);
    double step = ldexp(1.0, exponent > -13 ? exponent - 11 : -24);
    return rint(v / step) * step;
}

/* Adds x^T dy, or u^T dy, for row k and column n to *sum and *mag, of rounded operands or of the given ones. */
HONE_FN void add_products(const struct hone_ref_ctx *hone, int second, int64_t k, int64_t n, int rounded, double *sum,
                          double *mag)
{
    double scale = ldexp(1.0, (int)AX(SHIFT));
    for (int64_t m = 0; m < AX(M); m++) {
        double a = second ? IN(u, m * AX(K) + k) : IN(x, m * AX(K) + k), b = IN(dy, m * AX(N) + n);
        double p = rounded ? to_half(a) * (to_half(b * scale) / scale) : a * b;
        *sum += p;
        *mag += fabs(p);
    }
}

/* One unit per element of dw. */
PHASE(reference)
{
    int64_t k = unit / AX(N) % AX(K), n = unit % AX(N);
    int second = unit / AX(N) >= AX(K);
    double sum = 0, mag = 0;
    add_products(hone, second, k, n, 1, &sum, &mag);
    if (!(fabs(sum) < INFINITY)) {
        sum = mag = 0;
        add_products(hone, second, k, n, 0, &sum, &mag);
    }
    OUT_MAG(dw, unit, sum, mag);
}
