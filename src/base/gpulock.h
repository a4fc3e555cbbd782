/*
 * gpulock.h - allows one evaluation at a time on a GPU: two at once would disturb each other's
 * times.
 *
 *     int fd = gpu_lock(0);          GPU_BUSY: another process measures there; try again later
 *     ...
 *     gpu_unlock(fd);                the end of the process unlocks too
 *
 * Each GPU has a lock file in /tmp, or in HONE_GPU_LOCK_DIR for tests. If the file cannot be opened
 * or locked, gpu_lock returns GPU_NO_LOCK, and the caller goes on without a lock.
 */
#ifndef BASE_GPULOCK_H
#define BASE_GPULOCK_H

enum { GPU_BUSY = -1, GPU_NO_LOCK = -2 };

/* Returns a descriptor for gpu_unlock(), GPU_BUSY or GPU_NO_LOCK. Never waits. `ordinal` is CUDA's
 * number of the GPU, which counts only the GPUs of CUDA_VISIBLE_DEVICES. */
int gpu_lock(int ordinal);
/* Like gpu_lock(), for a worker that runs the emulator in place of GPU `ordinal` (--pretend-gpu).
 * Such workers take turns if they have the same number. */
int pretend_gpu_lock(int ordinal);
void gpu_unlock(int fd); /* takes any value that gpu_lock returned */

#endif
