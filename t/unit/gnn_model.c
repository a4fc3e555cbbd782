/* Tests the models: gradients equal central differences, any number of threads gives the same bits,
 * and products in plain C and in OpenBLAS agree. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/dtype.h"
#include "gnn/model/models.h"
#include "gnn/model/network.h"
#include "gnn/ops/cpu.h"
#include "gnn/ops/dropout.h"
#include "gnn_model_rig.h"

static const struct gnn_adam usual = {.lr = 0.01, .beta1 = 0.9, .beta2 = 0.999, .eps = 1e-8};

static void build(struct gnn_program *p, enum gnn_model_kind kind, int layers, int64_t heads,
                  int aggregate, int64_t features, int64_t hidden, int64_t classes)
{
    struct gnn_model_config c = {.kind = kind,
                                 .layers = layers,
                                 .features = features,
                                 .hidden = hidden,
                                 .classes = classes,
                                 .heads = heads,
                                 .aggregate = aggregate,
                                 .dropout = -1};
    struct err err = ERR_INIT;
    assert_int_equal(model_build(&c, p, &err), 0);
}

/* ---- gradients ---- */

static double mean_loss(struct gnn_network *n)
{
    struct gnn_loss loss;
    network_forward(n, GNN_TRAIN);
    network_loss(n, &loss);
    return loss.sum / (double)loss.rows;
}

/* Compares the gradient `grad` with central differences, at up to 79 elements of one weight.
 * Returns |difference| / |gradient|, with 2-norms. If |gradient| is less than `floor`, divides by
 * `floor`: a bias before batch norm has the gradient 0. */
static double weight_error(struct gnn_network *n, const struct gnn_weight *w, const double *grad,
                           double floor)
{
    double *v = (double *)network_state(n, GNN_WEIGHTS) + w->offset;
    double diff = 0, norm = 0, h = 1e-5;
    int64_t count = w->rows * w->width, stride = MAX(1, count / 40);
    for (int64_t i = 0; i < count; i += stride) {
        double old = v[i];
        v[i] = old + h;
        double up = mean_loss(n);
        v[i] = old - h;
        double down = mean_loss(n);
        v[i] = old;
        double central = (up - down) / (2 * h), g = grad[w->offset + i];
        diff += (central - g) * (central - g);
        norm += g * g;
    }
    return sqrt(diff) / MAX(sqrt(norm), floor);
}

static void check_gradients(enum gnn_model_kind kind, int layers, int64_t heads, int aggregate)
{
    struct rig_batch batch;
    rig_batch_init(&batch, layers, 12, 3, 5, 4, 1);
    struct gnn_program p;
    build(&p, kind, layers, heads, aggregate, 5, 6, 4);
    struct gnn_device *d = gnn_cpu_open(1, GNN_REAL_F64);
    struct gnn_network *n = network_new(&p, d, 11);
    network_batch(n, &batch.b);
    mean_loss(n);
    network_backward(n);
    size_t bytes = (size_t)p.n_weights * sizeof(double);
    double *grad = xmalloc(bytes);
    memcpy(grad, network_state(n, GNN_GRADIENTS), bytes);
    double all = 0;
    for (int64_t i = 0; i < p.n_weights; i++)
        all += grad[i] * grad[i];
    vec_each (const struct gnn_weight, w, &p.weight) {
        double e = weight_error(n, w, grad, 1e-4 * sqrt(all));
        if (!(e < 1e-6))
            fail_msg("%s, %d layers, weight %d (%s): relative error %g", model_name(kind), layers,
                     (int)(w - p.weight.items), w->name, e);
    }
    free(grad);
    network_free(n);
    d->ops->close(d);
    program_release(&p);
    rig_batch_release(&batch);
}

