/*
 * gpu_memory.c - allocates memory of a GPU device, copies data to and from it, and keeps the arrays
 * of a batch.
 *
 * Arrays of a batch lie in a few chunks, which the next batch may use after gpu_sync(). If a batch
 * needed several chunks, the next one gets a single chunk as large as all of them. So later batches
 * that are no larger allocate nothing.
 *
 * A batch that the GPU sampled, or that was copied ahead of its turn, has no arrays in chunks. For
 * these batches the device may run up to GNN_STEPS_AHEAD - 1 batches behind the caller. For others
 * gpu_end_step() waits until the device is done, because the next batch overwrites the chunks.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "cuda/memory.h"
#include "cuda/stream.h"
#include "gnn/gpu/gpu_device.h"

enum { ARRAY_ALIGN = 256, FIRST_CHUNK = 1 << 20 }; /* bytes */

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
        gpu_note(d, cu_mem_set(d->cu, address_of(p), byte, bytes, d->lane->stream, &err), &err);
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
        gpu_note(d, cu_copy_to_device(d->cu, address_of(to), from, bytes, d->lane->stream, &err),
                 &err);
}

void gpu_download(struct gnn_device *dev, void *to, const void *from, size_t bytes)
{
    struct gpu_device *d = gpu_of(dev);
    struct err err = ERR_INIT;
    if (!bytes)
        return;
    if (!d->failed)
        gpu_note(d, cu_copy_to_host(d->cu, to, address_of(from), bytes, d->lane->stream, &err),
                 &err);
    if (!d->failed)
        gpu_note(d, cu_stream_sync(d->cu, d->lane->stream, &err), &err);
    if (d->failed) /* the next gpu_sync() reports the failure */
        memset(to, 0, bytes);
}

void gpu_copy(struct gpu_device *d, void *to, const void *from, size_t bytes)
{
    struct err err = ERR_INIT;
    if (bytes && to != from && !d->failed)
        gpu_note(d,
                 cu_copy_on_device(d->cu, address_of(to), address_of(from), bytes, d->lane->stream,
                                   &err),
                 &err);
}

void *gpu_workspace(struct gpu_device *d, size_t bytes)
{
    struct gpu_lane *l = d->lane;
    if (bytes > l->workspace_bytes) {
        if (l->workspace)
            cu_mem_free(d->cu, l->workspace);
        l->workspace_bytes = bytes + bytes / 8;
        l->workspace = allocate(d, l->workspace_bytes);
        if (!l->workspace)
            l->workspace_bytes = 0;
    }
    return bytes ? pointer_to(l->workspace) : NULL;
}

void *gpu_room(struct gpu_device *d, struct gpu_room *r, size_t bytes)
{
    if (bytes > r->bytes || !r->p) {
        gpu_release(&d->base, r->p);
        r->bytes = bytes + bytes / 8;
        r->p = gpu_alloc(&d->base, r->bytes);
    }
    return r->p;
}

void gpu_room_release(struct gpu_device *d, struct gpu_room *r)
{
    gpu_release(&d->base, r->p);
    *r = (struct gpu_room){0};
}

const int32_t *gpu_numbers(struct gpu_device *d, struct gpu_numbers *r, int64_t n)
{
    if (n > r->n) {
        r->n = n + n / 8;
        size_t bytes = (size_t)r->n * sizeof(int32_t);
        int32_t *number = xmalloc(bytes);
        for (int64_t i = 0; i < r->n; i++)
            number[i] = (int32_t)i;
        gpu_upload(&d->base, gpu_room(d, &r->room, bytes), number, bytes);
        (void)gpu_sync(&d->base, NULL); /* wait until the copy has read `number` */
        free(number);
    }
    return r->room.p;
}

