/*
 * gpu_users.h - finds processes that are not Hone's on a worker's GPU. The worker waits until they
 * are gone, because they and Hone's kernels would slow each other down.
 *
 *     struct gpu_users u;
 *     gpu_users_open(&u, 1, false);
 *     if (gpu_users_find(&u, text, sizeof text)) ...        "process 4711 (python3)"
 *     gpu_users_close(&u);
 *
 * Call gpu_users_find() while you hold the GPU's lock: then no other process of Hone uses the GPU.
 * Without NVML, and with HONE_SHARE_GPU=1, gpu_users_find() finds no process.
 */
#ifndef DEVICE_GPU_USERS_H
#define DEVICE_GPU_USERS_H

#include <stdbool.h>
#include <stddef.h>

struct gpu_users {
    struct nvml *nvml;
};

/* `gpu` is CUDA's number of the GPU; -1 = the worker was given none. `pretend` is true for
 * `hone-worker --pretend-gpu N`: then we ask NVML about the address "pretend:N", which only the
 * fake NVML of the tests knows. */
void gpu_users_open(struct gpu_users *u, int gpu, bool pretend);
/* Looks for another process that uses the GPU. If there is one, writes its number and name to `out`
 * and returns true. */
bool gpu_users_find(struct gpu_users *u, char *out, size_t size);
void gpu_users_close(struct gpu_users *u);

#endif
