#include "worker/sidecar.h"

enum result_status sidecar_call(struct run *r, struct module_state *ms, uint32_t c,
                                const struct job_call *call, const uint64_t *addr, double *time_ns,
                                struct err *err)
{
    err_set(err, ERR_ENV, "no PyTorch baseline on this device");
    return RESULT_LOAD_FAILED;
}

void sidecar_stop(struct sidecar *s)
{
}
