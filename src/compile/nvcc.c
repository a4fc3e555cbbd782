/*
 * nvcc.c - nvcc in a child of the service, for machines without NVRTC and as a second opinion.
 */
#include "base/util.h"
#include "compile/service.h"

void nvcc_job(const struct job_request *rq, const struct job_spec *spec, struct job_result *out,
              struct arena *a)
{
    (void)rq;
    (void)spec;
    (void)a;
    out->log = "nvcc is not supported yet";
}
