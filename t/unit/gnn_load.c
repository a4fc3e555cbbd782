/* Tests datasets on disk, and the threads that prepare batches from them. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/util.h"
#include "gnn/load/digest.h"
#include "gnn/load/loader.h"
#include "gnn/load/save_batch.h"
#include "gnn/make/make.h"
#include "gnn/read/npy.h"
#include "sys/file.h"

struct rig {
    struct temp_dir temp;
    char *dir;
    struct dataset data;
};

static int set_up(void **state)
{
    struct rig *r = xcalloc(1, sizeof *r);
    struct made m;
    struct err err = ERR_INIT;
    if (temp_dir_make(&r->temp, &err) < 0)
        return -1;
    r->dir = xasprintf("%s/data", r->temp.path);
    const struct make_options o = {.dir = r->dir,
                                   .made_by = "a test",
                                   .nodes = 2000,
                                   .edges = 20000,
                                   .classes = 5,
                                   .dim = 7,
                                   .type = GNN_F16,
                                   .seed = 1,
                                   .memory_bytes = 1 << 20,
                                   .train = 0.5,
                                   .valid = 0.2};
    const struct blocks_options b = {.pareto = 1.6, .within = 0.5, .noise = 3};
    *state = r;
    return make_blocks(&o, &b, &m, &err) < 0 || dataset_open(&r->data, r->dir, DATASET_READ, &err);
}

static int tear_down(void **state)
{
    struct rig *r = *state;
    dataset_release(&r->data);
    temp_dir_release(&r->temp);
    free(r->dir);
    free(r);
    return 0;
}

static struct loader_options options(int threads, int slots)
{
    return (struct loader_options){.sample = {.hops = 2, .fanout = {5, 3}, .seed = 4},
                                   .batch_size = 64,
                                   .threads = threads,
                                   .slots = slots,
                                   .shuffle = true};
}

/* Returns the sum of the digests of an epoch's batches, and adds their number to *batches. Checks
 * the order of the batches, unless the loader gives them as they get ready. */
static uint64_t epoch_digest(const struct rig *r, const struct loader_options *o, int64_t epoch,
                             int64_t *batches)
{
    struct loader *l;
    const struct gnn_batch *b;
    uint64_t sum = 0;
    int64_t n = 0, rc;
    assert_int_equal(loader_open(&l, &r->data, o, NULL), 0);
    assert_int_equal(loader_start(l, r->data.train, epoch, NULL), 0);
    while ((rc = loader_next(l, &b, NULL)) > 0) {
        if (!o->as_ready)
            assert_int_equal(b->index, n);
        sum += batch_digest(b);
        n++;
        loader_give_back(l, b);
    }
    assert_int_equal(rc, 0);
    assert_int_equal(n, loader_batches(l));
    loader_close(l);
    *batches += n;
    return sum;
}

static void batches_do_not_depend_on_threads(void **state)
{
    int64_t n = 0, want = (1000 + 63) / 64;
    struct loader_options o = options(1, 1);
    uint64_t first = epoch_digest(*state, &o, 3, &n);
    assert_int_equal(n, want);
    for (int threads = 1; threads <= 4; threads *= 2)
        for (int slots = 1; slots <= 5; slots += 2) {
            o = options(threads, slots);
            o.as_ready = slots == 3;
            assert_true(epoch_digest(*state, &o, 3, &n) == first);
        }
    assert_true(epoch_digest(*state, &o, 4, &n) != first);
    o.sample.seed++;
    assert_true(epoch_digest(*state, &o, 3, &n) != first);
}

/* Returns a hash of seed number `seed` of a batch and of its sampled neighbours. If ranks share a
 * batch, a seed has the same sampled neighbours as in the whole batch. */
static uint64_t sample_digest(const struct gnn_batch *b, int64_t seed)
{
    uint64_t sum = (uint64_t)b->node[seed];
    for (int32_t e = b->row[0][seed]; e < b->row[0][seed + 1]; e++)
        sum = sum * 0x100000001b3u + (uint64_t)b->node[b->col[0][e]];
    return sum;
}

/* Sets of[i] to the sample digest of seed i of the epoch, for all seeds of this rank. Adds the
 * number of these seeds to *seeds. */
static void seeds_of_rank(const struct rig *r, const struct loader_options *o, uint64_t *of,
                          int64_t *seeds)
{
    struct loader *l;
    const struct gnn_batch *b;
    assert_int_equal(loader_open(&l, &r->data, o, NULL), 0);
    assert_int_equal(loader_start(l, r->data.train, 5, NULL), 0);
    while (loader_next(l, &b, NULL) > 0) {
        for (int64_t i = 0; i < b->n_nodes[0]; i++)
            of[b->first + i] = sample_digest(b, i);
        *seeds += b->n_nodes[0];
        loader_give_back(l, b);
    }
    loader_close(l);
}

