#include "hone_ref.h"

PHASE(row)
{
    double most = IN(x, unit * AX(C)), sum = 0;
    for (int64_t j = 1; j < AX(C); j++)
        most = fmax(most, IN(x, unit * AX(C) + j));
    for (int64_t j = 0; j < AX(C); j++)
        sum += exp(IN(x, unit * AX(C) + j) - most);
    double picked = IN(x, unit * AX(C) + (int64_t)IN(label, unit));
    SCRATCH(unit) = most + log(sum) - picked;
    SCRATCH(AX(N) + unit) = fabs(most) + log(sum) + fabs(picked);
}

PHASE(reference)
{
    double sum = 0, mag = 0;
    for (int64_t i = 0; i < AX(N); i++) {
        sum += SCRATCH(i);
        mag += SCRATCH(AX(N) + i);
    }
    OUT_MAG(loss, 0, sum / (double)AX(N), mag / (double)AX(N));
}
