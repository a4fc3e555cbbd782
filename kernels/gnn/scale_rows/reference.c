#include "hone_ref.h"

/* One unit per element. */
PHASE(reference)
{
    double by = IN(by, unit / AX(D)), most = (double)AX(MOST);
    OUT(y, unit, (by < most ? by : most) * IN(x, unit));
}
