/* gpu_transfer.c - the copy stream and the slots on the GPU. See gpu_transfer.h. */
#include "gnn/gpu/gpu_transfer.h"

#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "cuda/context.h"
#include "cuda/memory.h"
#include "cuda/stream.h"
#include "gnn/gpu/gpu_device.h"

/* A batch in the GPU's memory. */
struct slot {
    struct gpu_room packed, x, reduced;
    cu_event arrived;       /* the copy is done */
    cu_event used;          /* all work that reads the batch is done */
    cu_event idle, resumed; /* begin and end of the compute stream's wait for the copy */
    bool timed;             /* the time from `idle` to `resumed` is not yet in exposed_ms */
};

struct gpu_transfer {
    struct gpu_device *d;
    struct batch_memory memory;
    bool reduces; /* the batches have the array `reduced` (gnn/batch.h) */
    bool mean;    /* `reduced` holds means, not sums */
    int slots;
    struct slot slot[GPU_MAX_AHEAD + 1];
    int now;                                         /* the slot of the newest batch */
    const struct gnn_batch *sent[GPU_MAX_AHEAD + 1]; /* a ring of batches that are being copied */
    cu_event sent_arrived[GPU_MAX_AHEAD + 1];
    int first, under_way;    /* the ring's oldest entry, and how many batches it has */
    struct gpu_numbers rows; /* 0, 1, 2, ...: the row of each node in a batch's features */
    double exposed_ms;       /* how long the compute stream waited for copies */
};

/* Returns pinned memory. The loader's threads call this, and each thread needs the CUDA context. */
static void *grab(void *ctx, size_t bytes, struct err *err)
{
    struct gpu_transfer *t = ctx;
    void *p = NULL;
    if (cu_context_use(t->d->cu, t->d->context, err) < 0 ||
        cu_pinned_alloc(t->d->cu, bytes, &p, err) < 0)
        return NULL;
    return p;
}

static void drop(void *ctx, void *p)
{
    struct gpu_transfer *t = ctx;
    if (cu_context_use(t->d->cu, t->d->context, NULL) == 0)
        cu_pinned_free(t->d->cu, p);
}

static int open_slot(struct gpu_device *d, struct slot *s, struct err *err)
{
    return cu_event_create(d->cu, &s->arrived, err) < 0 ||
                   cu_event_create(d->cu, &s->used, err) < 0 ||
                   cu_event_create(d->cu, &s->idle, err) < 0 ||
                   cu_event_create(d->cu, &s->resumed, err) < 0
               ? -1
               : 0;
}

int gpu_transfer_open(struct gpu_transfer **out, struct gnn_device *d, int ahead, struct err *err)
{
    if (ahead < 1 || ahead > GPU_MAX_AHEAD)
        return err_set(err, ERR_USAGE, "a GPU copies 1 to %d batches ahead, not %d", GPU_MAX_AHEAD,
                       ahead);
    struct gpu_transfer *t = xcalloc(1, sizeof *t);
    t->d = gpu_of(d);
    t->memory = (struct batch_memory){grab, drop, t};
    t->slots = ahead + 1;
    for (int i = 0; i < t->slots; i++)
        if (open_slot(t->d, &t->slot[i], err) < 0) {
            gpu_transfer_close(t);
            return -1;
        }
    *out = t;
    return 0;
}

static void close_slot(struct gpu_device *d, struct slot *s)
{
    cu_event events[] = {s->arrived, s->used, s->idle, s->resumed};
    for (size_t i = 0; i < ARRAY_LEN(events); i++)
        if (events[i])
            cu_event_destroy(d->cu, events[i]);
    gpu_room_release(d, &s->packed);
    gpu_room_release(d, &s->x);
    gpu_room_release(d, &s->reduced);
}

void gpu_transfer_close(struct gpu_transfer *t)
{
    if (!t)
        return;
    (void)gpu_sync(&t->d->base, NULL);
    for (int i = 0; i < t->slots; i++)
        close_slot(t->d, &t->slot[i]);
    gpu_room_release(t->d, &t->rows.room);
    free(t);
}

int gpu_transfer_ahead(const struct gpu_transfer *t)
{
    return t->slots - 1;
}

const struct batch_memory *gpu_transfer_memory(struct gpu_transfer *t)
{
    return &t->memory;
}

void gpu_transfer_reduce(struct gpu_transfer *t, enum gnn_segment kind)
{
    t->reduces = kind != GNN_MAX;
    t->mean = kind == GNN_MEAN;
}

static void add_exposed(struct gpu_transfer *t, struct slot *s)
{
    float ms = 0;
    if (s->timed && !t->d->failed &&
        cu_event_elapsed_ms(t->d->cu, s->idle, s->resumed, &ms, NULL) == 0)
        t->exposed_ms += ms;
    s->timed = false;
}

double gpu_transfer_exposed_s(struct gpu_transfer *t)
{
    for (int i = 0; i < t->slots; i++)
        add_exposed(t, &t->slot[i]);
    return t->exposed_ms / 1e3;
}

/* All work on the previous batch has been queued by now, so we record its event `used`. The host
 * waits until the work on the slot's old batch is done. */
