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
 * A context here is always the GPU's primary context, which CUDA libraries in the process share.
 * After a kernel has faulted, every call in the context fails, and only a new process can use the
 * GPU.
 */
#ifndef CUDA_CONTEXT_H
#define CUDA_CONTEXT_H

#include "cuda/driver.h"

/* Sets *n to the number of GPUs that this process can use. CUDA_VISIBLE_DEVICES may hide some. */
int cu_device_count(const struct cu_driver *cu, int *n, struct err *err);
/* Finds the GPU number `ordinal`, counted from 0. */
int cu_device_get(const struct cu_driver *cu, int ordinal, cu_device *out, struct err *err);
/* Writes a name such as "NVIDIA H200", cut to `size` bytes. */
int cu_device_name(const struct cu_driver *cu, cu_device dev, char *buf, size_t size,
                   struct err *err);
/* Reads an attribute of a GPU, such as the number of SMs or the bytes of L2. `which` is
 * CU_ATTR_... */
int cu_device_attribute(const struct cu_driver *cu, cu_device dev, int which, int *out,
                        struct err *err);
/* Sets *bytes to the size of the GPU's whole memory, in use or not. */
int cu_device_memory(const struct cu_driver *cu, cu_device dev, size_t *bytes, struct err *err);
/* Writes the PCI address, such as "0000:3b:00.0", which nvml_open() needs. */
int cu_device_pci_id(const struct cu_driver *cu, cu_device dev, char *buf, size_t size,
                     struct err *err);

/* Opens the context and makes it current for the calling thread. `flags` (CU_CTX_...) take effect
 * only if nobody in this process has opened the context before. */
int cu_context_open(const struct cu_driver *cu, cu_device dev, unsigned flags, cu_context *out,
                    struct err *err);
/* The driver destroys the context, with its memory and modules, when nobody in the process uses it
 * any more. */
void cu_context_close(const struct cu_driver *cu, cu_device dev);
/* Makes the context current for the calling thread. */
int cu_context_use(const struct cu_driver *cu, cu_context ctx, struct err *err);
/* Sets a limit of the current context. `which` is CU_LIMIT_... */
int cu_context_limit(const struct cu_driver *cu, int which, size_t value, struct err *err);

/* Lets the L2 evict the lines that kernels asked it to keep. */
int cu_l2_reset_persisting(const struct cu_driver *cu, struct err *err);

/* These functions tell a profiler that watches this process to start or to stop collecting. */
void cu_profiler_start(const struct cu_driver *cu);
void cu_profiler_stop(const struct cu_driver *cu);

#endif
