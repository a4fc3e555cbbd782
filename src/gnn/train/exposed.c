/* exposed.c - trains with the same batches in three ways. See exposed.h. */
#include "gnn/train/exposed.h"

#include <stdlib.h>
#include <string.h>

#include "base/util.h"

enum { ROUNDS = 3 };

/* The three ways to train use the same batches: numbers first to first + n - 1 of the epoch. */
struct setup {
    struct trainer *t;
    const struct train_options *o;
    const struct dataset *data;
    int64_t first, n;
};

static int open_loader(struct loader **l, const struct setup *s, const struct loader_options *o,
                       int64_t skip, struct err *err)
{
    *l = NULL;
    if (loader_open(l, s->data, o, err) < 0)
        return -1;
    return loader_continue(*l, s->data->train, trainer_epochs_done(s->t), skip, err);
}

static int next(struct loader *l, const struct gnn_batch **b, struct err *err)
{
    int rc = loader_next(l, b, err);
    if (rc == 0)
        BUG("the epoch has fewer batches than were counted");
    return rc < 0 ? -1 : 0;
}

static int train_given(const struct setup *s, struct loader *l, int slots,
                       const struct gnn_batch *b, struct err *err)
{
    struct gnn_batch own;
    const struct gnn_batch *use;
    const struct feed *f = trainer_feed(s->t);
    int rc = feed_batch(f, &s->o->load.sample, b, &own, &use, err);
    if (rc == 0)
        rc = trainer_step(s->t, use, err);
    feed_give_back(f, l, slots, b);
    return rc;
}

/* Waits for the device. Sets *sum_s to the seconds since `start`. */
static int stop_clock(const struct setup *s, uint64_t start, double *sum_s, struct err *err)
{
    if (trainer_settle(s->t, err) < 0)
        return -1;
    *sum_s = (double)(now_ns() - start) / 1e9;
    return 0;
}

/* Measures the way `whole`. The batches before the first measured one fill the ring of slots. So
 * the loader's threads are equally far ahead at the beginning and at the end of the measurement, as
 * in the middle of an epoch. */
static int time_whole(const struct setup *s, double *out_s, struct err *err)
{
    struct loader *l;
    const struct gnn_batch *b;
    uint64_t start = now_ns();
    int rc = open_loader(&l, s, &s->o->load, 0, err);
    for (int64_t i = 0; i < s->first + s->n && rc == 0; i++) {
        if (i == s->first) {
            rc = trainer_settle(s->t, err);
            start = now_ns();
        }
        if (rc == 0)
            rc = next(l, &b, err);
        if (rc == 0)
            rc = train_given(s, l, s->o->load.slots, b, err);
    }
    feed_end(trainer_feed(s->t), l);
    if (rc == 0)
        rc = stop_clock(s, start, out_s, err);
    (void)trainer_settle(s->t, NULL); /* wait until no copy reads the loader's memory */
    loader_close(l);
    return rc;
}

static int time_prepared(const struct setup *s, double *out_s, struct err *err)
{
    struct loader_options o = s->o->load;
    const struct gnn_batch **b = xcalloc((size_t)s->n, sizeof *b);
    struct loader *l;
    o.slots = (int)s->n;
    o.as_ready = false;
    int rc = open_loader(&l, s, &o, s->first, err);
    for (int64_t i = 0; i < s->n && rc == 0; i++)
        rc = next(l, &b[i], err);
    if (l)
        loader_cancel(l); /* a batch that is given back must not wake the threads */
    uint64_t start = now_ns();
    for (int64_t i = 0; i < s->n && rc == 0; i++)
        rc = train_given(s, l, o.slots, b[i], err);
    feed_end(trainer_feed(s->t), l);
    if (rc == 0)
        rc = stop_clock(s, start, out_s, err);
    (void)trainer_settle(s->t, NULL);
    loader_close(l);
    free(b);
    return rc;
}

/* Brings as many batches to the GPU as `f` has slots, and trains with them in turn. */
static int train_resident(const struct setup *s, const struct feed *f, double *out_s,
                          struct err *err)
{
    struct loader_options o = s->o->load;
    int64_t k = MIN(s->n, (int64_t)feed_slots(f));
    struct gnn_batch *own = xcalloc((size_t)k, sizeof *own);
    struct loader *l;
    const struct gnn_batch *b, *use;
    feed_options(f, &o);
    feed_prepare(f, trainer_network(s->t), GNN_TRAIN);
    o.slots = (int)k;
    o.as_ready = false;
    int rc = open_loader(&l, s, &o, s->first, err);
    for (int64_t i = 0; i < k && rc == 0; i++) {
        rc = next(l, &b, err);
        if (rc == 0)
            rc = feed_batch(f, &o.sample, b, &own[i], &use, err);
        if (rc == 0 && !f->transfer)
            loader_give_back(l, b);
    }
    if (rc == 0)
        rc = trainer_settle(s->t, err);
    feed_end(f, l);
    if (l)
        loader_cancel(l);
    uint64_t start = now_ns();
    for (int64_t i = 0; i < s->n && rc == 0; i++)
        rc = trainer_step(s->t, &own[i % k], err);
    if (rc == 0)
        rc = stop_clock(s, start, out_s, err);
    (void)trainer_settle(s->t, NULL);
    loader_close(l);
    free(own);
    return rc;
}

static int time_resident(const struct setup *s, double *out_s, struct err *err)
{
    struct feed f = *trainer_feed(s->t);
    if (f.store)
        return train_resident(s, &f, out_s, err);
    int ahead = (int)MIN((int64_t)GPU_MAX_AHEAD, MAX(s->n - 1, 1));
    if (gpu_transfer_open(&f.transfer, trainer_device(s->t), ahead, err) < 0)
        return -1;
    int rc = train_resident(s, &f, out_s, err);
    gpu_transfer_close(f.transfer);
    return rc;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double v[ROUNDS])
{
    qsort(v, ROUNDS, sizeof *v, compare);
    return v[ROUNDS / 2];
}

int exposed_measure(struct trainer *t, int64_t batches, struct exposed *out, struct err *err)
{
    double whole[ROUNDS] = {0}, prepared[ROUNDS] = {0}, resident[ROUNDS] = {0};
    struct setup s = {.t = t, .o = trainer_options(t), .data = trainer_data(t)};
    bool cpu = str_eq(trainer_device(t)->ops->name, "cpu"), store = trainer_feed(t)->store;
    int64_t all = (s.data->train.n + s.o->load.batch_size - 1) / s.o->load.batch_size;
    s.n = MIN(MIN(batches, all), (int64_t)LOADER_MAX_SLOTS);
    s.first = MIN((int64_t)s.o->load.slots, all - s.n);
    trainer_measures(t);
    for (int r = 0; r < ROUNDS; r++) {
        feed_prepare(trainer_feed(t), trainer_network(t), GNN_TRAIN);
        if (time_whole(&s, &whole[r], err) < 0 ||
            (!store && time_prepared(&s, &prepared[r], err) < 0) ||
            (!cpu && time_resident(&s, &resident[r], err) < 0))
            return -1;
        if (cpu)
            resident[r] = prepared[r];
        if (store)
            prepared[r] = resident[r];
    }
    double n = (double)s.n, w = median(whole) / n, p = median(prepared) / n,
           d = median(resident) / n;
    *out = (struct exposed){.batches = s.n,
                            .rounds = ROUNDS,
                            .epoch_batches = all,
                            .batch_s = w,
                            .train_s = d,
                            .preparation_s = w - p,
                            .transfer_s = p - d};
    return 0;
}
