/* Tests training, inference and checkpoints on a small generated graph. */
#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/rng.h"
#include "base/util.h"
#include "gnn/train/exposed.h"
#include "gnn/train/infer.h"
#include "gnn/train/train.h"
#include "sys/file.h"

enum { NODES = 1500, DEGREE = 12, DIM = 8, CLASSES = 4, TRAIN = 600, TEST = 600 };

/* The test's data. In its graph, a neighbour has the class of its node with probability 0.7, and
 * otherwise a random class. The features of a node are the mean of its class, with much noise. */
struct rig {
    struct dataset d;
    int64_t offset[NODES + 1];
    int32_t neighbour[NODES * DEGREE], label[NODES], id[NODES];
    float feature[NODES * DIM];
    struct temp_dir dir;
    char *checkpoint;
};

static struct rig rig;

static int setup(void **state)
{
    struct rng g = rng_seeded(1, 1);
    for (int i = 0; i < NODES; i++) {
        rig.id[i] = i;
        rig.label[i] = i % CLASSES;
        int degree = i % 50 == 0 ? 0 : DEGREE;
        rig.offset[i + 1] = rig.offset[i] + degree;
        for (int k = 0; k < degree; k++) {
            int64_t to = rng_range(&g, 0, NODES / CLASSES - 1) * CLASSES;
            int64_t class = rng_unit(&g) < 0.7 ? i % CLASSES : rng_range(&g, 0, CLASSES - 1);
            rig.neighbour[rig.offset[i] + k] = (int32_t)(to + class);
        }
        for (int k = 0; k < DIM; k++) {
            double noise = 0;
            for (int j = 0; j < 4; j++)
                noise += rng_unit(&g) - 0.5;
            rig.feature[i * DIM + k] = (float)(2 * noise + (k == i % CLASSES ? 1 : 0));
        }
    }
    struct manifest *m = &rig.d.manifest;
    m->nodes = NODES;
    m->edges = rig.offset[NODES];
    m->classes = CLASSES;
    m->feature_dim = DIM;
    m->feature_type = GNN_F32;
    rig.d.graph = (struct gnn_graph){NODES, rig.offset[NODES], rig.offset, rig.neighbour};
    rig.d.feature = rig.feature;
    rig.d.label = rig.label;
    rig.d.train = (struct id_list){rig.id, TRAIN};
    rig.d.test = (struct id_list){rig.id + NODES - TEST, TEST};
    struct err err = ERR_INIT;
    if (temp_dir_make(&rig.dir, &err) < 0)
        return -1;
    rig.checkpoint = xasprintf("%s/run.ckpt", rig.dir.path);
    return 0;
}

static int teardown(void **state)
{
    free(rig.checkpoint);
    temp_dir_release(&rig.dir);
    return 0;
}

static struct train_options options(enum gnn_model_kind kind, int threads)
{
    return (struct train_options){
        .model = {.kind = kind, .hidden = 16, .heads = 2, .aggregate = -1, .dropout = -1},
        .load = {.sample = {.hops = 2, .fanout = {8, 5}, .seed = 7},
                 .batch_size = 64,
                 .threads = threads,
                 .slots = 3},
        .threads = threads,
        .lr = 0.01,
    };
}

static struct trainer *open_trainer(const struct train_options *o)
{
    struct trainer *t;
    struct err err = ERR_INIT;
    if (trainer_open(&t, &rig.d, o, &err) < 0)
        fail_msg("%s", err.msg);
    return t;
}

static void run_epochs(struct trainer *t, int64_t epochs)
{
    struct err err = ERR_INIT;
    while (trainer_epochs_done(t) < epochs) {
        struct epoch_report r;
        if (trainer_epoch(t, &r, &err) < 0)
            fail_msg("%s", err.msg);
    }
}

/* Returns all weights of a network, which the caller frees, and sets *bytes to their size. */
static float *weights_of(struct trainer *t, size_t *bytes)
{
    struct gnn_network *n = trainer_network(t);
    *bytes = (size_t)network_state_reals(n, GNN_WEIGHTS) * sizeof(float);
    float *w = xmalloc(*bytes);
    network_download(n, GNN_WEIGHTS, w);
    return w;
}

static double share(const struct infer_result *r)
{
    return (double)r->correct / (double)r->labelled;
}

/* ---- accuracy -------------------------------------------------------------------------------- */

/* With the graph, every model is far more accurate than the features alone allow. Inference with
 * sampled batches that contain all neighbours predicts the same classes as inference layer by
 * layer. */