bool gpu_mail_room(struct gpu_device *d, struct gpu_mail *m, size_t *room, size_t bytes)
{
    struct err err = ERR_INIT;
    if (bytes <= *room && m->host)
        return !d->failed;
    gpu_mail_close(d, m);
    *room = 0;
    if (!d->failed)
        gpu_note(d, cu_pinned_alloc(d->cu, MAX(bytes, ARRAY_ALIGN), &m->host, &err), &err);
    m->at = allocate(d, bytes);
    if (!d->failed)
        *room = bytes;
    return !d->failed;
}

void gpu_fetch(struct gpu_device *d, const struct gpu_mail *m, size_t bytes)
{
    struct err err = ERR_INIT;
    if (!d->failed)
        gpu_note(d, cu_copy_to_host(d->cu, m->host, m->at, bytes, d->lane->stream, &err), &err);
}

void gpu_mail_close(struct gpu_device *d, struct gpu_mail *m)
{
    if (m->host)
        cu_pinned_free(d->cu, m->host);
    if (m->at)
        cu_mem_free(d->cu, m->at);
    *m = (struct gpu_mail){0};
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

/* Gives the caller the loss and the classes of a step. After a failure they are zeros. */
static void deliver(struct gpu_device *d, struct gpu_step *s)
{
    const double *sums = s->sums.host;
    if (s->loss) {
        *s->loss = (struct gnn_loss){0};
        if (!d->failed)
            *s->loss = (struct gnn_loss){sums[0], (int64_t)sums[1], (int64_t)sums[2]};
    }
    if (s->classes && d->failed)
        memset(s->classes, 0, s->classes_bytes);
    else if (s->classes)
        memcpy(s->classes, s->best.host, s->classes_bytes);
    s->loss = NULL;
    s->classes = NULL;
    s->running = false;
}

static int outcome(const struct gpu_device *d, struct err *err)
{
    if (d->failed && err)
        *err = d->err;
    return d->failed ? -1 : 0;
}

static void wait_lane(struct gpu_device *d, const struct gpu_lane *l)
{
    struct err err = ERR_INIT;
    if (!d->failed)
        gpu_note(d, cu_stream_sync(d->cu, l->stream, &err), &err);
}

int gpu_sync(struct gnn_device *dev, struct err *err)
{
    struct gpu_device *d = gpu_of(dev);
    wait_lane(d, &d->compute);
    wait_lane(d, &d->sample);
    wait_lane(d, &d->turn_hops);
    end_batch(d);
    for (int i = 1; i <= GNN_STEPS_AHEAD; i++) /* the oldest first */
        deliver(d, &d->step[(d->turn + i) % GNN_STEPS_AHEAD]);
    return outcome(d, err);
}

/* Returns whether the batch has arrays in chunks. Then the next batch must wait for the device. */
static bool has_arrays(const struct gpu_device *d)
{
    return d->batch.n > 0 && d->batch.items[0].used > 0;
}

int gpu_end_step(struct gnn_device *dev, struct err *err)
{
    struct gpu_device *d = gpu_of(dev);
    struct gpu_step *s = &d->step[d->turn];
    struct err own = ERR_INIT;
    if (d->failed || has_arrays(d))
        return gpu_sync(dev, err);
    gpu_wait_transposed(d); /* transposing reads the batch */
    gpu_note(d, cu_event_record(d->cu, s->done, d->compute.stream, &own), &own);
    s->running = true;
    d->turn = (d->turn + 1) % GNN_STEPS_AHEAD;
    s = &d->step[d->turn];
    if (s->running && !d->failed)
        gpu_note(d, cu_event_sync(d->cu, s->done, &own), &own);
    if (s->running)
        deliver(d, s);
    return d->failed ? gpu_sync(dev, err) : 0;
}

void gpu_memory_close(struct gpu_device *d)
{
    free_chunks(d);
    vec_release(&d->batch);
    const struct gpu_lane *lanes[] = {&d->compute, &d->sample, &d->turn_hops};
    for (size_t i = 0; i < ARRAY_LEN(lanes); i++)
        if (lanes[i]->workspace)
            cu_mem_free(d->cu, lanes[i]->workspace);
}