static void ranks_share_every_batch(void **state)
{
    static uint64_t whole[1000], parts[1000];
    int64_t n = 0;
    struct loader_options o = options(2, 3);
    seeds_of_rank(*state, &o, whole, &n);
    assert_int_equal(n, 1000);
    for (o.ranks = 2; o.ranks <= 70; o.ranks *= 3) { /* a batch has 64 seeds, the last one 40 */
        n = 0;
        memset(parts, 0, sizeof parts);
        for (o.rank = 0; o.rank < o.ranks; o.rank++)
            seeds_of_rank(*state, &o, parts, &n);
        assert_int_equal(n, 1000);
        assert_memory_equal(parts, whole, sizeof whole);
    }
}

static void batches_hold_their_rows(void **state)
{
    const struct rig *r = *state;
    const struct loader_options o = options(2, 2);
    struct loader *l;
    const struct gnn_batch *b;
    assert_int_equal(loader_open(&l, &r->data, &o, NULL), 0);
    assert_int_equal(loader_start(l, r->data.test, 0, NULL), 0);
    while (loader_next(l, &b, NULL) > 0) {
        for (int64_t i = 0; i < b->n_nodes[b->hops]; i++)
            assert_memory_equal((const char *)b->feature + i * 14,
                                (const char *)r->data.feature + b->node[i] * 14, 14);
        for (int64_t i = 0; i < b->n_nodes[0]; i++)
            assert_int_equal(b->label[i], r->data.label[b->node[i]]);
        loader_give_back(l, b);
    }
    loader_close(l);
}

/* ---- endings --------------------------------------------------------------------------------- */

static int fail_at_five(void *ctx, int64_t index, struct err *err)
{
    (void)ctx;
    return index == 5 ? err_set(err, ERR_SYSTEM, "the test says no") : 0;
}

/* ---- batches in one piece of memory ---- */

struct pieces {
    atomic_int grabbed, held;
    int most; /* grab() fails after this many */
};

static void *grab(void *ctx, size_t bytes, struct err *err)
{
    struct pieces *p = ctx;
    if (atomic_fetch_add(&p->grabbed, 1) >= p->most) {
        err_set(err, ERR_ENV, "there are no more pieces");
        return NULL;
    }
    atomic_fetch_add(&p->held, 1);
    return aligned_alloc(PACK_ALIGN, bytes);
}

static void drop(void *ctx, void *p)
{
    struct pieces *s = ctx;
    atomic_fetch_sub(&s->held, 1);
    free(p);
}

static void in_piece(const struct gnn_batch *b, const void *array, size_t bytes)
{
    const char *p = array, *base = b->packed;
    assert_true(p >= base && p + bytes <= base + b->packed_bytes);
    assert_true((p - base) % PACK_ALIGN == 0);
}

static void packed_batches_are_the_same(void **state)
{
    const struct rig *r = *state;
    struct pieces pieces = {.most = INT32_MAX};
    const struct batch_memory memory = {grab, drop, &pieces};
    int64_t n = 0;
    struct loader_options o = options(2, 3);
    uint64_t want = epoch_digest(r, &o, 3, &n);
    o.memory = &memory;
    assert_true(epoch_digest(r, &o, 3, &n) == want);
    assert_int_equal(atomic_load(&pieces.held), 0);

    struct loader *l;
    const struct gnn_batch *b;
    assert_int_equal(loader_open(&l, &r->data, &o, NULL), 0);
    /* Nobody takes a batch yet, so the threads fill all three slots. */
    int before = atomic_load(&pieces.grabbed);
    assert_int_equal(loader_start(l, r->data.train, 3, NULL), 0);
    for (int i = 0; i < 60000 && atomic_load(&pieces.grabbed) < before + 3; i++)
        usleep(1000);
    assert_int_equal(atomic_load(&pieces.grabbed), before + 3);
    assert_int_equal(loader_next(l, &b, NULL), 1);
    in_piece(b, b->feature, (size_t)(b->n_nodes[2] * b->feature_dim) * 2);
    in_piece(b, b->label, (size_t)b->n_nodes[0] * 4);
    in_piece(b, b->node, (size_t)b->n_nodes[2] * 4);
    for (int h = 0; h < 2; h++) {
        in_piece(b, b->row[h], (size_t)(b->n_nodes[h] + 1) * 4);
        in_piece(b, b->col[h], (size_t)b->n_edges[h] * 4);
    }
    loader_close(l);
    assert_int_equal(atomic_load(&pieces.held), 0);
}

