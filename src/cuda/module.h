/*
 * module.h - loads compiled device code and finds its kernels and __device__ variables.
 *
 *     cu_module m;
 *     cu_function f;
 *     if (cu_module_load(cu, ptx, &m, err) < 0 || cu_module_function(cu, m, "add", &f, err) < 0)
 *         return -1;
 *     cu_function_set(cu, f, CU_FUNC_MAX_DYNAMIC_SMEM, 100 << 10, err);
 *     ...                                                               launch.h
 *     cu_module_unload(cu, m);
 */
#ifndef CUDA_MODULE_H
#define CUDA_MODULE_H

#include "cuda/driver.h"

/* `image` is a cubin, or PTX text that ends in a NUL byte. The driver copies it. */
int cu_module_load(const struct cu_driver *cu, const void *image, cu_module *out, struct err *err);
void cu_module_unload(const struct cu_driver *cu, cu_module m);

/* Finds a kernel by its name in the image. The kernel lives as long as the module. */
int cu_module_function(const struct cu_driver *cu, cu_module m, const char *name, cu_function *out,
                       struct err *err);
/* Finds a __device__ or __constant__ variable. */
int cu_module_global(const struct cu_driver *cu, cu_module m, const char *name, cu_ptr *out,
                     size_t *bytes, struct err *err);

/* Reads an attribute of a kernel, such as the number of registers of a thread. `which` is
 * CU_FUNC_... */
int cu_function_get(const struct cu_driver *cu, cu_function f, int which, int *out,
                    struct err *err);
/* Call it before a launch with more than 48 KB of dynamic shared memory (CU_FUNC_MAX_DYNAMIC_SMEM,
 * bytes) or with clusters of more than 8 blocks (CU_FUNC_NON_PORTABLE_CLUSTER, 1). */
int cu_function_set(const struct cu_driver *cu, cu_function f, int which, int value,
                    struct err *err);

#endif
