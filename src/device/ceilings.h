/*
 * ceilings.h - measures the highest rates that a GPU reaches. Hone compares kernels with them.
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
    double copy_gbps;  /* copying: bytes read plus bytes written */
    double read_gbps;  /* reading alone */
    double f32_tflops; /* multiply-adds on the CUDA cores */
    /* tensor cores, fp16 products and fp32 sums: mma.sync or wgmma, whichever is faster */
    double f16_tflops;
    /* tensor cores, tf32 products, by mma.sync; 0 = the GPU cannot do that */
    double tf32_tflops;
    double empty_launch_ns; /* time of one launch of an empty kernel */
};

/* `service` is the file with the kernels that measure (service.cu, compiled), in the directory
 * `dir`. */
int cuda_ceilings(int ordinal, const char *dir, const char *service, struct device_ceilings *out,
                  struct err *err);

#endif
