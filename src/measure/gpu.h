/*
 * gpu.h - reads data sheets of GPUs (gpus/NAME.json). The cost model and the physical floor are
 * computed from data sheets.
 *
 *     struct job_gpu g;
 *     if (gpu_load("h200", &g, NULL, &arena, err) < 0) ...
 */
#ifndef MEASURE_GPU_H
#define MEASURE_GPU_H

#include "base/arena.h"
#include "base/err.h"
#include "job/job.h"

/* `name` is a built-in name or the path of a JSON file. *arch gets e.g. "sm_90a"; `arch` may be
 * NULL. */
int gpu_load(const char *name, struct job_gpu *out, const char **arch, struct arena *a,
             struct err *err);
/* Returns the name of the built-in data sheet that matches a device's own name ("h200" for "NVIDIA
 * H200"), or NULL if none does. */
const char *gpu_for_device(const char *device_name, struct arena *a);
/* Returns the name of the device's built-in data sheet, or the device's own name if it has none. */
const char *gpu_name_of(const char *device_name, struct arena *a);

/* Returns the floor: the least time that any implementation needs. One limit is the time to move
 * the unavoidable bytes at peak bandwidth. The other is the time of the unavoidable arithmetic on
 * the fastest unit for operands of this type. The floor is the longer time. If all bytes fit into
 * the L2, the bandwidth is that of the L2, else that of DRAM. Written bytes may reach DRAM after
 * the kernel's end. So with the bandwidth of DRAM, the floor leaves out the `written` bytes, but at
 * most as many bytes as the L2 holds. */
double gpu_floor_ns(const struct job_gpu *g, double flops, double min_bytes, double written,
                    enum dtype operand);
/* Returns the least time that a kernel needs at the GPU's rates, for the roofline. All bytes count
 * at the rate of DRAM, even if they fit into the L2. The reason is that each timed call begins with
 * a flushed L2, so the first read of a byte comes from DRAM. *limit gets the name of the rate that
 * decides: "DRAM" or "arithmetic". */
double gpu_roofline_ns(const struct job_gpu *g, double flops, double bytes, enum dtype operand,
                       const char **limit);

#endif
