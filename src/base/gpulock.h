/*
 * gpulock.h - one evaluation at a time on a GPU, whoever runs it: two that overlap time each other.
 *
 *     int fd = gpu_lock(0);          GPU_BUSY: another process measures there; try again later
 *     ...
 *     gpu_unlock(fd);                also by the holder's death
 *
 * A lock file in /tmp per GPU. Where it cannot be made (no /tmp, another user's file) nothing is
 * locked: gpu_lock then returns GPU_NO_LOCK, which is no reason to stop.
 */
#ifndef BASE_GPULOCK_H
#define BASE_GPULOCK_H

enum { GPU_BUSY = -1, GPU_NO_LOCK = -2 };

/* Never waits. `ordinal` is CUDA's, as CUDA_VISIBLE_DEVICES numbers them. */
int gpu_lock(int ordinal);
void gpu_unlock(int fd); /* takes what gpu_lock returned, whatever it was */

#endif
