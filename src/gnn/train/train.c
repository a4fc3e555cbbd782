/* train.c - the training loop: batches, steps, checkpoints, averages over ranks. */
#include "gnn/train/train.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "gnn/gpu/devices.h"
#include "gnn/gpu/nccl.h"
#include "gnn/pages.h"
#include "sys/file.h"
#include "sys/interrupt.h"
#include "sys/memory.h"

/* The device runs behind the trainer, so a batch's loss may not be known yet. */
struct pending {
    struct gnn_loss loss; /* loss.rows is -1 until the loss is known */
    int64_t epoch, index;
};

struct trainer {
    struct train_options o;
    const struct dataset *data;
    struct train_setting setting;
    struct train_position position;
    struct gnn_program program;
    struct gnn_device *device;
    struct feed feed;
    struct gnn_network *network;
    struct loader *loader;
    struct gnn_adam adam;
    struct nccl *nccl;                           /* averages over GPUs; if NULL, o.comm averages */
    float *host;                                 /* for copies between a GPU and comm */
    int64_t labelled;                            /* seeds of this batch, in this rank */
    struct pending pending[GNN_STEPS_AHEAD + 1]; /* a ring */
    int64_t begun, counted; /* batches begun, and batches whose loss was counted */
};

static int check_data(const struct dataset *d, struct err *err)
{
    if (dataset_feature_dim(d) == 0)
        return err_set(err, ERR_INPUT, "the data has no features; a model needs them");
    if (!d->label || d->manifest.classes < 1)
        return err_set(err, ERR_INPUT, "the data has no labels to train on");
    if (d->train.n == 0)
        return err_set(err, ERR_INPUT, "the data has no training nodes");
    return 0;
}

static void set_setting(struct trainer *t)
{
    const struct manifest *m = &t->data->manifest;
    struct train_setting *s = &t->setting;
    s->model = t->o.model;
    s->model.layers = t->o.load.sample.hops;
    s->model.features = m->feature_dim;
    s->model.classes = m->classes;
    s->sample = t->o.load.sample;
    s->batch_size = t->o.load.batch_size;
    s->lr = t->o.lr;
    s->data = dataset_fingerprint(m);
    memcpy(s->data_name, m->name, sizeof s->data_name);
}

static bool on_cpu(const struct trainer *t)
{
    return str_eq(t->device->ops->name, "cpu");
}

/* If the file of the checkpoint exists, continues from it. Without `resume`, refuses to overwrite
 * it. */
static int start_position(struct trainer *t, struct err *err)
{
    const char *path = t->o.checkpoint;
    if (!path || !file_exists(path))
        return 0;
    if (!t->o.resume)
        return err_set(err, ERR_USAGE,
                       "'%s' exists; continue it with --resume, or remove it to train anew", path);
    struct checkpoint c;
    if (checkpoint_read(&c, path, err) < 0)
        return -1;
    int rc = train_setting_match(&c.setting, &t->setting, err);
    if (rc == 0)
        rc = checkpoint_restore(&c, t->network, err);
    t->position = c.position;
    if (comm_rank(t->o.comm) > 0 && !on_cpu(t)) /* rank 0 alone keeps the losses so far */
        t->position.epoch_loss = (struct gnn_loss){0};
    checkpoint_release(&c);
    return rc;
}

int trainer_shared_reals(const struct dataset *d, const struct train_options *o, int64_t *reals,
                         struct err *err)
{
    struct trainer t = {.o = *o, .data = d};
    if (check_data(d, err) < 0)
        return -1;
    set_setting(&t);
    if (model_build(&t.setting.model, &t.program, err) < 0)
        return -1;
    *reals = MAX(t.program.n_weights, t.program.n_running);
    program_release(&t.program);
    return 0;
}

static int open_ranks(struct trainer *t, struct err *err)
{
    char id[NCCL_ID_BYTES] = {0};
    struct comm *c = t->o.comm;
    if (!c || on_cpu(t))
        return 0;
    if (!t->o.nccl) {
        t->host = xmalloc((size_t)MAX(t->program.n_weights, t->program.n_running) * sizeof(float));
        return 0;
    }
    if (comm_rank(c) == 0 && nccl_new_id(id, err) < 0)
        return -1;
    if (comm_broadcast(c, id, sizeof id, err) < 0)
        return -1;
    return nccl_join(&t->nccl, t->device, id, comm_rank(c), comm_ranks(c), err);
}

