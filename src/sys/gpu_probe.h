/*
 * gpu_probe.h - which NVIDIA GPUs this machine has, without a CUDA context.
 *
 *     struct gpu_probe g;
 *     if (gpu_probe(&g, err) == 0 && g.n) printf("%s\n", g.gpus[0].name);
 *
 * Asks the driver's libcuda (as CUDA programs will see it: CUDA_VISIBLE_DEVICES holds) and, for
 * the driver's version, NVML; both are loaded at run time. Safe where neither exists.
 */
#ifndef SYS_GPU_PROBE_H
#define SYS_GPU_PROBE_H

#include <stdint.h>

#include "base/err.h"

#define GPU_PROBE_MAX 16

struct gpu_probe {
    char driver[80];   /* "570.86.15", "" if NVML did not say */
    unsigned cuda_max; /* 13000: the newest CUDA the driver runs; 0 if unknown */
    unsigned n;
    struct {
        char name[128];
        unsigned sm; /* 90 */
        unsigned sms;
        uint64_t mem_bytes;
    } gpus[GPU_PROBE_MAX];
};

/* 0, also with n == 0 where CUDA_VISIBLE_DEVICES hides all; -1 says why there is no GPU to use. */
int gpu_probe(struct gpu_probe *out, struct err *err);

/* What to compile for a device of this capability: 90 is "sm_90a", 89 is "sm_89". */
void gpu_arch(unsigned sm, char out[16]);

#endif