static void gradients_equal_central_differences(void **state)
{
    (void)state;
    for (int layers = 1; layers <= 3; layers++) {
        check_gradients(GNN_SAGE, layers, 0, GNN_MEAN);
        check_gradients(GNN_SAGE, layers, 0, GNN_MAX);
        check_gradients(GNN_GAT, layers, 1, -1);
        check_gradients(GNN_GAT, layers, 3, -1);
        check_gradients(GNN_GIN, layers, 0, -1);
        check_gradients(GNN_SAGE_RI, layers, 0, -1);
    }
}

/* ---- the same bits with any number of threads ---- */

/* Trains two steps in float. Returns the weights, and after them the running statistics, in memory
 * that the caller frees. */
static float *train(const struct gnn_program *p, const struct rig_batch *batch, int threads)
{
    struct gnn_device *d = gnn_cpu_open(threads, GNN_REAL_F32);
    struct gnn_network *n = network_new(p, d, 5);
    for (int i = 0; i < 2; i++) {
        struct gnn_loss loss;
        struct gnn_adam adam = usual;
        network_batch(n, &batch->b);
        network_forward(n, GNN_TRAIN);
        network_loss(n, &loss);
        network_backward(n);
        network_update(n, &adam);
    }
    float *out = xmalloc((size_t)(p->n_weights + p->n_running) * sizeof *out);
    memcpy(out, network_state(n, GNN_WEIGHTS), (size_t)p->n_weights * sizeof *out);
    memcpy(out + p->n_weights, network_state(n, GNN_RUNNING), (size_t)p->n_running * sizeof *out);
    network_free(n);
    d->ops->close(d);
    return out;
}

static void threads_do_not_change_a_bit(void **state)
{
    (void)state;
    for (int kind = 0; kind < GNN_MODEL_KINDS; kind++) {
        struct rig_batch batch;
        rig_batch_init(&batch, 2, 600, 2, 20, 7, 3); /* several blocks of every kind */
        struct gnn_program p;
        build(&p, (enum gnn_model_kind)kind, 2, 2, -1, 20, 24, 7);
        float *one = train(&p, &batch, 1), *three = train(&p, &batch, 3);
        assert_memory_equal(one, three, (size_t)(p.n_weights + p.n_running) * sizeof *one);
        for (int64_t i = 0; i < p.n_weights; i++)
            assert_true(isfinite(one[i]));
        free(one);
        free(three);
        program_release(&p);
        rig_batch_release(&batch);
    }
}

/* ---- training lowers the loss; inference repeats itself ---- */

static void training_learns_a_batch_by_heart(void **state)
{
    (void)state;
    for (int kind = 0; kind < GNN_MODEL_KINDS; kind++) {
        struct rig_batch batch;
        rig_batch_init(&batch, 2, 30, 3, 16, 3, 9);
        struct gnn_program p;
        build(&p, (enum gnn_model_kind)kind, 2, 1, -1, 16, 32, 3);
        struct gnn_device *d = gnn_cpu_open(1, GNN_REAL_F32);
        struct gnn_network *n = network_new(&p, d, 2);
        struct gnn_loss first = {0}, loss;
        for (int i = 0; i < 150; i++) {
            struct gnn_adam adam = usual;
            network_batch(n, &batch.b);
            network_forward(n, GNN_TRAIN);
            network_loss(n, &loss);
            network_backward(n);
            network_update(n, &adam);
            if (i == 0)
                first = loss;
        }
        assert_int_equal(loss.rows, 29); /* one seed has no label */
        assert_true(loss.sum < 0.5 * first.sum);
        struct gnn_loss a, b;
        network_forward(n, GNN_EVAL);
        network_loss(n, &a);
        network_forward(n, GNN_EVAL);
        network_loss(n, &b);
        assert_true(a.sum == b.sum && a.correct > 26);
        network_free(n);
        d->ops->close(d);
        program_release(&p);
        rig_batch_release(&batch);
    }
}

/* ---- layer by layer ---- */

/* Running one layer after the other over all nodes gives the same bits as one pass through all
 * layers, if both use the same neighbours. */
