/*
 * gpu_kernels.c - queues the exported kernels (gpu.h), each with the workspace that it needs.
 */
#include "gnn/gpu/gpu_device.h"

#include "cuda/stream.h"

/* Call it after profile_begin() and one kernel. Waits for the kernel, and adds its time to
 * d->profile. */
static void profile_end(struct gpu_device *d, enum gpu_kernel which)
{
    struct err err = ERR_INIT;
    float ms = 0;
    if (!d->failed)
        gpu_note(d, cu_event_record(d->cu, d->profile_end, d->lane->stream, &err), &err);
    if (!d->failed)
        gpu_note(d, cu_event_sync(d->cu, d->profile_end, &err), &err);
    if (!d->failed)
        gpu_note(d, cu_event_elapsed_ms(d->cu, d->profile_begin, d->profile_end, &ms, &err), &err);
    d->profile[which].calls++;
    d->profile[which].ms += ms;
}

static void profile_begin(struct gpu_device *d)
{
    struct err err = ERR_INIT;
    gpu_note(d, cu_stream_sync(d->cu, d->compute.stream, &err), &err);
    if (!d->failed)
        gpu_note(d, cu_event_record(d->cu, d->profile_begin, d->lane->stream, &err), &err);
}

#define X(name)                                                                                  \
    void gpu_run_##name(struct gpu_device *d, struct gnn_##name##_args a)                        \
    {                                                                                            \
        size_t bytes = 0;                                                                        \
        if (d->failed)                                                                           \
            return;                                                                              \
        if (gnn_##name##_workspace(&a, &bytes) != 0) {                                           \
            gpu_fail(d, "%s", gnn_##name##_error());                                             \
            return;                                                                              \
        }                                                                                        \
        a.workspace = gpu_workspace(d, bytes);                                                   \
        a.workspace_bytes = bytes;                                                               \
        if (d->profiled && !d->failed)                                                           \
            profile_begin(d);                                                                    \
        if (!d->failed && gnn_##name##_run(&d->kernel.name, &a, (CUstream)d->lane->stream) != 0) \
            gpu_fail(d, "%s", gnn_##name##_error());                                             \
        if (d->profiled)                                                                         \
            profile_end(d, GPU_##name);                                                          \
    }
GPU_KERNELS(X)
#undef X