int trainer_open(struct trainer **out, const struct dataset *d, const struct train_options *o,
                 struct err *err)
{
    if (check_data(d, err) < 0)
        return -1;
    if (!(o->lr > 0) || !isfinite(o->lr))
        return err_set(err, ERR_USAGE, "the learning rate must be above 0, not %g", o->lr);
    struct trainer *t = xcalloc(1, sizeof *t);
    t->o = *o;
    t->o.load.shuffle = true;
    t->o.load.rank = comm_rank(o->comm);
    t->o.load.ranks = comm_ranks(o->comm);
    t->data = d;
    t->adam = (struct gnn_adam){.lr = o->lr, .beta1 = 0.9, .beta2 = 0.999, .eps = 1e-8};
    set_setting(t);
    if (model_build(&t->setting.model, &t->program, err) < 0 ||
        network_check_memory(&t->program, memory_available(), err) < 0)
        goto fail;
    if (gnn_device_open(&t->device, o->device, o->threads, err) < 0 ||
        gnn_device_precision(t->device, o->precision, err) < 0 ||
        gnn_device_products(t->device, o->products, err) < 0 ||
        (o->profile && gnn_device_profile(t->device, err) < 0))
        goto fail;
    struct gpu_placement where = {.place = o->place,
                                  .cache = o->cache,
                                  .seeds = d->train,
                                  .batches = (d->train.n + o->load.batch_size - 1) /
                                             MAX(o->load.batch_size, 1) * comm_ranks(o->comm),
                                  .threads = o->threads};
    if (feed_open(&t->feed, &where, o->ahead, t->device, d, &o->load.sample, err) < 0)
        goto fail;
    feed_options(&t->feed, &t->o.load);
    t->network = network_new(&t->program, t->device, o->load.sample.seed);
    train_setting_fanouts(&t->setting, t->network);
    if (open_ranks(t, err) < 0 || start_position(t, err) < 0 ||
        loader_open(&t->loader, d, &t->o.load, err) < 0)
        goto fail;
    *out = t;
    return 0;
fail:
    trainer_close(t);
    return -1;
}

void trainer_close(struct trainer *t)
{
    if (!t)
        return;
    if (t->device)
        (void)t->device->ops->sync(t->device,
                                   NULL); /* wait until no copy reads the loader's memory */
    loader_close(t->loader);
    network_free(t->network);
    feed_close(&t->feed);
    program_release(&t->program);
    nccl_leave(t->nccl);
    if (t->device)
        t->device->ops->close(t->device);
    free(t->host);
    free(t);
}

/* ---- several ranks --------------------------------------------------------------------------- */

enum { SUM_ROWS, SUM_LOSS, SUM_CORRECT, SUMS };

/* Sets *share to this rank's share of the batch's labelled seeds, or to -1 if there are none. */
static int share_of_batch(struct trainer *t, double *share, struct err *err)
{
    double rows = (double)t->labelled;
    if (comm_reduce(t->o.comm, &rows, 1, NULL, 0, err) < 0)
        return -1;
    *share = rows > 0 ? (double)t->labelled / rows : -1;
    return 0;
}

static int reduce_on_host(struct trainer *t, enum gnn_state part, struct err *err)
{
    double weight = (double)t->labelled;
    int64_t n = network_state_reals(t->network, part);
    network_download(t->network, part, t->host);
    if (comm_reduce(t->o.comm, &weight, 1, t->host, n, err) < 0)
        return -1;
    network_upload(t->network, part, t->host);
    return 0;
}

/* Averages gradients and running statistics over the ranks, weighted by their labelled seeds. It
 * takes the weights from t->labelled, because the losses are not known yet. */