static void layers_one_by_one_equal_a_whole_pass(void **state)
{
    (void)state;
    for (int kind = 0; kind < GNN_MODEL_KINDS; kind++) {
        struct rig_batch batch;
        rig_batch_init(&batch, 1, 20, 1, 6, 3, 4);
        struct gnn_batch twice = batch.b; /* a graph of 20 nodes, two hops over all of them */
        twice.hops = 2;
        twice.n_nodes[2] = twice.n_nodes[1];
        twice.n_edges[1] = twice.n_edges[0];
        twice.row[1] = twice.row[0];
        twice.col[1] = twice.col[0];
        struct gnn_program p;
        build(&p, (enum gnn_model_kind)kind, 2, 2, -1, 6, 8, 3);
        struct gnn_device *d = gnn_cpu_open(1, GNN_REAL_F32);
        struct gnn_network *n = network_new(&p, d, 2);
        float whole[60], layered[60], carry[3][20 * 8];
        network_batch(n, &twice);
        network_forward(n, GNN_EVAL);
        network_get(n, p.output, 20, whole);

        network_layer_batch(n, 0, &batch.b);
        network_set(n, p.input, 20, GNN_F32, batch.feature);
        network_forward_layer(n, 0);
        network_get(n, p.carry[1], 20, carry[1]);
        network_layer_batch(n, 1, &batch.b);
        network_set(n, p.carry[1], 20, GNN_F32, carry[1]);
        network_forward_layer(n, 1);
        network_get(n, p.carry[2], 20, carry[2]);
        network_set(n, p.carry[0], 20, GNN_F32, batch.feature);
        network_set(n, p.carry[1], 20, GNN_F32, carry[1]);
        network_set(n, p.carry[2], 20, GNN_F32, carry[2]);
        network_forward_layer(n, 2);
        network_get(n, p.output, 20, layered);
        assert_memory_equal(whole, layered, sizeof whole);
        network_free(n);
        d->ops->close(d);
        program_release(&p);
        rig_batch_release(&batch);
    }
}

/* ---- single operations ---- */

static void products_in_plain_c_and_in_blas_agree(void **state)
{
    (void)state;
    enum { ROWS = 517, K = 37, WIDTH = 71 };
    static float x[ROWS * K], w[K * WIDTH], dy[ROWS * WIDTH];
    struct rng g = rng_seeded(1, 2);
    for (int i = 0; i < ROWS * K; i++)
        x[i] = (float)rng_unit(&g) - 0.5f;
    for (int i = 0; i < K * WIDTH; i++)
        w[i] = (float)rng_unit(&g) - 0.5f;
    for (int i = 0; i < ROWS * WIDTH; i++)
        dy[i] = (float)rng_unit(&g) - 0.5f;
    static float y[ROWS * WIDTH], dx[ROWS * K], dw[K * WIDTH];
    struct gnn_device *d = gnn_cpu_open(2, GNN_REAL_F32);
    struct gnn_term term = {.x = x, .w = w, .k = K, .dw = dw};
    struct gnn_epilogue none = {.act = GNN_LINEAR};
    d->ops->product(d, ROWS, WIDTH, &term, 1, &none, y);
    d->ops->product_grad_x(d, ROWS, WIDTH, K, dy, w, dx, false);
    d->ops->product_grad_w(d, ROWS, WIDTH, &term, 1, dy);
    d->ops->close(d);
    double worst = 0;
    for (int r = 0; r < ROWS; r++)
        for (int c = 0; c < WIDTH; c++) {
            double sum = 0;
            for (int k = 0; k < K; k++)
                sum += (double)x[r * K + k] * w[k * WIDTH + c];
            worst = MAX(worst, fabs(sum - y[r * WIDTH + c]));
        }
    for (int r = 0; r < ROWS; r++)
        for (int k = 0; k < K; k++) {
            double sum = 0;
            for (int c = 0; c < WIDTH; c++)
                sum += (double)dy[r * WIDTH + c] * w[k * WIDTH + c];
            worst = MAX(worst, fabs(sum - dx[r * K + k]));
        }
    for (int k = 0; k < K; k++)
        for (int c = 0; c < WIDTH; c++) {
            double sum = 0;
            for (int r = 0; r < ROWS; r++)
                sum += (double)x[r * K + k] * dy[r * WIDTH + c];
            worst = MAX(worst, fabs(sum - dw[k * WIDTH + c]));
        }
    assert_true(worst < 2e-5);
}

