/* The truth of the smoke job, as `hone` would hand it to the worker. */
enum { HT_x, HT_y, HT_z };
enum { HD_x = 2, HD_y = 2, HD_z = 2 };
enum { HA_N };
#include "hone_ref.h"

#ifdef __cplusplus
extern "C"
#endif
    PHASE(reference)
{
    OUT(z, unit, IN(x, unit) + IN(y, unit));
}
