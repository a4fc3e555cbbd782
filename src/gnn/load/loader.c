/*
 * loader.c - the threads and the slots behind loader.h. One mutex guards all but the contents of a
 * FILLING slot, which belong to the thread that fills it.
 *
 * A slot goes round:      FREE --thread--> FILLING --thread--> READY --loader_next--> TAKEN
 *                           ^                                                           |
 *                           +----------------------- loader_give_back ------------------+
 *
 * Invariants, whenever the mutex is free:
 *   1. A thread takes a free slot and the batch number `next` together. So the lowest undelivered
 *      batch has a slot or gets the next free one, and delivery in order cannot deadlock.
 *   2. Threads take batch numbers only while `state` is RUNNING. After loader_cancel or a failure,
 *      FILLING slots become FREE when their threads are done.
 *   3. `filling` counts the FILLING slots. loader_start waits until it is 0.
 */
#include "gnn/load/loader.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/util.h"
#include "gnn/load/slice.h"
#include "gnn/sample/shuffle_core.h"
#include "sys/interrupt.h"

enum slot_state { FREE, FILLING, READY, TAKEN };
enum epoch_state { IDLE, RUNNING, CANCELLED, FAILED };

struct slot {
    struct gnn_batch batch; /* first, so that a batch has the address of its slot */
    enum slot_state state;
    struct batch_space space;
    struct pages feature;
    struct packed packed; /* all arrays, if the options have `memory`; then `feature` is unused */
    int32_t *label, *seed;
};

struct loader {
    struct loader_options o;
    const struct dataset *data;
    pthread_mutex_t lock;
    pthread_cond_t work, ready; /* threads wait for `work`, the consumer for `ready` */
    struct slot *slots;
    pthread_t *threads;
    int n_threads;
    enum epoch_state state;
    bool quit;
    atomic_bool cancel; /* tells samplers to end early */
    struct err failure;
    struct id_list ids;
    int64_t epoch, n_batches;
    int64_t next, deliver; /* the next batch to prepare, and the next one to deliver */
    int64_t delivered;     /* delivered or skipped batches of the epoch */
    int filling;
    struct loader_times times;
};

static uint64_t thread_cpu_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* ---- preparing one batch --------------------------------------------------------------------- */

/* Writes this rank's seeds of a batch to `seed` and returns their number. *position is the first
 * seed's place in the epoch's list. */
static int64_t seeds_of(const struct loader *l, int64_t index, int32_t *seed, int64_t *position)
{
    int64_t start = index * l->o.batch_size, all = MIN(l->o.batch_size, l->ids.n - start);
    int64_t first = start + all * l->o.rank / l->o.ranks;
    int64_t n = start + all * (l->o.rank + 1) / l->o.ranks - first;
    *position = first;
    for (int64_t i = 0; i < n; i++) {
        uint32_t at = (uint32_t)(first + i);
        if (l->o.shuffle)
            at = shuffle_at(l->o.sample.seed, (uint32_t)l->epoch, (uint32_t)l->ids.n, at);
        seed[i] = l->ids.id[at];
    }
    return n;
}

static size_t feature_row_bytes(const struct loader *l)
{
    const struct manifest *m = &l->data->manifest;
    return l->data->feature ? (size_t)m->feature_dim * gnn_type_bytes(m->feature_type) : 0;
}

/* Sets b->feature and b->label to memory that slice() then fills. If the options have `memory`,
 * also packs the other arrays of the batch. */
static int place(struct loader *l, struct slot *s, struct err *err)
{
    struct gnn_batch *b = &s->batch;
    if (l->o.memory && !l->o.seeds_only)
        return pack_batch(&s->packed, l->o.memory, b, l->o.no_slice ? 0 : feature_row_bytes(l),
                          l->data->label && !l->o.no_slice, err);
    b->feature = s->feature.base;
    b->label = s->label;
    return 0;
}

static void slice(struct loader *l, struct slot *s)
{
    struct gnn_batch *b = &s->batch;
    const struct manifest *m = &l->data->manifest;
    void *feature = (void *)b->feature, *label = (void *)b->label;
    b->feature = NULL;
    b->label = NULL;
    if (l->o.no_slice)
        return;
    if (l->data->feature && !l->o.seeds_only) {
        slice_rows(feature, l->data->feature, feature_row_bytes(l), b->node, b->n_nodes[b->hops]);
        b->feature = feature;
        b->feature_type = m->feature_type;
        b->feature_dim = m->feature_dim;
    }
    if (l->data->label) {
        slice_rows(label, l->data->label, sizeof *s->label, b->node, b->n_nodes[0]);
        b->label = label;
    }
}

