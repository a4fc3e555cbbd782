/* Tests the C interface of libhone_gnn.so: tensors and how long they live, errors, forks. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/util.h"
#include "gnn/api/hone_gnn.h"
#include "gnn/load/digest.h"
#include "gnn/load/loader.h"
#include "gnn/make/make.h"
#include "sys/file.h"

static struct {
    struct temp_dir temp;
    char *dir;
    struct hone_gnn_data *data;
} rig;

static int set_up(void **state)
{
    struct made m;
    struct err err = ERR_INIT;
    if (temp_dir_make(&rig.temp, &err) < 0)
        return -1;
    rig.dir = xasprintf("%s/data", rig.temp.path);
    const struct make_options o = {.dir = rig.dir,
                                   .made_by = "a test",
                                   .nodes = 1000,
                                   .edges = 8000,
                                   .classes = 5,
                                   .dim = 7,
                                   .type = GNN_F32,
                                   .seed = 1,
                                   .memory_bytes = 1 << 20,
                                   .train = 0.5,
                                   .valid = 0.2};
    const struct blocks_options b = {.pareto = 1.6, .within = 0.5, .noise = 3};
    if (make_blocks(&o, &b, &m, &err) < 0)
        return -1;
    rig.data = hone_gnn_data_open(rig.dir, "read");
    return rig.data ? 0 : -1;
}

static int tear_down(void **state)
{
    hone_gnn_data_close(rig.data);
    temp_dir_release(&rig.temp);
    free(rig.dir);
    return 0;
}

static struct hone_gnn_options options(void)
{
    return (struct hone_gnn_options){.size = sizeof(struct hone_gnn_options),
                                     .split = "train",
                                     .batch_size = 64,
                                     .sampler = "uniform",
                                     .fanout = {5, 3},
                                     .hops = 2,
                                     .seed = 4,
                                     .threads = 2,
                                     .slots = 3,
                                     .ranks = 1,
                                     .shuffle = 1};
}

static struct hone_gnn_loader *open_with(const struct hone_gnn_options *o)
{
    struct hone_gnn_loader *l = hone_gnn_open(rig.data, o);
    assert_non_null(l);
    assert_int_equal(hone_gnn_start(l, 0, 0), 0);
    return l;
}

static struct hone_gnn_batch *next(struct hone_gnn_loader *l)
{
    struct hone_gnn_batch *b = NULL;
    assert_int_equal(hone_gnn_next(l, -1, &b), 1);
    return b;
}

/* Returns the sum of the digests of the batches of epoch 0. Uses the loader of loader.h, without
 * the C interface. */
static uint64_t epoch_digest(void)
{
    struct dataset d;
    struct loader *l;
    const struct gnn_batch *b;
    uint64_t sum = 0;
    const struct loader_options o = {.sample = {.hops = 2, .fanout = {5, 3}, .seed = 4},
                                     .batch_size = 64,
                                     .threads = 1,
                                     .slots = 1,
                                     .shuffle = true};
    assert_int_equal(dataset_open(&d, rig.dir, DATASET_MAP, NULL), 0);
    assert_int_equal(loader_open(&l, &d, &o, NULL), 0);
    assert_int_equal(loader_start(l, d.train, 0, NULL), 0);
    while (loader_next(l, &b, NULL) > 0) {
        sum += batch_digest(b);
        loader_give_back(l, b);
    }
    loader_close(l);
    dataset_release(&d);
    return sum;
}

/* Two loaders of the C interface that are open at the same time give the same batches as the loader
 * of loader.h. */
static void batches_are_those_of_the_loader(void **state)
{
    const struct hone_gnn_options o = options();
    struct hone_gnn_loader *l[2] = {open_with(&o), open_with(&o)};
    uint64_t sum[2] = {0, 0};
    assert_int_equal(hone_gnn_batches(l[0]), (500 + 63) / 64);
    for (int64_t i = 0; i < hone_gnn_batches(l[0]); i++)
        for (int k = 0; k < 2; k++) {
            struct hone_gnn_batch *b = next(l[k]);
            assert_int_equal(hone_gnn_batch_info(b).index, i);
            sum[k] += hone_gnn_batch_digest(b);
            hone_gnn_batch_drop(b);
        }
    struct hone_gnn_batch *none;
    for (int k = 0; k < 2; k++) {
        assert_int_equal(hone_gnn_next(l[k], -1, &none), 0);
        hone_gnn_close(l[k]);
        assert_true(sum[k] == epoch_digest());
    }
}

