#include "hone_ref.h"

/* One unit per element. */
PHASE(reference)
{
    int64_t c = unit / (AX(H) * AX(W)) % AX(C);
    double scale = IN(w, c) / sqrt(IN(var, c) + SC(eps));
    OUT_MAG(y, unit, (IN(x, unit) - IN(mean, c)) * scale,
            (fabs(IN(x, unit)) + fabs(IN(mean, c))) * fabs(scale));
}