static int reduce_on_gpus(struct trainer *t, struct err *err)
{
    static const enum gnn_state parts[] = {GNN_GRADIENTS, GNN_RUNNING};
    struct gnn_network *n = t->network;
    double share = 0;
    if (t->nccl && share_of_batch(t, &share, err) < 0)
        return -1;
    if (t->labelled == 0) /* the array may hold the gradient of an earlier batch */
        t->device->ops->zero(t->device, network_state(n, GNN_GRADIENTS),
                             (size_t)t->program.n_weights * sizeof(float));
    for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
        int64_t reals = network_state_reals(n, parts[i]);
        if (t->nccl && share >= 0)
            nccl_mean(t->nccl, share, network_state(n, parts[i]), reals);
        else if (!t->nccl && reals > 0 && reduce_on_host(t, parts[i], err) < 0)
            return -1;
    }
    return 0;
}

/* Averages gradients and running statistics over the ranks, weighted by their labelled rows.
 * Replaces *loss by its sum over the ranks. */
static int reduce(struct trainer *t, struct gnn_loss *loss, struct err *err)
{
    struct gnn_network *n = t->network;
    double sums[SUMS] = {(double)loss->rows, loss->sum, (double)loss->correct};
    double weight = (double)loss->rows;
    if (comm_reduce(t->o.comm, sums, SUMS, network_state(n, GNN_GRADIENTS), t->program.n_weights,
                    err) < 0)
        return -1;
    *loss = (struct gnn_loss){sums[SUM_LOSS], (int64_t)sums[SUM_ROWS], (int64_t)sums[SUM_CORRECT]};
    return t->program.n_running == 0
               ? 0
               : comm_reduce(t->o.comm, &weight, 1, network_state(n, GNN_RUNNING),
                             t->program.n_running, err);
}

/* Waits for all ranks. Fails if any of them wants to stop. */
static int meet(struct trainer *t, bool stop, struct err *err)
{
    double stops = stop;
    if (comm_reduce(t->o.comm, &stops, 1, NULL, 0, err) < 0)
        return -1;
    return stops > 0 ? err_set(err, ERR_LIMIT, COMM_STOPPED) : 0;
}

/* ---- a batch --------------------------------------------------------------------------------- */

static int backward(struct trainer *t, const struct gnn_batch *b, struct gnn_loss *loss,
                    struct err *err)
{
    struct gnn_network *n = t->network;
    *loss = (struct gnn_loss){0};
    if (b->n_nodes[0] == 0) /* this rank has no seeds, and weight 0 in the mean */
        return 0;
    network_batch(n, b);
    network_forward(n, GNN_TRAIN);
    network_loss(n, loss);
    network_backward(n);
    return t->o.comm && on_cpu(t) ? network_sync(n, err) : 0;
}

/* Adds the losses that are known by now to the epoch's loss, in the order of the batches. */
static int count_losses(struct trainer *t, struct err *err)
{
    struct gnn_loss *sum = &t->position.epoch_loss;
    for (; t->counted < t->begun; t->counted++) {
        const struct pending *p = &t->pending[t->counted % (int64_t)ARRAY_LEN(t->pending)];
        if (p->loss.rows < 0)
            return 0;
        if (!isfinite(p->loss.sum))
            return err_set(err, ERR_INPUT,
                           "the loss is not finite in batch %" PRId64 " of epoch %" PRId64
                           ": lower --lr, or look for large values in the features",
                           p->index, p->epoch);
        sum->sum += p->loss.sum;
        sum->rows += p->loss.rows;
        sum->correct += p->loss.correct;
    }
    return 0;
}

static int catch_up(struct trainer *t, struct err *err)
{
    return network_sync(t->network, err) < 0 ? -1 : count_losses(t, err);
}

static int train_batch(struct trainer *t, const struct gnn_batch *b, struct err *err)
{
    struct pending *p = &t->pending[t->begun++ % (int64_t)ARRAY_LEN(t->pending)];
    uint64_t start = now_ns();
    p->epoch = b->epoch;
    p->index = b->index;
    if (backward(t, b, &p->loss, err) < 0)
        return -1;
    trace_add(t->o.load.trace, "forward, backward", start, b->epoch, b->index);
    start = now_ns();
    if (t->o.comm && (on_cpu(t) ? reduce(t, &p->loss, err) : reduce_on_gpus(t, err)) < 0)
        return -1;
    if (t->o.comm)
        trace_add(t->o.load.trace, "sum over ranks", start, b->epoch, b->index);
    start = now_ns();
    network_update(t->network, &t->adam);
    if (network_step(t->network, err) < 0)
        return -1;
    trace_add(t->o.load.trace, "update", start, b->epoch, b->index);
    return count_losses(t, err);
}

