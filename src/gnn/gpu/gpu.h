/*
 * gpu.h - a GPU, or the emulator in its place, as a device of gnn/ops/ops.h.
 *
 *     struct gnn_device *d;
 *     if (gnn_gpu_open(&d, GNN_CUDA, 0, err) < 0) ...
 *     d->ops->close(d);
 *
 * Every operation is a kernel of kernels/gnn/. `hone export` wrote the C code that launches the
 * kernel. This code calls a `struct cu_driver`, which is libcuda or the emulator. The device works
 * in the order of the calls. Only the sampling of batches (gpu_store.h) and `transpose` run beside
 * the other work, on streams of their own.
 */
#ifndef GNN_GPU_GPU_H
#define GNN_GPU_GPU_H

#include "gnn/ops/ops.h"

enum gnn_gpu_kind { GNN_CUDA, GNN_EMULATOR };

int gnn_gpu_open(struct gnn_device **out, enum gnn_gpu_kind kind, int ordinal, struct err *err);

#endif
