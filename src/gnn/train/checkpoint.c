/* checkpoint.c - writes and reads the file of a checkpoint. See checkpoint.h. */
#include "gnn/train/checkpoint.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "gnn/data/checksum.h"
#include "sys/file.h"

/*
 * The file: struct file_head, then the weights, both moments and the running statistics as floats,
 * then the XXH64 of everything before it. Numbers have the byte order of the machine. The field
 * `order` shows whether a file comes from a machine with the other byte order.
 */
#define MAGIC "honegnn"
enum { VERSION = 1, ORDER = 0x01020304 };
static const size_t max_bytes = (size_t)8 << 30;

struct file_head {
    char magic[8];
    uint32_t version, order;
    int64_t kind, layers, features, hidden, classes, heads, aggregate;
    double dropout, lr;
    int64_t hops, fanout[GNN_MAX_HOPS], mode, batch_size;
    uint64_t seed, data;
    char data_name[128];
    int64_t epoch, batch, steps, loss_rows, loss_correct;
    double loss_sum;
    int64_t n_weights, n_running;
};

static const enum gnn_state saved_parts[] = {GNN_WEIGHTS, GNN_MOMENTS1, GNN_MOMENTS2, GNN_RUNNING};

void train_setting_fanouts(const struct train_setting *s, struct gnn_network *n)
{
    int32_t most[GNN_MAX_HOPS] = {0};
    for (int h = 0; h < s->sample.hops && s->sample.mode != SAMPLE_REPEATED; h++)
        most[h] = s->sample.fanout[h] == FANOUT_ALL ? INT32_MAX : s->sample.fanout[h];
    network_trained_with(n, most);
}

uint64_t dataset_fingerprint(const struct manifest *m)
{
    struct checksum c;
    checksum_init(&c);
    for (int i = 0; i < DATA_FILES; i++) {
        uint64_t sum = m->file[i].present ? m->file[i].sum : 0;
        checksum_add(&c, &sum, sizeof sum);
    }
    return checksum_value(&c);
}

static uint64_t sum_of(const void *p, size_t n)
{
    struct checksum c;
    checksum_init(&c);
    checksum_add(&c, p, n);
    return checksum_value(&c);
}

static void head_fill(struct file_head *h, const struct train_setting *s,
                      const struct train_position *p, const struct gnn_network *n)
{
    memset(h, 0, sizeof *h);
    memcpy(h->magic, MAGIC, sizeof MAGIC);
    h->version = VERSION;
    h->order = ORDER;
    h->kind = s->model.kind;
    h->layers = s->model.layers;
    h->features = s->model.features;
    h->hidden = s->model.hidden;
    h->classes = s->model.classes;
    h->heads = s->model.heads;
    h->aggregate = s->model.aggregate;
    h->dropout = s->model.dropout;
    h->lr = s->lr;
    h->hops = s->sample.hops;
    for (int i = 0; i < GNN_MAX_HOPS; i++)
        h->fanout[i] = s->sample.fanout[i];
    h->mode = s->sample.mode;
    h->batch_size = s->batch_size;
    h->seed = s->sample.seed;
    h->data = s->data;
    memcpy(h->data_name, s->data_name, sizeof h->data_name - 1);
    h->epoch = p->epoch;
    h->batch = p->batch;
    h->steps = network_steps(n);
    h->loss_sum = p->epoch_loss.sum;
    h->loss_rows = p->epoch_loss.rows;
    h->loss_correct = p->epoch_loss.correct;
    h->n_weights = network_state_reals(n, GNN_WEIGHTS);
    h->n_running = network_state_reals(n, GNN_RUNNING);
}