static void dropout_drops_its_share_and_keeps_the_mean(void **state)
{
    (void)state;
    enum { N = 1 << 16 };
    static float ones[N], out[N], again[N];
    for (int i = 0; i < N; i++)
        ones[i] = 1;
    struct gnn_device *d = gnn_cpu_open(2, GNN_REAL_F32);
    struct gnn_epilogue ep = {.act = GNN_LINEAR, .drop = 0.3, .seed = 3, .step = 4, .place = 5};
    d->ops->apply(d, N / 4, 4, ones, &ep, out);
    d->ops->apply(d, N / 64, 64, ones, &ep, again); /* the shape does not matter */
    d->ops->close(d);
    assert_memory_equal(out, again, sizeof out);
    double sum = 0, dropped = 0;
    for (int i = 0; i < N; i++) {
        sum += out[i];
        dropped += out[i] == 0;
    }
    assert_true(fabs(sum / N - 1) < 0.015);
    assert_true(fabs(dropped / N - 0.3) < 0.01);
}

/* Writes the logits of a seed to `logits`. The seed has six neighbours with equal features, of
 * which the first `sampled` are in the batch. The model was trained with up to `most` neighbours of
 * a node; 0 = not known. */
static void logits_of_seed(enum gnn_model_kind kind, int32_t sampled, int32_t most, float *logits)
{
    enum { FEATURES = 3, NEIGHBOURS = 6 };
    static const int32_t col[] = {1, 2, 3, 4, 5, 6}, node[] = {0, 1, 2, 3, 4, 5, 6}, degree[] = {6};
    const int32_t row[] = {0, sampled}, label[] = {0};
    float x[(NEIGHBOURS + 1) * FEATURES] = {0.5f, -1, 2};
    for (int i = FEATURES; i < (NEIGHBOURS + 1) * FEATURES; i++)
        x[i] = (float)(i % FEATURES) - 0.25f;
    struct gnn_batch b = {.hops = 1,
                          .n_nodes = {1, sampled + 1},
                          .n_edges = {sampled},
                          .row = {row},
                          .col = {col},
                          .node = node,
                          .degree = degree,
                          .feature = x,
                          .feature_dim = FEATURES,
                          .label = label};
    struct gnn_program p;
    struct err err = ERR_INIT;
    struct gnn_device *d = gnn_cpu_open(1, GNN_REAL_F64);
    build(&p, kind, 1, 2, -1, FEATURES, 4, 2);
    struct gnn_network *n = network_new(&p, d, 5);
    network_trained_with(n, &most);
    network_batch(n, &b);
    network_forward(n, GNN_EVAL);
    network_get(n, p.output, 1, logits);
    assert_int_equal(network_sync(n, &err), 0);
    network_free(n);
    d->ops->close(d);
    program_release(&p);
}

static void inference_counts_neighbours_as_training_did(void **state)
{
    static const enum gnn_model_kind kinds[] = {GNN_GIN, GNN_GAT};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
        for (int32_t most = 0; most <= 8; most += 4) {
            float few[2], all[2], plain[2];
            logits_of_seed(kinds[i], 2, most, few);
            logits_of_seed(kinds[i], 6, most, all);
            logits_of_seed(kinds[i], 6, 0, plain);
            double off =
                fabs((double)few[0] - (double)all[0]) + fabs((double)few[1] - (double)all[1]);
            double from_plain = fabs((double)all[0] - (double)plain[0]);
            if (most == 0)
                assert_true(off > 1e-3); /* two neighbours do not count as six */
            else
                assert_true(off < 1e-6);
            /* If most is 8, the six neighbours count as six; if it is 4, they count as four. */
            assert_true(most == 4 ? from_plain > 1e-3 : from_plain < 1e-6);
        }
}