static void every_model_learns_from_the_graph(void **state)
{
    for (int kind = 0; kind < GNN_MODEL_KINDS; kind++) {
        struct train_options o = options((enum gnn_model_kind)kind, 1);
        struct trainer *t = open_trainer(&o);
        struct err err = ERR_INIT;
        struct infer_result full, all;
        run_epochs(t, 12);
        struct loader_options load = o.load;
        load.sample.fanout[0] = load.sample.fanout[1] = FANOUT_ALL;
        assert_int_equal(infer_full(trainer_network(t), &rig.d, &load, rig.d.test, &full, &err), 0);
        assert_int_equal(
            infer_sampled(trainer_network(t), &rig.d, NULL, &load, rig.d.test, &all, &err), 0);
        if (share(&full) < 0.85)
            fail_msg("%s: accuracy %.3f", model_name((enum gnn_model_kind)kind), share(&full));
        int64_t different = 0;
        for (int64_t i = 0; i < all.n; i++)
            different += all.class[i] != full.class[i];
        assert_true(different <= 1); /* the two may round sums differently */
        infer_result_release(&full);
        infer_result_release(&all);
        trainer_close(t);
    }
}

/* ---- determinism ----------------------------------------------------------------------------- */

static void threads_do_not_change_the_weights(void **state)
{
    size_t bytes;
    struct train_options one = options(GNN_SAGE_RI, 1), three = options(GNN_SAGE_RI, 3);
    struct trainer *a = open_trainer(&one), *b = open_trainer(&three);
    run_epochs(a, 2);
    run_epochs(b, 2);
    float *x = weights_of(a, &bytes), *y = weights_of(b, &bytes);
    assert_memory_equal(x, y, bytes);
    free(x);
    free(y);
    trainer_close(a);
    trainer_close(b);
}

/* ---- checkpoints ----------------------------------------------------------------------------- */

struct killer {
    int64_t after, seen;
};

static void die_after(void *ctx, int64_t epoch, int64_t batch, int64_t batches,
                      const struct gnn_loss *loss)
{
    struct killer *k = ctx;
    if (++k->seen == k->after)
        kill(getpid(), SIGKILL);
}

/* Trains in a child process that kills itself when it has trained `after` batches. Returns true if
 * the child finished before that. */
static bool train_until_killed(struct train_options o, int64_t epochs, int64_t after)
{
    struct killer k = {after, 0};
    o.progress = die_after;
    o.ctx = &k;
    pid_t pid = fork();
    if (pid == 0) {
        struct trainer *t;
        struct err err = ERR_INIT;
        if (trainer_open(&t, &rig.d, &o, &err) < 0)
            _exit(1);
        while (trainer_epochs_done(t) < epochs) {
            struct epoch_report r;
            if (trainer_epoch(t, &r, &err) < 0)
                _exit(1);
        }
        trainer_close(t);
        _exit(0);
    }
    int status;
    waitpid(pid, &status, 0);
    assert_true(WIFSIGNALED(status) || WEXITSTATUS(status) == 0);
    return !WIFSIGNALED(status);
}

static void a_killed_run_continues_with_the_same_bits(void **state)
{
    size_t bytes;
    for (int kind = 0; kind < GNN_MODEL_KINDS; kind += 2) {
        struct train_options o = options((enum gnn_model_kind)kind, 1);
        struct trainer *whole = open_trainer(&o);
        run_epochs(whole, 3);
        float *x = weights_of(whole, &bytes);
        trainer_close(whole); /* its threads must not be there when the test forks */
        o.checkpoint = rig.checkpoint;
        o.checkpoint_batches = 3;
        o.resume = true;
        int kills = 0;
        while (!train_until_killed(o, 3, 5 + kills))
            kills++;
        assert_true(kills >= 3);
        struct trainer *resumed = open_trainer(&o);
        assert_int_equal(trainer_epochs_done(resumed), 3);
        float *y = weights_of(resumed, &bytes);
        assert_memory_equal(x, y, bytes);
        free(x);
        free(y);
        trainer_close(resumed);
        unlink(rig.checkpoint);
    }
}

static void expect_refusal(const struct train_options *o, const char *words)
{
    struct trainer *t = NULL;
    struct err err = ERR_INIT;
    assert_int_equal(trainer_open(&t, &rig.d, o, &err), -1);
    if (!strstr(err.msg, words))
        fail_msg("'%s' does not say '%s'", err.msg, words);
}

