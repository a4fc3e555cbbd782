/*
 * gpulock.h - allows one evaluation at a time on a GPU: two at once would disturb each other's
 * times.
 *
 *     int fd = gpu_lock(0);          GPU_BUSY: another process measures there; try again later
 *     ...
 *     gpu_unlock(fd);                the end of the process unlocks too
 *
 * Each GPU has a lock file in /tmp, or in HONE_GPU_LOCK_DIR for tests. If gpu_lock cannot open or
 * lock the file (for example because /tmp is missing), it returns GPU_NO_LOCK, and the caller goes
 * on without a lock.
 */
#ifndef BASE_GPULOCK_H
#define BASE_GPULOCK_H

enum { GPU_BUSY = -1, GPU_NO_LOCK = -2 };

/* Returns a descriptor for gpu_unlock(), GPU_BUSY or GPU_NO_LOCK. Never waits. `ordinal` is CUDA's
 * number of the GPU. CUDA counts only the GPUs that CUDA_VISIBLE_DEVICES names. */
int gpu_lock(int ordinal);
/* Like gpu_lock(), but locks an emulated GPU. The emulator can emulate several GPUs; `ordinal` is
 * the number of one of them. */
int pretend_gpu_lock(int ordinal);
void gpu_unlock(int fd); /* takes any value that gpu_lock returned */

#endif