static int prepare(struct loader *l, struct sampler *sampler, struct slot *s, int64_t index,
                   struct loader_times *t, struct err *err)
{
    if (l->o.before && l->o.before(l->o.ctx, index, err) < 0)
        return -1;
    uint64_t start = thread_cpu_ns(), began = now_ns();
    int64_t first, n = seeds_of(l, index, s->seed, &first);
    int rc = 0;
    if (l->o.seeds_only)
        s->batch = (struct gnn_batch){.n_nodes = {n},
                                      .node = s->seed,
                                      .seed = l->o.sample.seed,
                                      .epoch = l->epoch,
                                      .index = index};
    else
        rc = sampler_run(sampler, s->seed, n, l->epoch, index, &s->space, &s->batch, err);
    s->batch.first = first;
    uint64_t sampled = thread_cpu_ns();
    trace_add(l->o.trace, "sample", began, l->epoch, index);
    began = now_ns();
    if (rc == 0)
        rc = place(l, s, err);
    if (rc == 0)
        slice(l, s);
    trace_add(l->o.trace, "slice", began, l->epoch, index);
    t->sample_ns = sampled - start;
    t->slice_ns = thread_cpu_ns() - sampled;
    return rc;
}

/* ---- threads --------------------------------------------------------------------------------- */

static struct slot *find_slot(struct loader *l, enum slot_state state)
{
    for (int i = 0; i < l->o.slots; i++)
        if (l->slots[i].state == state)
            return &l->slots[i];
    return NULL;
}

/* Waits for a free slot and a batch to prepare. Returns the slot and sets *index to the batch's
 * number, or returns NULL if the thread must end. */
static struct slot *take_work(struct loader *l, int64_t *index)
{
    struct slot *s = NULL;
    while (!l->quit && !(l->state == RUNNING && l->next < l->n_batches && (s = find_slot(l, FREE))))
        pthread_cond_wait(&l->work, &l->lock);
    if (l->quit)
        return NULL;
    *index = l->next;
    l->next++;
    s->state = FILLING;
    l->filling++;
    return s;
}

static void fail(struct loader *l, const struct err *err)
{
    if (l->state != RUNNING)
        return;
    l->state = FAILED;
    l->failure = *err;
    atomic_store(&l->cancel, true);
}

static void *thread_main(void *arg)
{
    struct loader *l = arg;
    struct err err = ERR_INIT;
    struct sampler sampler;
    int64_t index = 0;
    int usable = sampler_init(&sampler, &l->data->graph, &l->o.sample, &err);
    sampler.cancel = &l->cancel;
    trace_name(l->o.trace, "prepares batches");
    pthread_mutex_lock(&l->lock);
    for (struct slot *s; (s = take_work(l, &index));) {
        struct loader_times t = {0};
        pthread_mutex_unlock(&l->lock);
        int rc = usable < 0 ? -1 : prepare(l, &sampler, s, index, &t, &err);
        pthread_mutex_lock(&l->lock);
        l->times.sample_ns += t.sample_ns;
        l->times.slice_ns += t.slice_ns;
        l->filling--;
        s->state = rc == 0 && l->state == RUNNING ? READY : FREE;
        if (rc < 0) {
            err_prefix(&err, "batch %" PRId64 " of epoch %" PRId64, index, l->epoch);
            fail(l, &err);
        }
        pthread_cond_broadcast(&l->ready);
    }
    pthread_mutex_unlock(&l->lock);
    sampler_release(&sampler);
    return NULL;
}

/* ---- opening and closing --------------------------------------------------------------------- */