/* The caller has checked that every number is in the range of its type. */
static void head_read(const struct file_head *h, struct checkpoint *c)
{
    struct train_setting *s = &c->setting;
    s->model = (struct gnn_model_config){
        .kind = (enum gnn_model_kind)h->kind,
        .layers = (int)h->layers,
        .features = h->features,
        .hidden = h->hidden,
        .classes = h->classes,
        .heads = h->heads,
        .aggregate = (int)h->aggregate,
        .dropout = h->dropout,
    };
    s->sample.hops = (int)h->hops;
    for (int i = 0; i < GNN_MAX_HOPS; i++)
        s->sample.fanout[i] = (int32_t)h->fanout[i];
    s->sample.mode = (enum sample_mode)h->mode;
    s->sample.seed = h->seed;
    s->batch_size = h->batch_size;
    s->lr = h->lr;
    s->data = h->data;
    memcpy(s->data_name, h->data_name, sizeof s->data_name - 1);
    s->data_name[sizeof s->data_name - 1] = '\0';
    c->position.epoch = h->epoch;
    c->position.batch = h->batch;
    c->position.epoch_loss = (struct gnn_loss){h->loss_sum, h->loss_rows, h->loss_correct};
    c->steps = h->steps;
}

int checkpoint_save(const char *path, const struct train_setting *s, const struct train_position *p,
                    struct gnn_network *n, struct err *err)
{
    struct strbuf out = STRBUF_INIT(max_bytes);
    struct file_head h;
    int rc = 0;
    head_fill(&h, s, p, n);
    strbuf_add(&out, &h, sizeof h);
    for (size_t i = 0; i < ARRAY_LEN(saved_parts); i++) {
        size_t bytes = (size_t)network_state_reals(n, saved_parts[i]) * sizeof(float);
        float *v = xmalloc(bytes + 1);
        network_download(n, saved_parts[i], v);
        strbuf_add(&out, v, bytes);
        free(v);
    }
    uint64_t sum = sum_of(out.buf, out.len);
    strbuf_add(&out, &sum, sizeof sum);
    if (out.truncated)
        rc = err_set(err, ERR_LIMIT, "a checkpoint of more than %zu bytes", max_bytes);
    else
        rc = file_replace(path, out.buf, out.len, err);
    strbuf_release(&out);
    return rc;
}

static bool within(int64_t v, int64_t lo, int64_t hi)
{
    return v >= lo && v <= hi;
}

static bool head_valid(const struct file_head *h)
{
    bool ok = within(h->kind, 0, GNN_MODEL_KINDS - 1) && within(h->layers, 1, GNN_MAX_LAYERS) &&
              within(h->features, 1, GNN_MAX_WIDTH) && within(h->hidden, 1, GNN_MAX_WIDTH) &&
              within(h->classes, 1, GNN_MAX_WIDTH) && within(h->heads, 0, 64) &&
              within(h->aggregate, -1, GNN_MAX) && h->hops == h->layers &&
              within(h->mode, SAMPLE_DISTINCT, SAMPLE_PLAIN) &&
              within(h->batch_size, 1, INT32_MAX) && within(h->epoch, 0, UINT32_MAX) &&
              within(h->batch, 0, INT32_MAX) && within(h->steps, 0, INT64_MAX) &&
              within(h->n_weights, 0, INT64_C(1) << 32) &&
              within(h->n_running, 0, INT64_C(1) << 32);
    for (int i = 0; i < GNN_MAX_HOPS; i++)
        ok = ok && within(h->fanout[i], FANOUT_ALL, INT32_MAX);
    return ok;
}

static int check_file(const struct strbuf *f, const char *path, struct err *err)
{
    struct file_head h;
    uint64_t sum;
    if (f->len < sizeof h + sizeof sum || memcmp(f->buf, MAGIC, sizeof MAGIC) != 0)
        return err_set(err, ERR_INPUT, "'%s' is not a checkpoint of hone-gnn", path);
    memcpy(&h, f->buf, sizeof h);
    if (h.version != VERSION || h.order != ORDER)
        return err_set(err, ERR_UNSUPPORTED,
                       "'%s' is a checkpoint of another version or byte order; train again", path);
    memcpy(&sum, f->buf + f->len - sizeof sum, sizeof sum);
    if (sum != sum_of(f->buf, f->len - sizeof sum) || !head_valid(&h) ||
        f->len != sizeof h + (size_t)(3 * h.n_weights + h.n_running) * sizeof(float) + sizeof sum)
        return err_set(err, ERR_INPUT, "'%s' is damaged; use an older checkpoint, or train again",
                       path);
    return 0;
}