static void tensors_show_the_batch(void **state)
{
    struct hone_gnn_options o = options();
    o.shuffle = 0;
    struct hone_gnn_loader *l = open_with(&o);
    struct hone_gnn_tensor *train = hone_gnn_data_tensor(rig.data, "train");
    struct hone_gnn_tensor *features = hone_gnn_data_tensor(rig.data, "features");
    struct hone_gnn_tensor *labels = hone_gnn_data_tensor(rig.data, "labels");
    struct hone_gnn_batch *b = next(l);
    struct hone_gnn_batch_info info = hone_gnn_batch_info(b);
    struct hone_gnn_tensor *node = hone_gnn_batch_tensor(b, HONE_GNN_NODES, 0);
    struct hone_gnn_tensor *x = hone_gnn_batch_tensor(b, HONE_GNN_FEATURES, 0);
    struct hone_gnn_tensor *y = hone_gnn_batch_tensor(b, HONE_GNN_LABELS_64, 0);
    const int32_t *id = node->data;
    assert_memory_equal(id, train->data, 64 * sizeof *id);
    assert_int_equal(node->shape[0], info.n_nodes[2]);
    assert_int_equal(x->ndim, 2);
    assert_int_equal(x->shape[0], info.n_nodes[2]);
    assert_int_equal(x->shape[1], 7);
    for (int64_t i = 0; i < x->shape[0]; i++)
        assert_memory_equal((const float *)x->data + 7 * i,
                            (const float *)features->data + 7 * id[i], 7 * sizeof(float));
    assert_int_equal(y->shape[0], info.n_nodes[0]);
    for (int64_t i = 0; i < y->shape[0]; i++)
        assert_int_equal(((const int64_t *)y->data)[i], ((const int32_t *)labels->data)[id[i]]);
    for (int h = 0; h < 2; h++) {
        struct hone_gnn_tensor *row = hone_gnn_batch_tensor(b, HONE_GNN_ROW, h);
        struct hone_gnn_tensor *col = hone_gnn_batch_tensor(b, HONE_GNN_COL, h);
        struct hone_gnn_tensor *edges = hone_gnn_batch_tensor(b, HONE_GNN_EDGES, h);
        const int32_t *at = row->data;
        const int64_t *e = edges->data;
        assert_int_equal(row->shape[0], info.n_nodes[h] + 1);
        assert_int_equal(edges->shape[0], 2);
        assert_int_equal(edges->shape[1], info.n_edges[h]);
        for (int64_t t = 0; t < info.n_nodes[h]; t++)
            for (int32_t i = at[t]; i < at[t + 1]; i++) {
                assert_int_equal(e[i], ((const int32_t *)col->data)[i]);
                assert_int_equal(e[info.n_edges[h] + i], t);
            }
        hone_gnn_tensor_drop(row);
        col->deleter(col);
        hone_gnn_tensor_drop(edges);
    }
    assert_null(hone_gnn_batch_tensor(b, HONE_GNN_ROW, 2));
    assert_null(hone_gnn_batch_tensor(b, (enum hone_gnn_array)99, 0));
    struct hone_gnn_tensor *all[] = {train, features, labels, node, x, y};
    for (size_t i = 0; i < ARRAY_LEN(all); i++)
        hone_gnn_tensor_drop(all[i]);
    hone_gnn_batch_drop(b);
    hone_gnn_close(l);
}

/* A tensor keeps its memory after its batch is dropped, the next epoch has begun, and the loader
 * and the data are closed. */
