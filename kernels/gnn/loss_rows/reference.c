#include "hone_ref.h"

/* Scratch: the number of labelled rows; then for each row its maximum, the sum of its exponentials,
 * its loss, and 1 if the prediction is right. */
PHASE(count) /* units: 1 */
{
    double n = 0;
    for (int64_t r = 0; r < AX(R); r++)
        n += IN(label, r) >= 0;
    SCRATCH(unit) = n;
}

PHASE(row) /* units: R */
{
    int64_t at = unit * AX(C), best = 0, label = (int64_t)IN(label, unit);
    for (int64_t c = 1; c < AX(C); c++)
        if (IN(x, at + c) > IN(x, at + best))
            best = c;
    double sum = 0, largest = IN(x, at + best);
    for (int64_t c = 0; c < AX(C); c++)
        sum += exp(IN(x, at + c) - largest);
    SCRATCH(1 + 4 * unit) = largest;
    SCRATCH(2 + 4 * unit) = sum;
    SCRATCH(3 + 4 * unit) = label < 0 ? 0 : log(sum) - (IN(x, at + (label < 0 ? 0 : label)) - largest);
    SCRATCH(4 + 4 * unit) = label == best;
}

PHASE(reference) /* units: R*C */
{
    int64_t r = unit / AX(C), c = unit % AX(C), label = (int64_t)IN(label, r);
    double p = exp(IN(x, unit) - SCRATCH(1 + 4 * r)) / SCRATCH(2 + 4 * r), hot = c == label;
    if (label < 0)
        OUT(dx, unit, 0);
    else
        OUT_MAG(dx, unit, (p - hot) / SCRATCH(0), (p + hot) / SCRATCH(0));
}

PHASE(total) /* units: 3 */
{
    double sum = 0;
    for (int64_t r = 0; r < AX(R) && unit != 1; r++)
        sum += SCRATCH((unit == 0 ? 3 : 4) + 4 * r);
    OUT(sums, unit, unit == 1 ? SCRATCH(0) : sum);
}
