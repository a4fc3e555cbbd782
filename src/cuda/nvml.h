/*
 * nvml.h - NVIDIA's management library, opened at run time: the clocks of a GPU, and who uses it.
 *
 *     struct nvml *n = nvml_open("0000:3b:00.0");       cu_device_pci_id() gives the id
 *     nvml_read(n, &clock_mhz, &max_clock_mhz, &throttle);
 *     nvml_close(n);
 */
#ifndef CUDA_NVML_H
#define CUDA_NVML_H

#include <stdint.h>

struct nvml;

/* Returns NULL if the library is absent or does not know the GPU. */
struct nvml *nvml_open(const char *pci_bus_id);
void nvml_close(struct nvml *n);

/* Reads the SMs' present and highest clock. Sets bits in *throttle, NVML's reasons why the clock is
 * low; bits that were set stay set. A value that NVML does not know stays as it is. If n is NULL,
 * all values stay as they are. */
void nvml_read(struct nvml *n, double *clock_mhz, double *max_clock_mhz, uint64_t *throttle);

/* Lists up to `max` processes that have a CUDA context on the GPU. Returns how many, or 0 if NVML
 * cannot tell. For more than 256 processes it lists a single one, with the number 0. It leaves out
 * processes in a slice of the GPU (MIG): they disturb other slices little, and NVML does not say
 * which slice is ours. */
unsigned nvml_processes(struct nvml *n, unsigned *pids, unsigned max);

#endif
