/*
 * ceilings.h - measures the highest rates that a GPU reaches. Hone compares kernels with these
 * rates.
 *
 *     struct device_ceilings f;
 *     cuda_ceilings(0, "dir", "service.cubin", &f, err);
 */
#ifndef DEVICE_CEILINGS_H
#define DEVICE_CEILINGS_H

#include "device/device.h"

struct device_ceilings {
    struct device_info info;
    struct device_health health;
    double copy_gbps;   /* read + write, 1 GiB each, or less on a small GPU */
    double read_gbps;   /* read alone */
    double f32_tflops;  /* multiply-add on the CUDA cores */
    double f16_tflops;  /* tensor cores, fp16 in, fp32 out; the fastest instruction of the GPU */
    double tf32_tflops; /* tensor cores, mma.sync; 0 = the GPU has no such instruction */
    double empty_launch_ns;
};

int cuda_ceilings(int ordinal, const char *dir, const char *service, struct device_ceilings *out,
                  struct err *err);

#endif
