/* devices.c - opens a device by its name, and sets its options. See devices.h. */
#include "gnn/gpu/devices.h"

#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "cuda/stream.h"
#include "gnn/gpu/gpu.h"
#include "gnn/gpu/gpu_device.h"
#include "gnn/ops/cpu.h"

int gnn_device_open(struct gnn_device **out, const char *name, int threads, struct err *err)
{
    char *end;
    if (!name || str_eq(name, "cpu")) {
        *out = gnn_cpu_open(threads, GNN_REAL_F32);
        return 0;
    }
    if (str_eq(name, "emulator"))
        return gnn_gpu_open(out, GNN_EMULATOR, 0, err);
    if (str_eq(name, "cuda"))
        return gnn_gpu_open(out, GNN_CUDA, 0, err);
    if (strncmp(name, "cuda:", 5) == 0 && name[5] >= '0' && name[5] <= '9') {
        long ordinal = strtol(name + 5, &end, 10);
        if (*end == '\0' && ordinal < 1024)
            return gnn_gpu_open(out, GNN_CUDA, (int)ordinal, err);
    }
    return err_set(err, ERR_USAGE, "there is no device '%s': cpu, cuda, cuda:N or emulator", name);
}

int gnn_device_precision(struct gnn_device *d, const char *precision, struct err *err)
{
    enum gpu_precision p = GPU_FP32;
    if (precision && str_eq(precision, "tf32"))
        p = GPU_TF32;
    else if (precision && str_eq(precision, "fp16"))
        p = GPU_FP16;
    else if (precision && !str_eq(precision, "fp32"))
        return err_set(err, ERR_USAGE, "--precision is fp32, tf32 or fp16, not '%.40s'", precision);
    if (!str_eq(d->ops->name, "cpu")) {
        gpu_of(d)->precision = p;
        return 0;
    }
    if (p == GPU_TF32)
        return err_set(err, ERR_USAGE, "--precision tf32 needs --device cuda");
    gnn_cpu_half(d, p == GPU_FP16);
    return 0;
}

int gnn_device_products(struct gnn_device *d, const char *products, struct err *err)
{
    bool mma = products && str_eq(products, "mma");
    if (products && !mma && !str_eq(products, "wgmma"))
        return err_set(err, ERR_USAGE, "--products is mma or wgmma, not '%.40s'", products);
    if (!str_eq(d->ops->name, "cpu"))
        gpu_of(d)->wgmma = !mma;
    else if (products)
        return err_set(err, ERR_USAGE, "--products needs --device cuda");
    return 0;
}

int gnn_device_profile(struct gnn_device *d, struct err *err)
{
    if (str_eq(d->ops->name, "cpu"))
        return err_set(err, ERR_USAGE, "--profile needs --device cuda");
    struct gpu_device *g = gpu_of(d);
    if (cu_event_create(g->cu, &g->profile_begin, err) < 0 ||
        cu_event_create(g->cu, &g->profile_end, err) < 0)
        return -1;
#define X(kernel) g->profile[GPU_##kernel].name = #kernel;
    GPU_KERNELS(X)
#undef X
    g->profiled = true;
    return 0;
}

int gnn_device_kernel_times(const struct gnn_device *d, const struct gnn_kernel_time **out)
{
    if (str_eq(d->ops->name, "cpu") || !((const struct gpu_device *)d)->profiled)
        return 0;
    *out = ((const struct gpu_device *)d)->profile;
    return GPU_KERNEL_COUNT;
}
