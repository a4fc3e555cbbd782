/*
 * devices.h - opens a device by its name on the command line.
 *
 *     struct gnn_device *d;
 *     if (gnn_device_open(&d, "cuda:1", threads, err) < 0) ...
 *
 * Names: "cpu" (NULL means the same), "cuda" or "cuda:N" for GPU N, and "emulator". The emulator is
 * for tests. It is slow, and also looks for races and for reads of memory that nobody wrote.
 */
#ifndef GNN_GPU_DEVICES_H
#define GNN_GPU_DEVICES_H

#include "gnn/gpu/kernel_time.h"
#include "gnn/ops/ops.h"

/* Only the CPU uses `threads`. Close the device with d->ops->close(d). */
int gnn_device_open(struct gnn_device **out, const char *name, int threads, struct err *err);

/* Sets the precision of products: "fp32" (NULL means the same), "fp16" or, on a GPU, "tf32". */
int gnn_device_precision(struct gnn_device *d, const char *precision, struct err *err);

/* Sets the tensor core instructions for products on a GPU: "wgmma" (NULL means the same) or
 * "mma". */
int gnn_device_products(struct gnn_device *d, const char *products, struct err *err);

/* Measures the times of a GPU's kernels from now on. The kernels then run one by one, so a run
 * takes longer. */
int gnn_device_profile(struct gnn_device *d, struct err *err);
/* Sets *out to the times, one entry for each kernel. Returns how many there are: 0 if
 * gnn_device_profile() was not called. */
int gnn_device_kernel_times(const struct gnn_device *d, const struct gnn_kernel_time **out);

#endif
