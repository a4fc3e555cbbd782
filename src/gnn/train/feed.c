/* feed.c - chooses how a batch gets to the device. See feed.h. */
#include "gnn/train/feed.h"

#include "base/util.h"

int feed_open(struct feed *f, const struct gpu_placement *where, int ahead, struct gnn_device *d,
              const struct dataset *data, const struct sample_options *o, struct err *err)
{
    *f = (struct feed){0};
    if (gpu_store_place(&f->store, where, d, data, o, err) < 0)
        return -1;
    if (f->store || ahead == 0 || str_eq(d->ops->name, "cpu"))
        return 0;
    return gpu_transfer_open(&f->transfer, d, ahead, err);
}

void feed_close(struct feed *f)
{
    gpu_store_close(f->store);
    gpu_transfer_close(f->transfer);
    *f = (struct feed){0};
}

void feed_prepare(const struct feed *f, const struct gnn_network *n, enum gnn_mode mode)
{
    enum gnn_segment kind;
    if (!network_reduces_input(n, mode, &kind))
        kind = GNN_MAX; /* GNN_MAX: the feed does not reduce */
    if (f->store) {
        gpu_store_degrees(f->store, network_reads_degrees(n, mode));
        gpu_store_reduce(f->store, kind);
    }
    if (f->transfer)
        gpu_transfer_reduce(f->transfer, kind);
}

int feed_slots(const struct feed *f)
{
    if (f->store)
        return GPU_STORE_SLOTS;
    return f->transfer ? gpu_transfer_ahead(f->transfer) + 1 : 0;
}

double feed_exposed_s(const struct feed *f)
{
    return f->transfer ? gpu_transfer_exposed_s(f->transfer) : 0;
}

bool feed_split(const struct feed *f, struct gpu_split *out)
{
    *out = (struct gpu_split){0};
    return f->store && gpu_store_split(f->store, out);
}

void feed_options(const struct feed *f, struct loader_options *o)
{
    o->seeds_only = f->store != NULL;
    o->memory = f->transfer ? gpu_transfer_memory(f->transfer) : NULL;
}

int feed_batch(const struct feed *f, const struct sample_options *o, const struct gnn_batch *b,
               struct gnn_batch *own, const struct gnn_batch **use, struct err *err)
{
    *use = f->store || f->transfer ? own : b;
    if (f->store)
        return gpu_store_batch(f->store, o, b, own, err);
    return f->transfer ? gpu_transfer_batch(f->transfer, b, own, err) : 0;
}

static void give_back_copied(const struct feed *f, struct loader *l, int at_most)
{
    const struct gnn_batch *b;
    while ((b = gpu_transfer_done(f->transfer, at_most)))
        loader_give_back(l, b);
}

void feed_give_back(const struct feed *f, struct loader *l, int slots, const struct gnn_batch *b)
{
    if (f->transfer)
        give_back_copied(f, l, MIN(slots - 1, gpu_transfer_ahead(f->transfer)));
    else
        loader_give_back(l, b);
}

void feed_end(const struct feed *f, struct loader *l)
{
    if (f->transfer)
        give_back_copied(f, l, 0);
}
