/*
 * context.h - the GPUs of this machine, what they can do, and contexts on them.
 *
 *     cu_device dev;
 *     cu_context ctx;
 *     if (cu_device_get(cu, 0, &dev, err) < 0 || cu_context_open(cu, dev, 0, &ctx, err) < 0)
 *         return -1;
 *     ...                                  other threads call cu_context_use(cu, ctx, err) first
 *     cu_context_close(cu, dev);
 *
 * A context here is always the GPU's primary context, which CUDA libraries in the same process
 * share. After a kernel has faulted, every call in the context fails: only a new process can use
 * the GPU again.
 */
#ifndef CUDA_CONTEXT_H
#define CUDA_CONTEXT_H

#include "cuda/driver.h"

/* Counts the GPUs. The environment variable CUDA_VISIBLE_DEVICES may hide some. */
int cu_device_count(const struct cu_driver *cu, int *n, struct err *err);
/* Finds the GPU with this number, counted from 0. */
int cu_device_get(const struct cu_driver *cu, int ordinal, cu_device *out, struct err *err);
/* Gets the GPU's name, such as "NVIDIA H200", cut to `size` bytes. */
int cu_device_name(const struct cu_driver *cu, cu_device dev, char *buf, size_t size,
                   struct err *err);
/* Gets one attribute of the GPU (CU_ATTR_...), such as the number of SMs or the bytes of L2. */
int cu_device_attribute(const struct cu_driver *cu, cu_device dev, int which, int *out,
                        struct err *err);
/* Gets the size of the GPU's whole memory, whether it is in use or not. */
int cu_device_memory(const struct cu_driver *cu, cu_device dev, size_t *bytes, struct err *err);
/* Gets the GPU's PCI address, such as "0000:3b:00.0", for nvml_open(). */
int cu_device_pci_id(const struct cu_driver *cu, cu_device dev, char *buf, size_t size,
                     struct err *err);

/* Opens the context and makes it current for the calling thread. `flags` (CU_CTX_...) take effect
 * only if nobody in this process has opened the context before. */
int cu_context_open(const struct cu_driver *cu, cu_device dev, unsigned flags, cu_context *out,
                    struct err *err);
/* Gives the context back. If nobody else in the process uses the context, the driver destroys it
 * and frees its memory and modules. */
void cu_context_close(const struct cu_driver *cu, cu_device dev);
/* Makes the context current for the calling thread. */
int cu_context_use(const struct cu_driver *cu, cu_context ctx, struct err *err);
/* Sets one limit (CU_LIMIT_...) of the current context. */
int cu_context_limit(const struct cu_driver *cu, int which, size_t value, struct err *err);

/* Lets the L2 evict again the lines that kernels asked it to keep (persisting lines). */
int cu_l2_reset_persisting(const struct cu_driver *cu, struct err *err);

/* Tells a profiler that watches this process to start or to stop collecting. */
void cu_profiler_start(const struct cu_driver *cu);
void cu_profiler_stop(const struct cu_driver *cu);

#endif
