#include "compile/diag.h"

#include "base/util.h"

const char *diag_hint(const char *message)
{
    (void)message;
    return "";
}
