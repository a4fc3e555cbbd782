/*
 * gpu.h - reads data sheets of GPUs (gpus/NAME.json), for the cost model and the physical floor.
 *
 *     struct job_gpu g;
 *     if (gpu_load("h200", &g, NULL, &arena, err) < 0) ...
 */
#ifndef MEASURE_GPU_H
#define MEASURE_GPU_H

#include "base/arena.h"
#include "base/err.h"
#include "job/job.h"

/* `name` is a built-in name or the path of a JSON file. *arch becomes e.g. "sm_90a"; `arch` may be
 * NULL. */
int gpu_load(const char *name, struct job_gpu *out, const char **arch, struct arena *a,
             struct err *err);
/* Returns the name of a built-in data sheet: "h200" for "NVIDIA H200". NULL if there is none. */
const char *gpu_for_device(const char *device_name, struct arena *a);
/* Like gpu_for_device(), but returns `device_name` instead of NULL. */
const char *gpu_name_of(const char *device_name, struct arena *a);

/* Returns the least time of any implementation: the time to move min_bytes, or to do the arithmetic
 * on the fastest unit, whichever is longer. If min_bytes fit into the L2, they move at the L2's
 * bandwidth. Otherwise they move at DRAM's bandwidth. Then up to l2_bytes of the `written` bytes do
 * not count: they may reach DRAM after the kernel's end. */
double gpu_floor_ns(const struct job_gpu *g, double flops, double min_bytes, double written,
                    enum dtype operand);
/* Returns the least time for the roofline. All bytes move at the rate of DRAM, because each timed
 * call begins with a flushed L2. *limit becomes "DRAM" or "arithmetic". */
double gpu_roofline_ns(const struct job_gpu *g, double flops, double bytes, enum dtype operand,
                       const char **limit);

#endif
