#include "export/export.h"
static int write(struct export_job *job, struct err *err)
{
    (void)job;
    return err_set(err, ERR_UNSUPPORTED, "not yet");
}
const struct export_format export_flashinfer = {"flashinfer-bench", "", write};