static void a_tensor_outlives_everything(void **state)
{
    const struct hone_gnn_options o = options();
    struct hone_gnn_data *data = hone_gnn_data_open(rig.dir, "map");
    struct hone_gnn_loader *l = hone_gnn_open(data, &o);
    struct hone_gnn_tensor *train = hone_gnn_data_tensor(data, "train");
    hone_gnn_data_close(data);
    assert_int_equal(hone_gnn_start(l, 0, 0), 0);
    struct hone_gnn_batch *b = next(l);
    struct hone_gnn_tensor *x =
        hone_gnn_tensor_keep(hone_gnn_batch_tensor(b, HONE_GNN_FEATURES, 0));
    size_t bytes = (size_t)(x->shape[0] * x->shape[1]) * sizeof(float);
    float *copy = xmalloc(bytes);
    memcpy(copy, x->data, bytes);
    hone_gnn_batch_drop(b);
    for (int64_t epoch = 1; epoch < 4; epoch++) {
        assert_int_equal(hone_gnn_start(l, epoch, 0), 0);
        while (hone_gnn_next(l, -1, &b) == 1)
            hone_gnn_batch_drop(b);
    }
    assert_memory_equal(copy, x->data, bytes);
    hone_gnn_close(l);
    hone_gnn_tensor_drop(x);
    assert_memory_equal(copy, x->data, bytes);
    hone_gnn_tensor_drop(x);
    assert_true(((const int32_t *)train->data)[0] >= 0);
    hone_gnn_tensor_drop(train);
    free(copy);
}

/* A caller that holds the batches of all slots gets an error instead of another batch. After it has
 * dropped one batch, it can go on. */
static void holding_all_slots_is_an_error(void **state)
{
    const struct hone_gnn_options o = options();
    struct hone_gnn_loader *l = open_with(&o);
    struct hone_gnn_batch *b[3], *more;
    for (int i = 0; i < 3; i++)
        b[i] = next(l);
    assert_int_equal(hone_gnn_next(l, -1, &more), -1);
    assert_non_null(strstr(hone_gnn_error(), "all 3 slots hold batches"));
    hone_gnn_batch_drop(b[1]);
    more = next(l);
    assert_int_equal(hone_gnn_batch_info(more).index, 3);
    hone_gnn_batch_drop(more);
    hone_gnn_batch_drop(b[0]);
    hone_gnn_close(l); /* with a batch in use */
    hone_gnn_batch_drop(b[2]);
}

static void refused(struct hone_gnn_options o, const char *words)
{
    assert_null(hone_gnn_open(rig.data, &o));
    if (!strstr(hone_gnn_error(), words))
        fail_msg("'%s' is not in: %s", words, hone_gnn_error());
}

static void bad_arguments_are_errors(void **state)
{
    struct hone_gnn_options o = options();
    const int32_t outside[] = {3, 1000}, negative[] = {-1}, twice[] = {5, 6, 5};
    o.size--, refused(o, "another version");
    o = options(), o.split = "trian", refused(o, "train, valid or test");
    o = options(), o.sampler = "unifrom", refused(o, "unifrom");
    o = options(), o.hops = 0, refused(o, "from 1 to 8, not 0");
    o = options(), o.hops = 9, refused(o, "from 1 to 8, not 9");
    o = options(), o.fanout[1] = 0, refused(o, "anout");
    o = options(), o.threads = 0, refused(o, "threads");
    o = options(), o.slots = 5000, refused(o, "slots");
    o = options(), o.batch_size = 0, refused(o, "seeds");
    o = options(), o.rank = 1, refused(o, "rank 1 of 1");
    o = options(), o.split = NULL, o.ids = outside, o.n_ids = 2,
    refused(o, "from 0 to 999, not 1000");
    o.ids = negative, o.n_ids = 1, refused(o, "from 0 to 999, not -1");
    o.ids = twice, o.n_ids = 3, refused(o, "node 5 is twice");
    o.n_ids = -1, refused(o, "the number of seed nodes");
    assert_null(hone_gnn_data_open("/nowhere", "auto"));
    assert_non_null(strstr(hone_gnn_error(), "manifest.json"));
    assert_null(hone_gnn_data_open(rig.dir, "raed"));
    assert_non_null(strstr(hone_gnn_error(), "auto, read or map"));
    assert_null(hone_gnn_data_tensor(rig.data, "weights"));
    assert_non_null(strstr(hone_gnn_error(), "no array 'weights'"));
    o = options();
    struct hone_gnn_loader *l = open_with(&o);
    assert_int_equal(hone_gnn_start(l, -1, 0), -1);
    assert_int_equal(hone_gnn_start(l, 0, -1), -1);
    hone_gnn_close(l);
    hone_gnn_close(NULL);
    hone_gnn_batch_drop(NULL);
    hone_gnn_tensor_drop(NULL);
}

