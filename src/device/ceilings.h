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
    double copy_gbps;  /* rate of copying, in bytes read plus bytes written */
    double read_gbps;  /* rate of reading alone */
    double f32_tflops; /* rate of multiply-adds on the CUDA cores */
    /* rate of the tensor cores with fp16 products and fp32 sums, by the GPU's fastest instruction
     */
    double f16_tflops;
    /* rate of mma.sync on the tensor cores; 0 = the GPU has no such instruction */
    double tf32_tflops;
    double empty_launch_ns;
};

int cuda_ceilings(int ordinal, const char *dir, const char *service, struct device_ceilings *out,
                  struct err *err);

#endif
