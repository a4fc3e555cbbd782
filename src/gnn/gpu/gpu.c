/*
 * gpu.c - opens and closes a GPU device: the driver, the context, the stream, the kernels.
 */
#include "gnn/gpu/gpu.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/util.h"
#include "cuda/context.h"
#include "cuda/memory.h"
#include "cuda/stream.h"
#include "emu/driver.h"
#include "gnn/gpu/gpu_device.h"

static int open_driver(struct gpu_device *d, struct err *err)
{
    if (!d->is_emulator) {
        d->cu = cu_driver_load(err);
        return d->cu ? 0 : -1;
    }
    if (emu_driver_open(&d->emulated, true, err) < 0)
        return -1;
    d->cu = &d->emulated;
    return 0;
}

static int open_context(struct gpu_device *d, int ordinal, struct err *err)
{
    cu_context context;
    int n, rc;
    if (cu_device_count(d->cu, &n, err) < 0)
        return -1;
    if (ordinal >= n)
        return err_set(err, ERR_ENV, "there is no GPU %d here: %d GPU%s", ordinal, n,
                       n == 1 ? "" : "s");
    rc = cu_device_get(d->cu, ordinal, &d->gpu, err);
    if (rc == 0)
        rc = cu_context_open(d->cu, d->gpu, 0, &context, err);
    d->has_context = rc == 0;
    return rc == 0 && cu_stream_create(d->cu, &d->stream, err) == 0 ? 0 : -1;
}

static void *symbol(void *ctx, const char *name)
{
    return cu_driver_symbol(ctx, name);
}

static int load_kernels(struct gpu_device *d, struct err *err)
{
#define X(name)                                                              \
    if (gnn_##name##_load_from(&d->kernel.name, symbol, (void *)d->cu) != 0) \
        return err_set(err, ERR_ENV, "%s", gnn_##name##_error());
    GPU_KERNELS(X)
#undef X
    return 0;
}

static int open_mail(struct gpu_device *d, struct gpu_mail *m, size_t bytes, struct err *err)
{
    return cu_pinned_alloc(d->cu, bytes, &m->host, err) < 0 ||
                   cu_mem_alloc(d->cu, bytes, &m->at, err) < 0
               ? -1
               : 0;
}

static void close_mail(struct gpu_device *d, struct gpu_mail *m)
{
    if (m->host)
        cu_pinned_free(d->cu, m->host);
    if (m->at)
        cu_mem_free(d->cu, m->at);
}

int gnn_gpu_open(struct gnn_device **out, enum gnn_gpu_kind kind, int ordinal, struct err *err)
{
    struct gpu_device *d = xcalloc(1, sizeof *d);
    char name[96] = "";
    d->is_emulator = kind == GNN_EMULATOR;
    d->base.ops = d->is_emulator ? &gpu_ops_emulator : &gpu_ops_cuda;
    if (open_driver(d, err) < 0 || open_context(d, ordinal, err) < 0 || load_kernels(d, err) < 0 ||
        open_mail(d, &d->sums, 3 * sizeof(double), err) < 0 ||
        open_mail(d, &d->adam, 5 * sizeof(float), err) < 0) {
        gpu_close(&d->base);
        return -1;
    }
    (void)cu_device_name(d->cu, d->gpu, name, sizeof name, NULL);
    snprintf(d->products, sizeof d->products, "Hone's kernels on %s%s",
             d->is_emulator ? "the " : "", name);
    *out = &d->base;
    return 0;
}

void gpu_close(struct gnn_device *dev)
{
    struct gpu_device *d = gpu_of(dev);
    if (d->has_context) {
        gpu_memory_close(d);
        close_mail(d, &d->sums);
        close_mail(d, &d->adam);
#define X(name)                \
    if (d->kernel.name.module) \
        gnn_##name##_unload(&d->kernel.name);
        GPU_KERNELS(X)
#undef X
        if (d->stream)
            cu_stream_destroy(d->cu, d->stream);
        cu_context_close(d->cu, d->gpu);
    }
    if (d->is_emulator && d->cu)
        emu_driver_close();
    free(d);
}

const char *gpu_products(const struct gnn_device *dev)
{
    return ((const struct gpu_device *)dev)->products;
}