static void gather_and_reductions_match_plain_loops(void **state)
{
    (void)state;
    const int32_t row[] = {0, 3, 3, 5}, col[] = {4, 0, 4, 2, 1};
    const float x[] = {1, -1, 2, -2, 3, -3, 4, -4, 5, -5}; /* 5 sources, 2 columns */
    const struct gnn_hop hop = {.n_dst = 3, .n_src = 5, .n_edges = 5, .row = row, .col = col};
    float out[10];
    int32_t arg[6];
    struct gnn_device *d = gnn_cpu_open(1, GNN_REAL_F32);
    d->ops->gather(d, 5, 2, x, col, out);
    assert_memory_equal(out, ((float[]){5, -5, 1, -1, 5, -5, 3, -3, 2, -2}), sizeof out);
    d->ops->segment(d, GNN_SUM, &hop, 2, x, out, NULL);
    assert_memory_equal(out, ((float[]){11, -11, 0, 0, 5, -5}), 6 * sizeof *out);
    d->ops->segment(d, GNN_MEAN, &hop, 2, x, out, NULL);
    assert_true(fabs(out[0] - 11.0 / 3) < 1e-6 && out[2] == 0 && out[4] == 2.5);
    d->ops->segment(d, GNN_MAX, &hop, 2, x, out, arg);
    assert_memory_equal(out, ((float[]){5, -1, 0, 0, 3, -2}), 6 * sizeof *out);
    assert_memory_equal(arg, ((int32_t[]){4, 0, -1, -1, 2, 1}), sizeof arg);
    d->ops->close(d);
}

static void every_half_is_loaded_exactly(void **state)
{
    (void)state;
    static uint16_t half[65536];
    static float out[65536];
    for (int i = 0; i < 65536; i++)
        half[i] = (uint16_t)i;
    struct gnn_device *d = gnn_cpu_open(1, GNN_REAL_F32);
    d->ops->load(d, GNN_F16, 65536, half, out);
    d->ops->close(d);
    for (int i = 0; i < 65536; i++) {
        float want = f16_to_f32((uint16_t)i);
        assert_true(isnan(want) ? isnan(out[i]) : memcmp(&want, &out[i], 4) == 0);
    }
}

static void bad_sizes_are_refused(void **state)
{
    (void)state;
    struct gnn_program p;
    struct err err = ERR_INIT;
    struct gnn_model_config c = {.kind = GNN_GAT,
                                 .layers = 2,
                                 .features = 4,
                                 .hidden = 6,
                                 .classes = 3,
                                 .heads = 4,
                                 .dropout = -1};
    assert_int_equal(model_build(&c, &p, &err), -1);
    assert_non_null(strstr(err.msg, "heads"));
    c.heads = 3;
    c.layers = 9;
    assert_int_equal(model_build(&c, &p, &err), -1);
    c.layers = 1;
    c.dropout = 1;
    assert_int_equal(model_build(&c, &p, &err), -1);
    enum gnn_model_kind kind;
    assert_int_equal(model_kind("sagee", &kind, &err), -1);
    assert_non_null(strstr(err.msg, "did you mean 'sage'"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gradients_equal_central_differences),
        cmocka_unit_test(threads_do_not_change_a_bit),
        cmocka_unit_test(training_learns_a_batch_by_heart),
        cmocka_unit_test(layers_one_by_one_equal_a_whole_pass),
        cmocka_unit_test(products_in_plain_c_and_in_blas_agree),
        cmocka_unit_test(dropout_drops_its_share_and_keeps_the_mean),
        cmocka_unit_test(inference_counts_neighbours_as_training_did),
        cmocka_unit_test(gather_and_reductions_match_plain_loops),
        cmocka_unit_test(every_half_is_loaded_exactly),
        cmocka_unit_test(bad_sizes_are_refused),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
