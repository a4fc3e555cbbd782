/*
 * gpu_kernels.c - queues the exported kernels, each with the workspace that it needs.
 */
#include "gnn/gpu/gpu_device.h"

#define X(name)                                                                            \
    void gpu_run_##name(struct gpu_device *d, struct gnn_##name##_args a)                  \
    {                                                                                      \
        size_t bytes = 0;                                                                  \
        if (d->failed)                                                                     \
            return;                                                                        \
        if (gnn_##name##_workspace(&a, &bytes) != 0) {                                     \
            gpu_fail(d, "%s", gnn_##name##_error());                                       \
            return;                                                                        \
        }                                                                                  \
        a.workspace = gpu_workspace(d, bytes);                                             \
        a.workspace_bytes = bytes;                                                         \
        if (!d->failed && gnn_##name##_run(&d->kernel.name, &a, (CUstream)d->stream) != 0) \
            gpu_fail(d, "%s", gnn_##name##_error());                                       \
    }
GPU_KERNELS(X)
#undef X
