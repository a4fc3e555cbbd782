#include "hone_ref.h"

/* One unit per element; 1 + tanh cancels for negative x, so the magnitude is |x|. */
PHASE(reference)
{
    double v = IN(x, unit);
    double u = 0.79788456080286535588 * (v + 0.044715 * v * v * v); /* sqrt(2 / pi) */
    OUT_MAG(y, unit, 0.5 * v * (1 + tanh(u)), fabs(v));
}