static void seeds_of_the_caller(void **state)
{
    struct hone_gnn_options o = options();
    const int32_t ids[] = {9, 2, 700};
    o.split = NULL, o.ids = ids, o.n_ids = 3, o.shuffle = 0, o.batch_size = 2;
    struct hone_gnn_loader *l = open_with(&o);
    for (int k = 0; k < 2; k++) {
        struct hone_gnn_batch *b = next(l);
        struct hone_gnn_tensor *node = hone_gnn_batch_tensor(b, HONE_GNN_NODES, 0);
        assert_memory_equal(node->data, ids + (size_t)2 * (size_t)k, k ? 4 : 8);
        hone_gnn_tensor_drop(node);
        hone_gnn_batch_drop(b);
    }
    struct hone_gnn_batch *none;
    assert_int_equal(hone_gnn_next(l, -1, &none), 0);
    hone_gnn_close(l);
}

/* After a fork, the child process lacks the loader's threads. Its calls that need these threads
 * fail, its calls that release memory do nothing, and none of its calls waits. */
static void a_forked_child_is_refused(void **state)
{
    const struct hone_gnn_options o = options();
    struct hone_gnn_loader *l = open_with(&o);
    struct hone_gnn_batch *b = next(l), *none;
    struct hone_gnn_tensor *x = hone_gnn_batch_tensor(b, HONE_GNN_FEATURES, 0);
    pid_t pid = fork();
    if (pid == 0) {
        alarm(20);
        bool right = hone_gnn_next(l, -1, &none) == -1 && strstr(hone_gnn_error(), "forked") &&
                     hone_gnn_start(l, 1, 0) == -1 && hone_gnn_open(rig.data, &o) == NULL &&
                     hone_gnn_batch_digest(b) != 0;
        hone_gnn_tensor_drop(x);
        hone_gnn_batch_drop(b);
        hone_gnn_close(l);
        hone_gnn_data_close(rig.data);
        _exit(right ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    hone_gnn_tensor_drop(x);
    hone_gnn_batch_drop(b);
    b = next(l); /* the parent goes on */
    hone_gnn_batch_drop(b);
    hone_gnn_close(l);
}

static void *drop(void *batch)
{
    hone_gnn_batch_drop(batch);
    return NULL;
}

/* Other threads drop batches. Meanwhile this thread takes the next batch and waits at most a
 * millisecond for it, begins another epoch early, or cancels. */
static void other_threads_may_drop(void **state)
{
    struct hone_gnn_options o = options();
    o.slots = 16;
    struct hone_gnn_loader *l = open_with(&o);
    pthread_t thread[8];
    for (int i = 0; i < 8; i++) {
        struct hone_gnn_batch *b = NULL;
        int rc;
        while ((rc = hone_gnn_next(l, 1, &b)) == 2)
            ;
        assert_int_equal(rc, 1);
        assert_int_equal(pthread_create(&thread[i], NULL, drop, b), 0);
        if (i == 4)
            hone_gnn_start(l, 7, 0);
    }
    hone_gnn_cancel(l);
    struct hone_gnn_batch *none;
    assert_int_equal(hone_gnn_next(l, -1, &none), -1);
    hone_gnn_close(l);
    for (int i = 0; i < 8; i++)
        pthread_join(thread[i], NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(batches_are_those_of_the_loader),
        cmocka_unit_test(tensors_show_the_batch),
        cmocka_unit_test(a_tensor_outlives_everything),
        cmocka_unit_test(holding_all_slots_is_an_error),
        cmocka_unit_test(bad_arguments_are_errors),
        cmocka_unit_test(seeds_of_the_caller),
        cmocka_unit_test(a_forked_child_is_refused),
        cmocka_unit_test(other_threads_may_drop),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
