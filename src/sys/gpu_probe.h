/*
 * gpu_probe.h - finds the NVIDIA GPUs of this machine, without a CUDA context.
 *
 *     struct gpu_probe g;
 *     if (gpu_probe(&g, err) == 0 && g.n) printf("%s\n", g.gpus[0].name);
 *
 * It asks the driver's libcuda. So, like any CUDA program, it does not see the GPUs that
 * CUDA_VISIBLE_DEVICES hides. It asks NVML for the driver's version. Both are loaded at run time;
 * neither has to exist.
 */
#ifndef SYS_GPU_PROBE_H
#define SYS_GPU_PROBE_H

#include <stdint.h>

#include "base/err.h"

#define GPU_PROBE_MAX 16

struct gpu_probe {
    char driver[80]; /* "570.86.15", "" if NVML did not say */
    /* the newest CUDA that the driver runs: 13000 stands for 13.0; 0 = unknown */
    unsigned cuda_max;
    unsigned n;
    struct {
        char name[128];
        unsigned sm;  /* 90 for sm_90 */
        unsigned sms; /* the number of streaming multiprocessors */
        uint64_t mem_bytes;
    } gpus[GPU_PROBE_MAX];
};

/* Returns 0 if libcuda starts; out->n is then the number of GPUs. Returns -1 with the reason if
 * libcuda is missing or does not start. */
int gpu_probe(struct gpu_probe *out, struct err *err);

/* Writes the architecture to compile for: 89 gives "sm_89". From 90 on the name ends in "a", as in
 * "sm_90a", except that 120 gives "sm_120". */
void gpu_arch(unsigned sm, char out[16]);

#endif
