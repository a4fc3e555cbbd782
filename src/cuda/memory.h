/*
 * memory.h - device memory, pinned host memory, and copies between them.
 *
 *     cu_ptr dev;
 *     float *host;
 *     if (cu_mem_alloc(cu, n * 4, &dev, err) < 0 ||
 *         cu_pinned_alloc(cu, n * 4, (void **)&host, err) < 0 ||
 *         cu_copy_to_device(cu, dev, host, n * 4, stream, err) < 0)
 *         return -1;
 *     ...
 *     cu_pinned_free(cu, host);
 *     cu_mem_free(cu, dev);
 *
 * Copies, cu_mem_fill() and cu_mem_set() return before the stream has done them. Until then the
 * caller must not change the host's memory (stream.h). Copies from and to pinned memory run at the
 * same time as kernels. A call that copies from or to other host memory may wait until the copy is
 * done.
 */
#ifndef CUDA_MEMORY_H
#define CUDA_MEMORY_H

#include "cuda/driver.h"

/* Fails with -CU_OUT_OF_MEMORY when the GPU has no room. */
int cu_mem_alloc(const struct cu_driver *cu, size_t bytes, cu_ptr *out, struct err *err);
/* Waits until the GPU no longer uses the memory. */
void cu_mem_free(const struct cu_driver *cu, cu_ptr p);

int cu_pinned_alloc(const struct cu_driver *cu, size_t bytes, void **out, struct err *err);
void cu_pinned_free(const struct cu_driver *cu, void *p);
/* Gets the address at which kernels read and write pinned memory in place. */
int cu_pinned_address(const struct cu_driver *cu, void *p, cu_ptr *out, struct err *err);

int cu_copy_to_device(const struct cu_driver *cu, cu_ptr dst, const void *src, size_t bytes,
                      cu_stream s, struct err *err);
int cu_copy_to_host(const struct cu_driver *cu, void *dst, cu_ptr src, size_t bytes, cu_stream s,
                    struct err *err);
int cu_copy_on_device(const struct cu_driver *cu, cu_ptr dst, cu_ptr src, size_t bytes, cu_stream s,
                      struct err *err);
/* Fills memory with `value`, which has `width` bytes (1, 2 or 4). The address and `bytes` must be
 * multiples of `width`. */
int cu_mem_fill(const struct cu_driver *cu, cu_ptr dst, uint32_t value, uint32_t width,
                size_t bytes, cu_stream s, struct err *err);
int cu_mem_set(const struct cu_driver *cu, cu_ptr dst, uint8_t byte, size_t bytes, cu_stream s,
               struct err *err);

/* Makes a handle with which another process can map the allocation that starts at `p`. */
int cu_mem_share(const struct cu_driver *cu, cu_ptr p, struct cu_ipc_handle *out, struct err *err);

#endif
