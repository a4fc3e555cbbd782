/*
 * gpu_probe.h - finds the NVIDIA GPUs of this machine, without a CUDA context.
 *
 *     struct gpu_probe g;
 *     if (gpu_probe(&g, err) == 0 && g.n) printf("%s\n", g.gpus[0].name);
 *
 * It asks libcuda, so it does not see GPUs that CUDA_VISIBLE_DEVICES hides. It asks NVML for the
 * driver's version. Neither library has to exist.
 */
#ifndef SYS_GPU_PROBE_H
#define SYS_GPU_PROBE_H

#include <stdint.h>

#include "base/err.h"

#define GPU_PROBE_MAX 16

struct gpu_probe {
    char driver[80]; /* "570.86.15", "" if NVML did not say */
    /* The newest CUDA version that the driver supports. 13000 stands for 13.0; 0 = unknown. */
    unsigned cuda_max;
    unsigned n;
    struct {
        char name[128];
        unsigned sm;  /* 90 for sm_90 */
        unsigned sms; /* streaming multiprocessors */
        uint64_t mem_bytes;
    } gpus[GPU_PROBE_MAX];
};

/* Returns -1 if libcuda is missing or does not start. Otherwise returns 0, perhaps with no GPUs. */
int gpu_probe(struct gpu_probe *out, struct err *err);

/* Writes the architecture to compile for: "sm_89" if `sm` is 89. From 90 on, except for 120, an "a"
 * follows, as in "sm_90a". */
void gpu_arch(unsigned sm, char out[16]);

#endif
