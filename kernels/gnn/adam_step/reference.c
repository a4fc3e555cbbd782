#include "hone_ref.h"

/* One unit per weight. */
PHASE(reference)
{
    double g = IN(g, unit), b1 = IN(beta, 1), b2 = IN(beta, 2);
    double m = b1 * IN(m, unit) + (1 - b1) * g;
    double terms = b1 * fabs(IN(m, unit)) + (1 - b1) * fabs(g);
    double v = b2 * IN(v, unit) + (1 - b2) * g * g;
    double step = IN(rate, 0) / (sqrt(v) / IN(beta, 0) + IN(rate, 1));
    OUT_MAG(m, unit, m, terms);
    OUT(v, unit, v);
    OUT_MAG(w, unit, IN(w, unit) - step * m, fabs(IN(w, unit)) + step * terms);
}
