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

/* Adds dy w^T for row m and column k to *sum and *mag, of rounded operands or of the given ones. */
HONE_FN void add_products(const struct hone_ref_ctx *hone, int64_t m, int64_t k, int rounded, double *sum, double *mag)
{
    double scale = ldexp(1.0, (int)AX(SHIFT));
    for (int64_t n = 0; n < AX(N); n++) {
        double a = IN(dy, m * AX(N) + n), b = IN(w, k * AX(N) + n);
        double p = rounded ? to_half(a * scale) / scale * to_half(b) : a * b;
        *sum += p;
        *mag += fabs(p);
    }
}

/* One unit per element of dx. */
PHASE(reference)
{
    int64_t m = unit / AX(K), k = unit % AX(K);
    double old = AX(ADD) ? IN(dx, unit) : 0, sum = old, mag = fabs(old);
    add_products(hone, m, k, 1, &sum, &mag);
    if (!(fabs(sum) < INFINITY)) {
        sum = old;
        mag = fabs(old);
        add_products(hone, m, k, 0, &sum, &mag);
    }
    OUT_MAG(dx, unit, sum, mag);
}
