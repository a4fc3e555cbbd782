#include "hone_ref.h"

/* Scratch of a column: the sums of dy v and dy, and of their absolute values. */
PHASE(sums) /* units: C */
{
    int64_t w = AX(C);
    double a = 0, b = 0, mag_a = 0, mag_b = 0;
    for (int64_t r = 0; r < AX(R); r++) {
        double g = IN(dy, r * w + unit), x = IN(x, r * w + unit), inv = IN(saved, w + unit);
        a += g * (x - IN(saved, unit)) * inv;
        mag_a += fabs(g) * (fabs(x) + fabs(IN(saved, unit))) * fabs(inv);
        b += g;
        mag_b += fabs(g);
    }
    SCRATCH(4 * unit) = a;
    SCRATCH(4 * unit + 1) = b;
    SCRATCH(4 * unit + 2) = mag_a;
    SCRATCH(4 * unit + 3) = mag_b;
    OUT_MAG(dgain, unit, a, mag_a);
    OUT_MAG(dgain, w + unit, b, mag_b);
}

PHASE(reference) /* units: R*C */
{
    int64_t c = unit % AX(C), w = AX(C);
    double n = (double)AX(R), inv = IN(saved, w + c), old = AX(ADD) ? IN(dx, unit) : 0;
    double v = (IN(x, unit) - IN(saved, c)) * inv, factor = IN(gain, c) * inv;
    double most = (fabs(IN(x, unit)) + fabs(IN(saved, c))) * fabs(inv);
    OUT_MAG(dx, unit,
            old + factor * (IN(dy, unit) - SCRATCH(4 * c + 1) / n - v * SCRATCH(4 * c) / n),
            fabs(old) + fabs(factor) * (fabs(IN(dy, unit)) + SCRATCH(4 * c + 3) / n +
                                        most * SCRATCH(4 * c + 2) / n));
}