static int check_options(const struct loader_options *o, struct err *err)
{
    if (o->batch_size < 1 || o->batch_size > INT32_MAX)
        return err_set(err, ERR_USAGE, "a batch has 1 to %d seeds, not %" PRId64, INT32_MAX,
                       o->batch_size);
    if (o->threads < 1 || o->threads > LOADER_MAX_THREADS)
        return err_set(err, ERR_USAGE, "the number of threads is from 1 to %d, not %d",
                       LOADER_MAX_THREADS, o->threads);
    if (o->slots < 1 || o->slots > LOADER_MAX_SLOTS)
        return err_set(err, ERR_USAGE, "the number of slots is from 1 to %d, not %d",
                       LOADER_MAX_SLOTS, o->slots);
    if (o->ranks < 1 || o->rank < 0 || o->rank >= o->ranks)
        return err_set(err, ERR_USAGE, "rank %d of %d does not exist", o->rank, o->ranks);
    return sample_options_check(&o->sample, err);
}

static int slot_init(struct slot *s, const struct loader *l, struct err *err)
{
    bool own = !l->o.no_slice && !l->o.memory;
    int64_t seeds = (l->o.batch_size + l->o.ranks - 1) / l->o.ranks;
    if (batch_space_init(&s->space, &l->data->graph, &l->o.sample, seeds, err) < 0)
        return -1;
    s->seed = xcalloc((size_t)s->space.seeds + 1, sizeof *s->seed);
    s->label = xcalloc((size_t)s->space.seeds + 1, sizeof *s->label);
    return pages_reserve(&s->feature, own ? (size_t)s->space.nodes * feature_row_bytes(l) : 0, err);
}

static int start_threads(struct loader *l, struct err *err)
{
    for (; l->n_threads < l->o.threads; l->n_threads++) {
        int e = pthread_create(&l->threads[l->n_threads], NULL, thread_main, l);
        if (e)
            return err_set(err, ERR_SYSTEM, "cannot start thread %d: %s", l->n_threads,
                           strerror(e));
    }
    return 0;
}

int loader_open(struct loader **out, const struct dataset *d, const struct loader_options *o,
                struct err *err)
{
    struct loader *l = xcalloc(1, sizeof *l);
    pthread_condattr_t attr;
    l->o = *o;
    l->o.ranks = MAX(1, o->ranks);
    l->data = d;
    pthread_mutex_init(&l->lock, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&l->work, NULL);
    pthread_cond_init(&l->ready, &attr);
    pthread_condattr_destroy(&attr);
    if (check_options(&l->o, err) < 0)
        goto fail;
    l->slots = xcalloc((size_t)l->o.slots, sizeof *l->slots);
    l->threads = xcalloc((size_t)l->o.threads, sizeof *l->threads);
    for (int i = 0; i < l->o.slots; i++)
        if (slot_init(&l->slots[i], l, err) < 0)
            goto fail;
    if (start_threads(l, err) == 0) {
        *out = l;
        return 0;
    }
fail:
    loader_close(l);
    return -1;
}

void loader_close(struct loader *l)
{
    if (!l)
        return;
    pthread_mutex_lock(&l->lock);
    l->quit = true;
    atomic_store(&l->cancel, true);
    pthread_cond_broadcast(&l->work);
    pthread_mutex_unlock(&l->lock);
    for (int i = 0; i < l->n_threads; i++)
        pthread_join(l->threads[i], NULL);
    for (int i = 0; l->slots && i < l->o.slots; i++) {
        batch_space_release(&l->slots[i].space);
        pages_release(&l->slots[i].feature);
        packed_release(&l->slots[i].packed, l->o.memory);
        free(l->slots[i].seed);
        free(l->slots[i].label);
    }
    pthread_cond_destroy(&l->work);
    pthread_cond_destroy(&l->ready);
    pthread_mutex_destroy(&l->lock);
    free(l->slots);
    free(l->threads);
    free(l);
}

/* ---- the consumer ---------------------------------------------------------------------------- */

static void end_epoch(struct loader *l, enum epoch_state state)
{
    l->state = state;
    atomic_store(&l->cancel, true);
    pthread_cond_broadcast(&l->ready);
}

void loader_cancel(struct loader *l)
{
    pthread_mutex_lock(&l->lock);
    if (l->state == RUNNING)
        end_epoch(l, CANCELLED);
    pthread_mutex_unlock(&l->lock);
}

int loader_start(struct loader *l, struct id_list ids, int64_t epoch, struct err *err)
{
    return loader_continue(l, ids, epoch, 0, err);
}

