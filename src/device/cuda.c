#include "device/device.h"

int cuda_open(struct device **out, const struct job *job, const char *bundle_dir, struct err *err)
{
    return err_set(err, ERR_ENV, "no CUDA in this build");
}
