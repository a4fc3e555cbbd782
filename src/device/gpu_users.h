/*
 * gpu_users.h - finds out whether processes that are not Hone's use a worker's GPU. If they do, a
 * worker waits, because it and the other processes would slow each other down.
 *
 *     struct gpu_users u;
 *     gpu_users_open(&u, 1, false);
 *     if (gpu_users_find(&u, text, sizeof text)) ...        "process 4711 (python3)"
 *     gpu_users_close(&u);
 *
 * Call gpu_users_find() while you hold the GPU's lock: then no other process of Hone uses the GPU.
 * The driver's NVML tells which processes have a CUDA context. Without NVML, gpu_users_find() finds
 * nobody. HONE_SHARE_GPU=1 turns the check off.
 */
#ifndef DEVICE_GPU_USERS_H
#define DEVICE_GPU_USERS_H

#include <stdbool.h>
#include <stddef.h>

struct gpu_users {
    struct nvml *nvml;
};

/* `gpu` is CUDA's number of the GPU; -1 = the worker was given no GPU. `pretend` is true for
 * `hone-worker --pretend-gpu N`: there is no GPU, and we ask NVML about the address "pretend:N",
 * which only the fake NVML of the tests knows. */
void gpu_users_open(struct gpu_users *u, int gpu, bool pretend);
/* Returns whether another process uses the GPU, and writes its number and name to `out`. */
bool gpu_users_find(struct gpu_users *u, char *out, size_t size);
void gpu_users_close(struct gpu_users *u);

#endif
