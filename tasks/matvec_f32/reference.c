#include "hone_ref.h"

#define CHUNK 4096

/* One unit per 4096 columns of a row: the partial sum and its magnitude. */
PHASE(chunk)
{
    int64_t chunks = (AX(K) + CHUNK - 1) / CHUNK;
    int64_t row = unit / chunks, first = unit % chunks * CHUNK;
    int64_t end = first + CHUNK < AX(K) ? first + CHUNK : AX(K);
    double sum = 0, mag = 0;
    for (int64_t k = first; k < end; k++) {
        double p = IN(A, row * AX(K) + k) * IN(x, k);
        sum += p;
        mag += fabs(p);
    }
    SCRATCH(2 * unit) = sum;
    SCRATCH(2 * unit + 1) = mag;
}

/* One unit per row. */
PHASE(reference)
{
    int64_t chunks = (AX(K) + CHUNK - 1) / CHUNK;
    double sum = 0, mag = 0;
    for (int64_t c = unit * chunks; c < (unit + 1) * chunks; c++) {
        sum += SCRATCH(2 * c);
        mag += SCRATCH(2 * c + 1);
    }
    OUT_MAG(y, unit, sum, mag);
}