static void memory_that_ends_is_an_error(void **state)
{
    const struct rig *r = *state;
    struct pieces pieces = {.most = 1};
    const struct batch_memory memory = {grab, drop, &pieces};
    struct loader_options o = options(1, 2);
    struct loader *l;
    const struct gnn_batch *b;
    struct err err = ERR_INIT;
    int rc;
    o.memory = &memory;
    assert_int_equal(loader_open(&l, &r->data, &o, NULL), 0);
    assert_int_equal(loader_start(l, r->data.train, 0, NULL), 0);
    while ((rc = loader_next(l, &b, &err)) > 0) /* keeps the only piece: the next batch fails */
        ;
    assert_int_equal(rc, -1);
    assert_non_null(strstr(err.msg, "there are no more pieces"));
    loader_close(l);
    assert_int_equal(atomic_load(&pieces.held), 0);
}

static void a_failing_thread_is_an_error(void **state)
{
    const struct rig *r = *state;
    for (int threads = 1; threads <= 4; threads++) {
        struct loader_options o = options(threads, 3);
        struct loader *l;
        const struct gnn_batch *b;
        struct err err = ERR_INIT;
        int rc, n = 0;
        o.before = fail_at_five;
        assert_int_equal(loader_open(&l, &r->data, &o, NULL), 0);
        assert_int_equal(loader_start(l, r->data.train, 2, NULL), 0);
        while ((rc = loader_next(l, &b, &err)) > 0) {
            loader_give_back(l, b);
            n++;
        }
        assert_int_equal(rc, -1);
        assert_true(n <= 5);
        assert_non_null(strstr(err.msg, "batch 5 of epoch 2: the test says no"));
        assert_int_equal(loader_next(l, &b, &err), -1); /* the error stays */
        loader_close(l);
    }
}

struct canceller {
    struct loader *l;
    unsigned after_us;
};

static void *cancel_later(void *arg)
{
    struct canceller *c = arg;
    usleep(c->after_us);
    loader_cancel(c->l);
    return NULL;
}

/* Another thread cancels an epoch, each time after another delay. Then a new epoch of the same
 * loader has all its batches. */
static void cancel_at_any_moment(void **state)
{
    const struct rig *r = *state;
    const struct loader_options o = options(2, 2);
    int64_t n = 0;
    uint64_t whole = epoch_digest(r, &o, 1, &n);
    struct loader *l;
    assert_int_equal(loader_open(&l, &r->data, &o, NULL), 0);
    for (unsigned t = 0; t < 40; t++) {
        const struct gnn_batch *b;
        struct canceller c = {l, t * 25};
        pthread_t thread;
        assert_int_equal(loader_start(l, r->data.train, 0, NULL), 0);
        assert_int_equal(pthread_create(&thread, NULL, cancel_later, &c), 0);
        while (loader_next(l, &b, NULL) > 0)
            loader_give_back(l, b);
        pthread_join(thread, NULL);
        uint64_t sum = 0;
        assert_int_equal(loader_start(l, r->data.train, 1, NULL), 0);
        while (loader_next(l, &b, NULL) > 0) {
            sum += batch_digest(b);
            loader_give_back(l, b);
        }
        assert_true(sum == whole);
    }
    loader_close(l);
}

/* A loader can always be closed: before an epoch begins, before the first batch is taken, with a
 * batch in use, and with all slots full. */
static void close_in_any_state(void **state)
{
    const struct rig *r = *state;
    const struct gnn_batch *b;
    for (unsigned t = 0; t < 20; t++) {
        const struct loader_options o = options(4, 2);
        struct loader *l;
        assert_int_equal(loader_open(&l, &r->data, &o, NULL), 0);
        if (t % 4 > 0)
            assert_int_equal(loader_start(l, r->data.train, 0, NULL), 0);
        if (t % 4 > 1)
            assert_int_equal(loader_next(l, &b, NULL), 1);
        if (t % 4 > 2)
            usleep(2000);
        loader_close(l);
    }
}

static void bad_options_are_errors(void **state)
{
    const struct rig *r = *state;
    struct loader *l;
    struct loader_options o = options(0, 1);
    assert_int_equal(loader_open(&l, &r->data, &o, NULL), -1);
    o = options(1, 0);
    assert_int_equal(loader_open(&l, &r->data, &o, NULL), -1);
    o = options(1, 1);
    o.batch_size = 0;
    assert_int_equal(loader_open(&l, &r->data, &o, NULL), -1);
    o = options(1, 1);
    o.rank = 1;
    assert_int_equal(loader_open(&l, &r->data, &o, NULL), -1);
}

/* ---- writing --------------------------------------------------------------------------------- */

