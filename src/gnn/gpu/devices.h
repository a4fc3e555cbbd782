/*
 * devices.h - opens a device by its name on the command line.
 *
 *     struct gnn_device *d;
 *     if (gnn_device_open(&d, "cuda:1", threads, err) < 0) ...
 *
 * Names: "cpu" (NULL means the same), "cuda" or "cuda:N" for GPU N, and "emulator", which runs the
 * GPU's kernels without a GPU, slowly and under the sanitizer, for tests.
 */
#ifndef GNN_GPU_DEVICES_H
#define GNN_GPU_DEVICES_H

#include "gnn/ops/ops.h"

/* `threads` is for the CPU. */
int gnn_device_open(struct gnn_device **out, const char *name, int threads, struct err *err);

#endif