/* Sets *loss to the loss of the epoch so far, over all ranks. All ranks must call this, because
 * ranks on GPUs add up their losses only here. */
static int whole_loss(struct trainer *t, struct gnn_loss *loss, struct err *err)
{
    int rc = catch_up(t, err);
    *loss = t->position.epoch_loss;
    if (!t->o.comm || on_cpu(t))
        return rc;
    double sums[SUMS] = {(double)loss->rows, loss->sum, (double)loss->correct};
    if (comm_reduce(t->o.comm, sums, SUMS, NULL, 0, rc == 0 ? err : NULL) < 0)
        return -1;
    *loss = (struct gnn_loss){sums[SUM_LOSS], (int64_t)sums[SUM_ROWS], (int64_t)sums[SUM_CORRECT]};
    return rc;
}

static int save_position(struct trainer *t, struct gnn_loss loss, struct epoch_report *r,
                         struct err *err)
{
    if (!t->o.checkpoint || comm_rank(t->o.comm) > 0)
        return 0;
    uint64_t start = now_ns();
    struct train_position p = t->position;
    p.epoch_loss = loss;
    int rc = checkpoint_save(t->o.checkpoint, &t->setting, &p, t->network, err);
    r->save_s += (double)(now_ns() - start) / 1e9;
    trace_add(t->o.load.trace, "save", start, t->position.epoch, t->position.batch);
    return rc;
}

static void count_batch(struct epoch_report *r, const struct gnn_batch *b)
{
    r->seeds += b->n_nodes[0];
    r->input_nodes += b->n_nodes[b->hops];
    r->hops = b->hops;
    for (int h = 0; h <= b->hops; h++)
        r->hop_nodes[h] += b->n_nodes[h];
    for (int h = 0; h < b->hops; h++) {
        r->hop_edges[h] += b->n_edges[h];
        r->edges += b->n_edges[h];
    }
}

static int save(struct trainer *t, struct epoch_report *r, struct err *err)
{
    struct gnn_loss loss;
    if (!t->o.checkpoint)
        return 0;
    return whole_loss(t, &loss, err) < 0 ? -1 : save_position(t, loss, r, err);
}

/* Returns 1 with the next batch, 0 at the end of the epoch, or -1 if any rank fails to get its
 * batch. After a failure all ranks stop before the same batch, and rank 0 saves. So Ctrl-C loses no
 * trained batch. Rank 0 does not save if its own loader failed for another reason than Ctrl-C. */
static int next_batch(struct trainer *t, const struct gnn_batch **b, struct epoch_report *r,
                      struct err *err)
{
    int rc = loader_next(t->loader, b, err);
    bool failed = rc<0, given = rc> 0;
    if (meet(t, failed, failed ? NULL : err) == 0)
        return rc;
    if (given)
        loader_give_back(t->loader, *b);
    struct gnn_loss loss;
    int rc_loss = whole_loss(t, &loss, NULL); /* all ranks must call it */
    if (rc_loss == 0 && (interrupted() || !failed))
        (void)save_position(t, loss, r, NULL);
    (void)meet(t, false, NULL);
    return -1;
}

static int64_t labelled_seeds(const struct gnn_batch *b)
{
    int64_t n = 0;
    for (int64_t i = 0; i < b->n_nodes[0]; i++)
        n += b->label[i] >= 0;
    return n;
}

static int train_given(struct trainer *t, const struct gnn_batch *b, struct epoch_report *r,
                       struct err *err)
{
    struct gnn_batch own;
    const struct gnn_batch *use;
    uint64_t start = now_ns();
    if (feed_batch(&t->feed, &t->o.load.sample, b, &own, &use, err) < 0)
        return -1;
    if (use != b)
        trace_add(t->o.load.trace, t->feed.store ? "sample on the GPU" : "copy to the GPU", start,
                  b->epoch, b->index);
    count_batch(r, use);
    t->labelled = labelled_seeds(b);
    return train_batch(t, use, err);
}