/* With little memory, edges are sorted in many ranges (edge_sort.h). The files must be the same. */
static void sorting_in_parts_changes_nothing(void **state)
{
    const struct rig *r = *state;
    char *dir = xasprintf("%s/again", r->temp.path);
    const struct make_options o = {.dir = dir,
                                   .made_by = "a test",
                                   .nodes = 2000,
                                   .edges = 20000,
                                   .classes = 5,
                                   .dim = 7,
                                   .type = GNN_F16,
                                   .seed = 1,
                                   .memory_bytes = 256 << 10,
                                   .train = 0.5,
                                   .valid = 0.2};
    const struct blocks_options b = {.pareto = 1.6, .within = 0.5, .noise = 3};
    struct made m;
    struct err err = ERR_INIT;
    struct dataset d;
    assert_int_equal(make_blocks(&o, &b, &m, &err), 0);
    assert_int_equal(dataset_open(&d, dir, DATASET_MAP, &err), 0);
    for (int f = 0; f < DATA_FILES; f++)
        assert_true(d.manifest.file[f].sum == r->data.manifest.file[f].sum);
    for (int64_t v = 0; v < d.graph.nodes; v++)
        for (int64_t e = d.graph.offset[v]; e < d.graph.offset[v + 1]; e++) {
            int32_t u = d.graph.neighbour[e];
            bool back = false;
            for (int64_t k = d.graph.offset[u]; k < d.graph.offset[u + 1]; k++)
                back |= d.graph.neighbour[k] == v;
            assert_true(back && u != v);
        }
    dataset_release(&d);
    free(dir);
}

/* Reads DIR/NAME.npy and compares its values with an array. */
static void has_ints(const char *dir, const char *name, const int32_t *want, int64_t n)
{
    char *path = xasprintf("%s/%s.npy", dir, name);
    int64_t *got = xcalloc((size_t)n + 1, sizeof *got);
    struct bytes b;
    struct stream *s;
    struct npy a;
    assert_int_equal(bytes_open(&b, path, NULL), 0);
    assert_int_equal(stream_open(&s, &b, STREAM_PLAIN, 0, b.size, NULL), 0);
    assert_int_equal(npy_header(&a, s, name, NULL), 0);
    assert_int_equal(a.dims, 1);
    assert_int_equal(a.shape[0], n);
    assert_int_equal(npy_ints(&a, s, got, n, NULL), 0);
    assert_int_equal(stream_read(s, got + n, 1, NULL), 0); /* nothing follows */
    for (int64_t i = 0; i < n; i++)
        assert_int_equal(got[i], want[i]);
    stream_close(s);
    bytes_close(&b);
    free(got);
    free(path);
}

static void saved_batches_read_back(void **state)
{
    const struct rig *r = *state;
    const struct loader_options o = options(1, 2);
    char *dir = xasprintf("%s/saved", r->temp.path), *first = xasprintf("%s/0", dir),
         *path = xasprintf("%s/feature.npy", first);
    const struct gnn_batch *b;
    struct loader *l;
    struct bytes bytes;
    unsigned char row[14];
    assert_int_equal(loader_open(&l, &r->data, &o, NULL), 0);
    assert_int_equal(loader_start(l, r->data.train, 0, NULL), 0);
    assert_int_equal(loader_next(l, &b, NULL), 1);
    assert_int_equal(save_batch(b, dir, NULL), 0);
    has_ints(first, "node", b->node, b->n_nodes[2]);
    has_ints(first, "row0", b->row[0], b->n_nodes[0] + 1);
    has_ints(first, "col1", b->col[1], b->n_edges[1]);
    has_ints(first, "label", b->label, b->n_nodes[0]);
    assert_int_equal(bytes_open(&bytes, path, NULL), 0); /* rows of 7 numbers of 2 bytes */
    assert_int_equal(bytes_read(&bytes, row, 14, bytes.size - 14, NULL), 0);
    assert_memory_equal(row, (const char *)b->feature + (b->n_nodes[2] - 1) * 14, 14);
    bytes_close(&bytes);
    assert_int_equal(save_batch(b, "/proc/nowhere", NULL), -1);
    loader_give_back(l, b);
    loader_close(l);
    free(path);
    free(first);
    free(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(batches_do_not_depend_on_threads),
        cmocka_unit_test(ranks_share_every_batch),
        cmocka_unit_test(batches_hold_their_rows),
        cmocka_unit_test(packed_batches_are_the_same),
        cmocka_unit_test(memory_that_ends_is_an_error),
        cmocka_unit_test(a_failing_thread_is_an_error),
        cmocka_unit_test(cancel_at_any_moment),
        cmocka_unit_test(close_in_any_state),
        cmocka_unit_test(bad_options_are_errors),
        cmocka_unit_test(saved_batches_read_back),
        cmocka_unit_test(sorting_in_parts_changes_nothing),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