static struct slot *next_slot(struct gpu_transfer *t)
{
    struct gpu_device *d = t->d;
    struct err err = ERR_INIT;
    if (!d->failed)
        gpu_note(d, cu_event_record(d->cu, t->slot[t->now].used, d->compute.stream, &err), &err);
    t->now = (t->now + 1) % t->slots;
    struct slot *s = &t->slot[t->now];
    if (!d->failed)
        gpu_note(d, cu_event_sync(d->cu, s->used, &err), &err);
    add_exposed(t, s);
    return s;
}

/* Queues the copy of a packed batch to the slot. It runs on the sampler's stream, which is free
 * because the CPU samples these batches. */
static void copy_packed(struct gpu_transfer *t, struct slot *s, const struct gnn_batch *b)
{
    struct gpu_device *d = t->d;
    struct err err = ERR_INIT;
    void *p = gpu_room(d, &s->packed, b->packed_bytes);
    d->lane = &d->sample;
    gpu_upload(&d->base, p, b->packed, b->packed_bytes);
    d->lane = &d->compute;
    if (!d->failed)
        gpu_note(d, cu_event_record(d->cu, s->arrived, d->sample.stream, &err), &err);
    if (!d->failed)
        gpu_note(d, cu_event_record(d->cu, s->idle, d->compute.stream, &err), &err);
    if (!d->failed)
        gpu_note(d, cu_stream_wait_event(d->cu, d->compute.stream, s->arrived, &err), &err);
    if (!d->failed)
        gpu_note(d, cu_event_record(d->cu, s->resumed, d->compute.stream, &err), &err);
    s->timed = !d->failed;
}

static const void *copy_of(const struct slot *s, const struct gnn_batch *b, const void *array)
{
    return array ? (const char *)s->packed.p + ((const char *)array - (const char *)b->packed)
                 : NULL;
}

static void point_to_copies(const struct slot *s, const struct gnn_batch *b, struct gnn_batch *out)
{
    *out = *b;
    out->on_device = true;
    out->packed = NULL;
    out->node = copy_of(s, b, b->node);
    out->label = copy_of(s, b, b->label);
    out->degree = copy_of(s, b, b->degree);
    out->feature = copy_of(s, b, b->feature);
    for (int h = 0; h < b->hops; h++) {
        out->row[h] = copy_of(s, b, b->row[h]);
        out->col[h] = copy_of(s, b, b->col[h]);
    }
}

static void reduce(struct gpu_transfer *t, struct slot *s, struct gnn_batch *b)
{
    int last = b->hops - 1;
    int64_t n = b->n_nodes[last], inputs = b->n_nodes[b->hops];
    size_t bytes = (size_t)(n * b->feature_dim) * sizeof(float);
    void *y = gpu_room(t->d, &s->reduced, bytes);
    b->reduced = y;
    if (b->n_edges[last] == 0)
        gpu_zero(&t->d->base, y, bytes);
    else
        gpu_run_segment_half(
            t->d, (struct gnn_segment_half_args){.row = b->row[last],
                                                 .col = b->col[last],
                                                 .node = gpu_numbers(t->d, &t->rows, inputs),
                                                 .x = b->feature,
                                                 .y = y,
                                                 .N = n,
                                                 .E = b->n_edges[last],
                                                 .S = inputs,
                                                 .V = inputs,
                                                 .D = b->feature_dim,
                                                 .MEAN = t->mean});
}

/* Converts the features to float. If the batch has `reduced`, the model does not read the rows of
 * the last hop's new nodes. */
static void convert(struct gpu_transfer *t, struct slot *s, struct gnn_batch *b)
{
    if (!b->feature || b->feature_type != GNN_F16)
        return;
    if (t->reduces)
        reduce(t, s, b);
    int64_t rows = b->n_nodes[t->reduces ? b->hops - 1 : b->hops];
    void *x = gpu_room(t->d, &s->x, (size_t)(rows * b->feature_dim) * sizeof(float));
    t->d->base.ops->load(&t->d->base, GNN_F16, rows * b->feature_dim, b->feature, x);
    b->feature = x;
    b->feature_type = GNN_F32;
}

int gpu_transfer_batch(struct gpu_transfer *t, const struct gnn_batch *b, struct gnn_batch *out,
                       struct err *err)
{
    struct gpu_device *d = t->d;
    if (!b->packed)
        BUG("a batch that is not packed");
    if (t->under_way == t->slots)
        BUG("%d batches are being copied and nobody asked which are done", t->slots);
    struct slot *s = next_slot(t);
    copy_packed(t, s, b);
    int at = (t->first + t->under_way++) % t->slots;
    t->sent[at] = b;
    t->sent_arrived[at] = s->arrived;
    point_to_copies(s, b, out);
    if (b->n_nodes[0] > 0)
        convert(t, s, out);
    return d->failed ? gpu_sync(&d->base, err) : 0;
}

const struct gnn_batch *gpu_transfer_done(struct gpu_transfer *t, int at_most)
{
    struct gpu_device *d = t->d;
    struct err err = ERR_INIT;
    if (t->under_way == 0)
        return NULL;
    cu_event arrived = t->sent_arrived[t->first];
    int there = d->failed ? 1 : cu_event_happened(d->cu, arrived, &err);
    if (there == 0 && t->under_way <= at_most)
        return NULL;
    if (there == 0)
        there = cu_event_sync(d->cu, arrived, &err);
    gpu_note(d, there, &err);
    const struct gnn_batch *b = t->sent[t->first];
    t->first = (t->first + 1) % t->slots;
    t->under_way--;
    return b;
}
