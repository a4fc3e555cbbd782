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
    int n, rc;
    if (cu_device_count(d->cu, &n, err) < 0)
        return -1;
    if (ordinal >= n)
        return err_set(err, ERR_ENV, "there is no GPU %d here: %d GPU%s", ordinal, n,
                       n == 1 ? "" : "s");
    rc = cu_device_get(d->cu, ordinal, &d->gpu, err);
    if (rc == 0)
        rc = cu_context_open(d->cu, d->gpu, 0, &d->context, err);
    d->has_context = rc == 0;
    return rc == 0 && cu_stream_create(d->cu, &d->compute.stream, err) == 0 &&
                   cu_stream_create_urgent(d->cu, &d->sample.stream, err) == 0 &&
                   cu_stream_create_urgent(d->cu, &d->turn_hops.stream, err) == 0 &&
                   cu_event_create(d->cu, &d->hops_ready, err) == 0 &&
                   cu_event_create(d->cu, &d->hops_turned, err) == 0
               ? 0
               : -1;
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

static int open_steps(struct gpu_device *d, struct err *err)
{
    for (int i = 0; i < GNN_STEPS_AHEAD; i++) {
        struct gpu_step *s = &d->step[i];
        size_t sums = 0, adam = 0;
        if (cu_event_create(d->cu, &s->done, err) < 0)
            return -1;
        if (!gpu_mail_room(d, &s->sums, &sums, 3 * sizeof(double)) ||
            !gpu_mail_room(d, &s->adam, &adam, 5 * sizeof(float))) {
            *err = d->err;
            return -1;
        }
    }
    return 0;
}

static void close_steps(struct gpu_device *d)
{
    for (int i = 0; i < GNN_STEPS_AHEAD; i++) {
        struct gpu_step *s = &d->step[i];
        if (s->done)
            cu_event_destroy(d->cu, s->done);
        gpu_mail_close(d, &s->sums);
        gpu_mail_close(d, &s->adam);
        gpu_mail_close(d, &s->best);
    }
}

int gnn_gpu_open(struct gnn_device **out, enum gnn_gpu_kind kind, int ordinal, struct err *err)
{
    struct gpu_device *d = xcalloc(1, sizeof *d);
    char name[96] = "";
    d->is_emulator = kind == GNN_EMULATOR;
    d->lane = &d->compute;
    d->wgmma = true;
    d->base.ops = d->is_emulator ? &gpu_ops_emulator : &gpu_ops_cuda;
    if (open_driver(d, err) < 0 || open_context(d, ordinal, err) < 0 || load_kernels(d, err) < 0 ||
        open_steps(d, err) < 0) {
        gpu_close(&d->base);
        return -1;
    }
    (void)cu_device_name(d->cu, d->gpu, name, sizeof name, NULL);
    snprintf(d->products, sizeof d->products, "Hone's kernels on %s%s",
             d->is_emulator ? "the " : "", name);
    snprintf(d->products_wgmma, sizeof d->products_wgmma, "%s, WGMMA", d->products);
    *out = &d->base;
    return 0;
}

void gpu_close(struct gnn_device *dev)
{
    struct gpu_device *d = gpu_of(dev);
    if (d->has_context) {
        gpu_memory_close(d);
        close_steps(d);
        if (d->profile_begin)
            cu_event_destroy(d->cu, d->profile_begin);
        if (d->profile_end)
            cu_event_destroy(d->cu, d->profile_end);
#define X(name)                \
    if (d->kernel.name.module) \
        gnn_##name##_unload(&d->kernel.name);
        GPU_KERNELS(X)
#undef X
        if (d->compute.stream)
            cu_stream_destroy(d->cu, d->compute.stream);
        if (d->sample.stream)
            cu_stream_destroy(d->cu, d->sample.stream);
        if (d->turn_hops.stream)
            cu_stream_destroy(d->cu, d->turn_hops.stream);
        if (d->hops_ready)
            cu_event_destroy(d->cu, d->hops_ready);
        if (d->hops_turned)
            cu_event_destroy(d->cu, d->hops_turned);
        cu_context_close(d->cu, d->gpu);
    }
    if (d->is_emulator && d->cu)
        emu_driver_close();
    free(d);
}

const char *gpu_products(const struct gnn_device *dev)
{
    const struct gpu_device *d = (const struct gpu_device *)dev;
    return d->wgmma ? d->products_wgmma : d->products;
}