int loader_continue(struct loader *l, struct id_list ids, int64_t epoch, int64_t skip,
                    struct err *err)
{
    if (epoch < 0 || epoch > UINT32_MAX)
        return err_set(err, ERR_USAGE, "epoch %" PRId64 ": out of range", epoch);
    pthread_mutex_lock(&l->lock);
    end_epoch(l, IDLE);
    while (l->filling)
        pthread_cond_wait(&l->ready, &l->lock);
    for (int i = 0; i < l->o.slots; i++)
        if (l->slots[i].state != TAKEN)
            l->slots[i].state = FREE;
    l->ids = ids;
    l->epoch = epoch;
    l->n_batches = (ids.n + l->o.batch_size - 1) / l->o.batch_size;
    skip = MIN(skip, loader_batches(l));
    l->next = l->deliver = l->delivered = skip;
    l->state = RUNNING;
    atomic_store(&l->cancel, false);
    pthread_cond_broadcast(&l->work);
    pthread_mutex_unlock(&l->lock);
    return 0;
}

int64_t loader_batches(const struct loader *l)
{
    return l->n_batches;
}

static struct slot *next_ready(struct loader *l)
{
    for (int i = 0; i < l->o.slots; i++) {
        struct slot *s = &l->slots[i];
        if (s->state == READY && (l->o.as_ready || s->batch.index == l->deliver))
            return s;
    }
    return NULL;
}

static bool all_taken(const struct loader *l)
{
    for (int i = 0; i < l->o.slots; i++)
        if (l->slots[i].state != TAKEN)
            return false;
    return true;
}

static void wait_ready(struct loader *l, uint64_t ns)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    ns += (uint64_t)t.tv_nsec;
    t.tv_sec += (time_t)(ns / 1000000000u);
    t.tv_nsec = (long)(ns % 1000000000u);
    pthread_cond_timedwait(&l->ready, &l->lock, &t);
}

static int next_locked(struct loader *l, uint64_t until_ns, const struct gnn_batch **out,
                       struct err *err)
{
    /* A signal handler cannot signal a condition variable, so we look for Ctrl-C now and then. */
    const uint64_t nap_ns = 200000000;
    for (;;) {
        struct slot *s = NULL;
        if (l->state == FAILED) {
            if (err)
                *err = l->failure;
            return -1;
        }
        if (l->state == CANCELLED)
            return err_set(err, ERR_LIMIT, "the epoch was cancelled");
        if (l->state == IDLE || l->delivered == loader_batches(l))
            return 0;
        if ((s = next_ready(l))) {
            s->state = TAKEN;
            l->deliver++;
            l->delivered++;
            *out = &s->batch;
            return 1;
        }
        if (all_taken(l))
            return err_set(err, ERR_USAGE,
                           "all %d slots hold batches that are in use; give one back, or open the "
                           "loader with more slots",
                           l->o.slots);
        if (interrupt_check(err) < 0)
            return -1;
        uint64_t now = now_ns();
        if (now >= until_ns)
            return LOADER_NOT_YET;
        wait_ready(l, MIN(nap_ns, until_ns - now));
    }
}

static int next_until(struct loader *l, uint64_t until_ns, const struct gnn_batch **out,
                      struct err *err)
{
    uint64_t start = now_ns();
    pthread_mutex_lock(&l->lock);
    int rc = next_locked(l, until_ns, out, err);
    l->times.wait_ns += now_ns() - start;
    pthread_mutex_unlock(&l->lock);
    return rc;
}

int loader_next(struct loader *l, const struct gnn_batch **out, struct err *err)
{
    return next_until(l, UINT64_MAX, out, err);
}

int loader_next_within(struct loader *l, int64_t ms, const struct gnn_batch **out, struct err *err)
{
    return next_until(l, now_ns() + (uint64_t)MIN(MAX(ms, 0), INT32_MAX) * 1000000u, out, err);
}

void loader_give_back(struct loader *l, const struct gnn_batch *b)
{
    pthread_mutex_lock(&l->lock);
    for (int i = 0; i < l->o.slots; i++)
        if (&l->slots[i].batch == b)
            l->slots[i].state = FREE;
    pthread_cond_signal(&l->work);
    pthread_mutex_unlock(&l->lock);
}

struct loader_times loader_times(struct loader *l)
{
    pthread_mutex_lock(&l->lock);
    struct loader_times t = l->times;
    pthread_mutex_unlock(&l->lock);
    return t;
}
