#include "hone_ref.h"

/* One unit does everything: the order matters. Scratch holds the local id of each node. */
PHASE(reference)
{
    int64_t edges = 0, found = 0, all = AX(N) * AX(F);
    for (int64_t v = 0; v < AX(V); v++)
        SCRATCH(v) = IN(local, v);
    for (int64_t i = unit; i < AX(N); i++) {
        OUT(row, i, (double)edges);
        for (int64_t k = 0; k < (int64_t)IN(count, i); k++) {
            int64_t v = (int64_t)IN(pick, i * AX(F) + k);
            if (SCRATCH(v) < 0) {
                OUT(found, found, (double)v);
                SCRATCH(v) = (double)(AX(N) + found++);
            }
            OUT(col, edges++, SCRATCH(v));
        }
    }
    OUT(row, AX(N), (double)edges);
    OUT(sizes, 0, (double)edges);
    OUT(sizes, 1, (double)found);
    for (; edges < all; edges++)
        OUT(col, edges, -1);
    for (; found < all; found++)
        OUT(found, found, -1);
    for (int64_t v = 0; v < AX(V); v++)
        OUT(local, v, SCRATCH(v));
}
