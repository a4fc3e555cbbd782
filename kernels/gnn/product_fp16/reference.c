#include "hone_ref.h"

/* The 16 random bits of element i: half-word i % 8 of a block of Philox4x32-10. */
HONE_FN uint32_t random_bits(uint64_t i, uint32_t place, uint32_t step, uint32_t k0, uint32_t k1)
{
    uint32_t c[4] = {(uint32_t)(i / 8), (uint32_t)(i / 8 >> 32), place, step};
    for (int round = 0; round < 10; round++) {
        uint64_t p = (uint64_t)c[0] * 0xD2511F53u, q = (uint64_t)c[2] * 0xCD9E8D57u;
        c[0] = (uint32_t)(q >> 32) ^ c[1] ^ k0;
        c[2] = (uint32_t)(p >> 32) ^ c[3] ^ k1;
        c[1] = (uint32_t)q;
        c[3] = (uint32_t)p;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    return c[i % 8 / 2] >> (16 * (i % 2)) & 0xffffu;
}

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

/* Adds x w + u v for row m and column n to *sum and *mag, of rounded operands or of the given ones. */
HONE_FN void add_products(const struct hone_ref_ctx *hone, int64_t m, int64_t n, int rounded, double *sum, double *mag)
{
    for (int term = 0; term <= AX(PAIR); term++)
        for (int64_t k = 0; k < AX(K); k++) {
            double a = term ? IN(u, m * AX(K) + k) : IN(x, m * AX(K) + k);
            double b = term ? IN(v, k * AX(N) + n) : IN(w, k * AX(N) + n);
            double p = rounded ? to_half(a) * to_half(b) : a * b;
            *sum += p;
            *mag += fabs(p);
        }
}

/* One unit per element of y. */
PHASE(reference)
{
    int64_t m = unit / AX(N), n = unit % AX(N);
    double old = AX(ADD) ? IN(y, unit) : 0, sum = old, mag = fabs(old);
    add_products(hone, m, n, 1, &sum, &mag);
    if (!(fabs(sum) < INFINITY)) {
        sum = old;
        mag = fabs(old);
        add_products(hone, m, n, 0, &sum, &mag);
    }
    if (AX(BIAS)) {
        sum += IN(bias, n);
        mag += fabs(IN(bias, n));
    }
    if (sum < 0)
        sum *= (double)AX(SLOPE) / 1e6;
    if (AX(LIMIT) > 0) {
        uint64_t i = (uint64_t)IN(node, m) * (uint64_t)AX(N) + (uint64_t)n;
        int keep = random_bits(i, (uint32_t)AX(PLACE), (uint32_t)AX(STEP), (uint32_t)AX(SEED_LO),
                               (uint32_t)AX(SEED_HI)) >= (uint32_t)AX(LIMIT);
        double scale = keep ? 65536.0 / (65536.0 - (double)AX(LIMIT)) : 0;
        sum *= scale;
        mag *= scale;
    }
    OUT_MAG(y, unit, sum, mag);
}