static void a_wrong_checkpoint_is_refused(void **state)
{
    struct train_options o = options(GNN_SAGE, 1);
    o.checkpoint = rig.checkpoint;
    struct trainer *t = open_trainer(&o);
    run_epochs(t, 1);
    trainer_close(t);
    expect_refusal(&o, "--resume");
    o.resume = true;
    o.model.hidden = 32;
    expect_refusal(&o, "hidden width 16, not 32");
    o.model.hidden = 16;
    o.load.sample.fanout[1] = 6;
    expect_refusal(&o, "fanout 5 in hop 1, not 6");
    o.load.sample.fanout[1] = 5;
    rig.d.manifest.file[0].present = true;
    rig.d.manifest.file[0].sum = 1;
    expect_refusal(&o, "other data");
    rig.d.manifest.file[0].present = false;

    struct strbuf sb = STRBUF_INIT(1 << 20);
    struct err err = ERR_INIT;
    assert_int_equal(file_read(rig.checkpoint, 1 << 20, &sb, &err), 0);
    for (size_t at = 0; at < sb.len; at += sb.len / 40) {
        sb.buf[at] ^= 4;
        assert_int_equal(file_write(rig.checkpoint, sb.buf, sb.len, &err), 0);
        expect_refusal(&o, rig.checkpoint);
        sb.buf[at] ^= 4;
    }
    for (size_t len = 0; len < sb.len; len += sb.len / 20) {
        assert_int_equal(file_write(rig.checkpoint, sb.buf, len, &err), 0);
        expect_refusal(&o, rig.checkpoint);
    }
    assert_int_equal(file_write(rig.checkpoint, sb.buf, sb.len, &err), 0);
    trainer_close(open_trainer(&o));
    strbuf_release(&sb);
    unlink(rig.checkpoint);
}

/* ---- exposed times --------------------------------------------------------------------------- */

static int sleep_before_batch(void *ctx, int64_t index, struct err *err)
{
    usleep(*(useconds_t *)ctx);
    return 0;
}

/* Measures the exposed times of `batches` batches, if the preparation of each batch takes a thread
 * `sleep_us` longer. An exposed time is one for which training waits. */
static struct exposed exposed_with(useconds_t sleep_us, int64_t batches)
{
    struct train_options o = options(GNN_SAGE, 1);
    struct exposed e;
    struct err err = ERR_INIT;
    o.load.before = sleep_before_batch;
    o.load.ctx = &sleep_us;
    struct trainer *t = open_trainer(&o);
    if (exposed_measure(t, batches, &e, &err) < 0)
        fail_msg("%s", err.msg);
    trainer_close(t);
    return e;
}

static void slow_preparation_is_exposed(void **state)
{
    const double sleep_s = 0.1;
    struct exposed e = exposed_with((useconds_t)(1e6 * sleep_s), 4);
    assert_int_equal(e.batches, 4);
    assert_int_equal(e.epoch_batches, 10); /* 600 nodes in batches of 64 */
    /* A batch is ready every 0.1 s. Training takes much less, so nearly all of the 0.1 s is
     * exposed. */
    assert_true(e.batch_s > 0.9 * sleep_s);
    assert_true(e.train_s > 0 && e.train_s < 0.5 * sleep_s);
    assert_true(e.preparation_s > 0.5 * sleep_s);
    assert_true(e.transfer_s == 0);
    assert_true(fabs(e.train_s + e.preparation_s + e.transfer_s - e.batch_s) < 1e-9);
    e = exposed_with(0, 1000); /* more batches than the epoch has */
    assert_int_equal(e.batches, 10);
    assert_true(e.preparation_s < 0.5 * sleep_s);
}

/* ---- bad data -------------------------------------------------------------------------------- */

static void bad_data_is_refused(void **state)
{
    struct train_options o = options(GNN_SAGE, 1);
    struct dataset d = rig.d;
    struct trainer *t;
    struct err err = ERR_INIT;
    d.train.n = 0;
    assert_int_equal(trainer_open(&t, &d, &o, &err), -1);
    assert_non_null(strstr(err.msg, "no training nodes"));
    d.train.n = TRAIN;
    d.feature = NULL;
    assert_int_equal(trainer_open(&t, &d, &o, &err), -1);
    assert_non_null(strstr(err.msg, "no features"));

    float old = rig.feature[5 * DIM];
    struct epoch_report r;
    rig.feature[5 * DIM] = NAN;
    t = open_trainer(&o);
    assert_int_equal(trainer_epoch(t, &r, &err), -1);
    assert_non_null(strstr(err.msg, "not finite"));
    trainer_close(t);
    rig.feature[5 * DIM] = old;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_model_learns_from_the_graph),
        cmocka_unit_test(threads_do_not_change_the_weights),
        cmocka_unit_test(a_killed_run_continues_with_the_same_bits),
        cmocka_unit_test(a_wrong_checkpoint_is_refused),
        cmocka_unit_test(slow_preparation_is_exposed),
        cmocka_unit_test(bad_data_is_refused),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, setup, teardown);
}
