/*
 * gpu_memory.c - memory of a GPU device, copies, and the arrays of a batch.
 *
 * Arrays of a batch lie one behind the other in a few chunks. sync() marks all of them as unused.
 * If a batch needed several chunks, the next one gets a single chunk of their sizes together, so
 * after the largest batch there are no allocations.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/util.h"
#include "cuda/memory.h"
#include "cuda/stream.h"
#include "gnn/gpu/gpu_device.h"

enum { ARRAY_ALIGN = 256, FIRST_CHUNK = 1 << 20 };

void gpu_fail(struct gpu_device *d, const char *fmt, ...)
{
    char text[480];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    if (!d->failed)
        err_set(&d->err, ERR_ENV, "%s", text);
    d->failed = true;
}

void gpu_note(struct gpu_device *d, int rc, const struct err *err)
{
    if (rc < 0 && !d->failed) {
        d->err = *err;
        d->failed = true;
    }
}

static cu_ptr allocate(struct gpu_device *d, size_t bytes)
{
    struct err err = ERR_INIT;
    cu_ptr p = 0;
    if (d->failed)
        return 0;
    int rc = cu_mem_alloc(d->cu, MAX(bytes, ARRAY_ALIGN), &p, &err);
    if (rc < 0)
        gpu_fail(d, "%zu MiB for a matrix: %s; choose a smaller batch or hidden width", bytes >> 20,
                 err.msg);
    return rc < 0 ? 0 : p;
}

void *gpu_alloc(struct gnn_device *dev, size_t bytes)
{
    return pointer_to(allocate(gpu_of(dev), bytes));
}

void gpu_release(struct gnn_device *dev, void *p)
{
    if (p)
        cu_mem_free(gpu_of(dev)->cu, address_of(p));
}

void gpu_set(struct gpu_device *d, void *p, uint8_t byte, size_t bytes)
{
    struct err err = ERR_INIT;
    if (bytes && !d->failed)
        gpu_note(d, cu_mem_set(d->cu, address_of(p), byte, bytes, d->stream, &err), &err);
}

void gpu_zero(struct gnn_device *dev, void *p, size_t bytes)
{
    gpu_set(gpu_of(dev), p, 0, bytes);
}

void gpu_upload(struct gnn_device *dev, void *to, const void *from, size_t bytes)
{
    struct gpu_device *d = gpu_of(dev);
    struct err err = ERR_INIT;
    if (bytes && !d->failed)
        gpu_note(d, cu_copy_to_device(d->cu, address_of(to), from, bytes, d->stream, &err), &err);
}

void gpu_download(struct gnn_device *dev, void *to, const void *from, size_t bytes)
{
    struct gpu_device *d = gpu_of(dev);
    struct err err = ERR_INIT;
    if (!bytes)
        return;
    if (!d->failed)
        gpu_note(d, cu_copy_to_host(d->cu, to, address_of(from), bytes, d->stream, &err), &err);
    if (!d->failed)
        gpu_note(d, cu_stream_sync(d->cu, d->stream, &err), &err);
    if (d->failed) /* the caller learns of the failure at the next sync() */
        memset(to, 0, bytes);
}

void gpu_copy(struct gpu_device *d, void *to, const void *from, size_t bytes)
{
    struct err err = ERR_INIT;
    if (bytes && to != from && !d->failed)
        gpu_note(d,
                 cu_copy_on_device(d->cu, address_of(to), address_of(from), bytes, d->stream, &err),
                 &err);
}

void *gpu_workspace(struct gpu_device *d, size_t bytes)
{
    if (bytes > d->workspace_bytes) {
        if (d->workspace)
            cu_mem_free(d->cu, d->workspace);
        d->workspace_bytes = bytes + bytes / 8;
        d->workspace = allocate(d, d->workspace_bytes);
        if (!d->workspace)
            d->workspace_bytes = 0;
    }
    return bytes ? pointer_to(d->workspace) : NULL;
}

static struct gpu_chunk *new_chunk(struct gpu_device *d, size_t need)
{
    size_t bytes = MAX(MAX(need, d->batch_bytes), (size_t)FIRST_CHUNK);
    cu_ptr p = allocate(d, bytes);
    if (!p)
        return NULL;
    struct gpu_chunk *c = vec_push(&d->batch);
    *c = (struct gpu_chunk){p, bytes, 0};
    return c;
}

void *gpu_batch_room(struct gpu_device *d, size_t bytes)
{
    size_t need = (MAX(bytes, (size_t)1) + ARRAY_ALIGN - 1) / ARRAY_ALIGN * ARRAY_ALIGN;
    struct gpu_chunk *c = d->batch.n ? &d->batch.items[d->batch.n - 1] : NULL;
    if (!c || c->bytes - c->used < need)
        c = new_chunk(d, need);
    if (!c)
        return NULL;
    c->used += need;
    return pointer_to(c->at + c->used - need);
}

static void free_chunks(struct gpu_device *d)
{
    for (size_t i = 0; i < d->batch.n; i++)
        cu_mem_free(d->cu, d->batch.items[i].at);
    d->batch.n = 0;
}

static void end_batch(struct gpu_device *d)
{
    size_t all = 0;
    for (size_t i = 0; i < d->batch.n; i++)
        all += d->batch.items[i].bytes;
    if (d->batch.n > 1) {
        d->batch_bytes = all;
        free_chunks(d);
    } else if (d->batch.n == 1) {
        d->batch.items[0].used = 0;
    }
}

const void *gpu_array(struct gnn_device *dev, const void *host, size_t bytes)
{
    void *p = gpu_batch_room(gpu_of(dev), bytes);
    gpu_upload(dev, p, host, bytes);
    return p;
}

int gpu_sync(struct gnn_device *dev, struct err *err)
{
    struct gpu_device *d = gpu_of(dev);
    struct err own = ERR_INIT;
    if (!d->failed)
        gpu_note(d, cu_stream_sync(d->cu, d->stream, &own), &own);
    end_batch(d);
    if (d->pending_loss) {
        const double *sums = d->sums.host;
        *d->pending_loss = (struct gnn_loss){0};
        if (!d->failed)
            *d->pending_loss = (struct gnn_loss){sums[0], (int64_t)sums[1], (int64_t)sums[2]};
        d->pending_loss = NULL;
    }
    if (!d->failed)
        return 0;
    if (err)
        *err = d->err;
    return -1;
}

void gpu_memory_close(struct gpu_device *d)
{
    free_chunks(d);
    vec_release(&d->batch);
    if (d->workspace)
        cu_mem_free(d->cu, d->workspace);
}
