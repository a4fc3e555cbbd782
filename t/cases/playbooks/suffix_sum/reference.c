#include "hone_ref.h"

/* One unit per row. */
PHASE(reference)
{
    double sum = 0, size = 0;
    for (int64_t j = AX(C) - 1; j >= 0; j--) {
        double v = IN(x, unit * AX(C) + j);
        sum += v;
        size += fabs(v);
        OUT_MAG(y, unit * AX(C) + j, sum, size);
    }
}
