#include "hone_ref.h"

/* One unit per row. */
PHASE(reference)
{
    double sum = 0, size = 0;
    for (int64_t j = 0; j < AX(C); j++) {
        double v = IN(x, unit * AX(C) + j);
        OUT_MAG(y, unit * AX(C) + j, sum, size);
        sum += v;
        size += fabs(v);
    }
}