int checkpoint_read(struct checkpoint *c, const char *path, struct err *err)
{
    struct file_head h;
    memset(c, 0, sizeof *c);
    strbuf_init(&c->text, max_bytes);
    if (file_read(path, max_bytes, &c->text, err) < 0 || check_file(&c->text, path, err) < 0) {
        strbuf_release(&c->text);
        return -1;
    }
    memcpy(&h, c->text.buf, sizeof h);
    head_read(&h, c);
    c->state_at = sizeof h;
    return 0;
}

int checkpoint_fits(const struct checkpoint *c, const struct gnn_program *p, struct err *err)
{
    struct file_head h;
    memcpy(&h, c->text.buf, sizeof h);
    if (h.n_weights != p->n_weights || h.n_running != p->n_running)
        return err_set(err, ERR_INPUT,
                       "the checkpoint has %" PRId64 " weights and %" PRId64
                       " running statistics, its model has %" PRId64 " and %" PRId64,
                       h.n_weights, h.n_running, p->n_weights, p->n_running);
    return 0;
}

int checkpoint_restore(const struct checkpoint *c, struct gnn_network *n, struct err *err)
{
    if (checkpoint_fits(c, network_program(n), err) < 0)
        return -1;
    const char *at = c->text.buf + c->state_at;
    for (size_t i = 0; i < ARRAY_LEN(saved_parts); i++) {
        size_t bytes = (size_t)network_state_reals(n, saved_parts[i]) * sizeof(float);
        float *v = xmalloc(bytes + 1);
        memcpy(v, at, bytes);
        network_upload(n, saved_parts[i], v);
        free(v);
        at += bytes;
    }
    network_set_steps(n, c->steps);
    return network_sync(n, err);
}

void checkpoint_release(struct checkpoint *c)
{
    strbuf_release(&c->text);
}

int train_setting_match(const struct train_setting *a, const struct train_setting *b,
                        struct err *err)
{
    const struct gnn_model_config *m = &a->model, *k = &b->model;
    const struct {
        const char *name;
        double saved, now;
    } pairs[] = {
        {"layers", m->layers, k->layers},
        {"features", (double)m->features, (double)k->features},
        {"hidden width", (double)m->hidden, (double)k->hidden},
        {"classes", (double)m->classes, (double)k->classes},
        {"heads", (double)m->heads, (double)k->heads},
        {"aggregation", m->aggregate, k->aggregate},
        {"dropout", m->dropout, k->dropout},
        {"learning rate", a->lr, b->lr},
        {"batch size", (double)a->batch_size, (double)b->batch_size},
        {"sampling mode", a->sample.mode, b->sample.mode},
    };
    if (m->kind != k->kind)
        return err_set(err, ERR_USAGE, "the checkpoint is of the model %s, not %s",
                       model_name(m->kind), model_name(k->kind));
    for (size_t i = 0; i < ARRAY_LEN(pairs); i++)
        if (pairs[i].saved != pairs[i].now)
            return err_set(err, ERR_USAGE, "the checkpoint has %s %g, not %g", pairs[i].name,
                           pairs[i].saved, pairs[i].now);
    if (a->sample.seed != b->sample.seed)
        return err_set(err, ERR_USAGE, "the checkpoint has seed %" PRIu64 ", not %" PRIu64,
                       a->sample.seed, b->sample.seed);
    for (int h = 0; h < m->layers; h++)
        if (a->sample.fanout[h] != b->sample.fanout[h])
            return err_set(err, ERR_USAGE, "the checkpoint has fanout %d in hop %d, not %d",
                           (int)a->sample.fanout[h], h, (int)b->sample.fanout[h]);
    if (a->data != b->data)
        return err_set(err, ERR_USAGE,
                       "the checkpoint was trained on other data (named '%s'); "
                       "continue with that data, or train anew without --resume",
                       a->data_name);
    return 0;
}
