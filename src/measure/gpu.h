/*
 * gpu.h - data sheets: gpus/NAME.json, what the cost model and the physical floor are computed
 * from.
 *
 *     struct job_gpu g;
 *     if (gpu_load("h200", &g, NULL, &arena, err) < 0) ...
 */
#ifndef MEASURE_GPU_H
#define MEASURE_GPU_H

#include "base/arena.h"
#include "base/err.h"
#include "job/job.h"

/* A built-in name, or the path of a JSON file. *arch (may be NULL) gets e.g. "sm_90a". */
int gpu_load(const char *name, struct job_gpu *out, const char **arch, struct arena *a,
             struct err *err);
/* The built-in sheet that fits a device's own name ("NVIDIA H200"); NULL if none does. */
const char *gpu_for_device(const char *device_name, struct arena *a);

/* No implementation can be faster than this: unavoidable bytes over peak bandwidth, unavoidable
 * arithmetic over the fastest unit that could do it on operands of this type. Of what is written,
 * as much as the L2 holds may reach DRAM after the kernel's end; `written` 0 counts it all. */
double gpu_floor_ns(const struct job_gpu *g, double flops, double min_bytes, double written,
                    enum dtype operand);

#endif