static int train_batches(struct trainer *t, struct epoch_report *r, struct err *err)
{
    struct train_position *p = &t->position;
    for (;;) {
        const struct gnn_batch *b;
        uint64_t start = now_ns();
        int rc = next_batch(t, &b, r, err);
        uint64_t ready = now_ns();
        r->wait_s += (double)(ready - start) / 1e9;
        trace_add(t->o.load.trace, "wait for a batch", start, p->epoch, p->batch);
        if (rc <= 0)
            return rc;
        rc = train_given(t, b, r, err);
        feed_give_back(&t->feed, t->loader, t->o.load.slots, b);
        r->train_s += (double)(now_ns() - ready) / 1e9;
        if (rc < 0)
            return rc;
        p->batch++;
        if (t->o.progress)
            t->o.progress(t->o.ctx, p->epoch, p->batch, r->batches, &p->epoch_loss);
        if (t->o.checkpoint_batches > 0 && p->batch % t->o.checkpoint_batches == 0 &&
            p->batch < r->batches && save(t, r, err) < 0)
            return -1;
    }
}

static int sum_counts(struct trainer *t, struct epoch_report *r, struct err *err)
{
    double sums[] = {(double)r->seeds, (double)r->input_nodes, (double)r->edges,
                     (double)r->host_rows, (double)r->host_bytes};
    if (comm_reduce(t->o.comm, sums, ARRAY_LEN(sums), NULL, 0, err) < 0)
        return -1;
    r->seeds = (int64_t)sums[0];
    r->input_nodes = (int64_t)sums[1];
    r->edges = (int64_t)sums[2];
    r->host_rows = (int64_t)sums[3];
    r->host_bytes = (int64_t)sums[4];
    return 0;
}

int trainer_epoch(struct trainer *t, struct epoch_report *r, struct err *err)
{
    struct train_position *p = &t->position;
    uint64_t start = now_ns();
    *r = (struct epoch_report){.epoch = p->epoch, .first_batch = p->batch};
    if (loader_continue(t->loader, t->data->train, p->epoch, p->batch, err) < 0)
        return -1;
    r->batches = loader_batches(t->loader);
    double exposed_s = feed_exposed_s(&t->feed);
    struct gpu_split before, after;
    r->split = feed_split(&t->feed, &before);
    feed_prepare(&t->feed, t->network, GNN_TRAIN);
    if (train_batches(t, r, err) < 0 || whole_loss(t, &r->loss, err) < 0)
        return -1;
    feed_end(&t->feed, t->loader);
    r->transfer_s = feed_exposed_s(&t->feed) - exposed_s;
    (void)feed_split(&t->feed, &after);
    r->host_rows = after.host_rows - before.host_rows;
    r->host_bytes = r->host_rows * (int64_t)after.row_bytes;
    if (sum_counts(t, r, err) < 0)
        return -1;
    *p = (struct train_position){.epoch = p->epoch + 1};
    if (save(t, r, err) < 0)
        return -1;
    r->wall_s = (double)(now_ns() - start) / 1e9;
    return 0;
}

int64_t trainer_epochs_done(const struct trainer *t)
{
    return t->position.epoch;
}

struct gnn_network *trainer_network(struct trainer *t)
{
    return t->network;
}

const struct gnn_program *trainer_program(const struct trainer *t)
{
    return &t->program;
}

const char *trainer_products(const struct trainer *t)
{
    return t->device->ops->products(t->device);
}

const struct feed *trainer_feed(const struct trainer *t)
{
    return &t->feed;
}

const struct train_options *trainer_options(const struct trainer *t)
{
    return &t->o;
}

const struct dataset *trainer_data(const struct trainer *t)
{
    return t->data;
}

struct gnn_device *trainer_device(const struct trainer *t)
{
    return t->device;
}

void trainer_measures(struct trainer *t)
{
    (void)catch_up(t, NULL); /* wait until no copy reads the loader's memory */
    loader_close(t->loader);
    t->loader = NULL;
    t->o.load.trace = NULL;
}

int trainer_step(struct trainer *t, const struct gnn_batch *b, struct err *err)
{
    return train_batch(t, b, err);
}

int trainer_settle(struct trainer *t, struct err *err)
{
    return catch_up(t, err);
}

int trainer_kernel_times(const struct trainer *t, const struct gnn_kernel_time **out)
{
    return gnn_device_kernel_times(t->device, out);
}
