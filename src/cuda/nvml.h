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

/* Reads the SM clocks into *clock_mhz and *max_clock_mhz, and adds the reasons why they are low to
 * *throttle. If NVML does not know a value, that value stays as it is. If n is NULL, all three stay
 * as they are. */
void nvml_read(struct nvml *n, double *clock_mhz, double *max_clock_mhz, uint64_t *throttle);

/* Lists up to `max` processes that have a CUDA context on the GPU. Returns how many it listed, or 0
 * if NVML does not list them. Leaves out processes in a slice of the GPU (MIG): they disturb others
 * little, and NVML does not say which slice is ours. */
unsigned nvml_processes(struct nvml *n, unsigned *pids, unsigned max);

#endif
