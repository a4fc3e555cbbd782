/*
 * gpu.h - a GPU, or the emulator in its place, as a device of gnn/ops/ops.h.
 *
 *     struct gnn_device *d;
 *     if (gnn_gpu_open(&d, GNN_CUDA, 0, err) < 0) ...
 *     d->ops->close(d);
 *
 * Every operation is a kernel of kernels/gnn/ that `hone eval` accepts. `hone export` has written C
 * code that loads and launches the kernel. This code is the same for a GPU and for the emulator. It
 * calls the functions in a `struct cu_driver`: those of libcuda, or those of emu/driver.h. The
 * device works in the order of the calls. Only the sampling of batches (gpu_store.h) and the
 * operation `transpose` run beside the other work, on streams of their own.
 */
#ifndef GNN_GPU_GPU_H
#define GNN_GPU_GPU_H

#include "gnn/ops/ops.h"

enum gnn_gpu_kind { GNN_CUDA, GNN_EMULATOR };

/* Opens GPU number `ordinal`, or the emulator. */
int gnn_gpu_open(struct gnn_device **out, enum gnn_gpu_kind kind, int ordinal, struct err *err);

#endif
