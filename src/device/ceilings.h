/*
 * ceilings.h - measures the highest rates a GPU reaches. Kernels are compared with these rates.
 *
 *     struct ceilings_facts f;
 *     cuda_ceilings(0, "dir", "service.cubin", &f, err);
 */
#ifndef DEVICE_CEILINGS_H
#define DEVICE_CEILINGS_H

#include "device/device.h"

struct ceilings_facts {
    struct device_info info;
    struct device_health health;
    double copy_gbps;   /* read + write, 1 GiB each */
    double read_gbps;   /* read alone */
    double f32_tflops;  /* multiply-add on the CUDA cores */
    double f16_tflops;  /* tensor cores, fp16 in, fp32 out; the fastest instruction of the GPU */
    double tf32_tflops; /* tensor cores, mma.sync; 0 = the GPU has none */
    double empty_launch_ns;
};

int cuda_ceilings(int ordinal, const char *dir, const char *service, struct ceilings_facts *out,
                  struct err *err);

#endif
