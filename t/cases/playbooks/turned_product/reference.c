#include "hone_ref.h"

/* By how much the magnitude m of v exceeds |v|. */
HONE_FN double hone_excess(double m, double v)
{
    return fmax(m - fabs(v), 0.0);
}

/* Units: B*M*N; one unit per element of output y. */
PHASE(reference)
{
    double v1 = 0;
    double v2 = 0;
    const int64_t i4 = unit / (AX(M) * AX(N));
    const int64_t i5 = unit / AX(N);
    const int64_t i6 = i5 % AX(M);
    const int64_t i7 = unit % AX(N);
    const int64_t i12 = i4 * AX(K);
    const int64_t i19 = i4 * AX(N);
    const int64_t i20 = i19 + i7;
    const int64_t i21 = i20 * AX(K);
    for (int64_t i3 = 0; i3 < AX(K); i3++) {
        const int64_t i13 = i12 + i3;
        const int64_t i14 = i13 * AX(M);
        const int64_t i15 = i14 + i6;
        const double v16 = IN(a, i15);
        const int64_t i22 = i21 + i3;
        const double v23 = IN(b, i22);
        const double v24 = v16 * v23;
        v1 += v24;
        v2 += fabs(v24);
    }
    const double v25 = (SC(alpha) * v1);
    const double v26 = fabs(SC(alpha)) * v2;
    const double v27 = IN(r, unit);
    const double v28 = (v25 + v27);
    const double v29 = v26 + fabs(v27);
    const double v30 = (v28 > 0 ? v28 : (v28 == v28 ? 0.0 : v28));
    const double v31 = fabs(v30) + hone_excess(v29, v28);
    OUT_MAG(y, unit, v30, fmax(v31, fabs(v30)));
}
