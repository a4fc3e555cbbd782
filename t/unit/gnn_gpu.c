/* Tests the GPU device of hone-gnn on the emulator: it agrees with the CPU up to rounding, the same
 * step always gives the same bits, and failures are errors. */
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
#include "gnn/ops/half.h"
#include "gnn_gpu_rig.h"
#include "gnn_model_rig.h"

static void build(struct gnn_program *p, enum gnn_model_kind kind, int layers, int aggregate)
{
    struct err err = ERR_INIT;
    struct gnn_model_config c = {.kind = kind,
                                 .layers = layers,
                                 .features = FEATURES,
                                 .hidden = HIDDEN,
                                 .classes = CLASSES,
                                 .heads = 4,
                                 .aggregate = aggregate,
                                 .dropout = -1};
    if (model_build(&c, p, &err) < 0)
        fail_msg("%s", err.msg);
}

/* The results of two training steps, and of predictions after them. */
struct result {
    struct gnn_loss loss[2];
    float *gradient, *weight; /* gradient of the first step, weights after the last */
    float *running, *logit;
    int32_t best[64];
};

static void train(const char *device, const char *precision, const struct gnn_program *p,
                  const struct rig_batch *batch, struct result *r)
{
    struct err err = ERR_INIT;
    struct gnn_device *d = open_precise(device, precision);
    struct gnn_network *n = network_new(p, d, 0xfeedfacecafe);
    r->gradient = xmalloc((size_t)p->n_weights * sizeof(float));
    r->weight = xmalloc((size_t)p->n_weights * sizeof(float));
    r->running = xmalloc((size_t)(p->n_running + 1) * sizeof(float));
    for (int i = 0; i < 2; i++) {
        struct gnn_adam adam = {.lr = 0.01, .beta1 = 0.9, .beta2 = 0.999, .eps = 1e-8};
        network_batch(n, &batch->b);
        network_forward(n, GNN_TRAIN);
        network_loss(n, &r->loss[i]);
        network_backward(n);
        if (i == 0)
            network_download(n, GNN_GRADIENTS, r->gradient);
        network_update(n, &adam);
        if (network_sync(n, &err) < 0)
            fail_msg("%s: %s", device, err.msg);
    }
    network_download(n, GNN_WEIGHTS, r->weight);
    network_download(n, GNN_RUNNING, r->running);
    network_trained_with(n, (const int32_t[GNN_MAX_HOPS]){12, 3, 100});
    network_batch(n, &batch->b);
    network_forward(n, GNN_EVAL);
    r->logit = xmalloc((size_t)(batch->b.n_nodes[0] * CLASSES) * sizeof *r->logit);
    network_get(n, p->output, batch->b.n_nodes[0], r->logit);
    network_predict(n, r->best);
    if (network_sync(n, &err) < 0)
        fail_msg("%s: %s", device, err.msg);
    network_free(n);
    d->ops->close(d);
}

static void result_release(struct result *r)
{
    free(r->gradient);
    free(r->weight);
    free(r->running);
    free(r->logit);
}

/* Returns |a - b| / |b|, with 2-norms, or |a - b| if b is 0. */
static double distance(const float *a, const float *b, int64_t n)
{
    double diff = 0, norm = 0;
    for (int64_t i = 0; i < n; i++) {
        diff += ((double)a[i] - (double)b[i]) * ((double)a[i] - (double)b[i]);
        norm += (double)b[i] * (double)b[i];
    }
    return norm > 0 ? sqrt(diff / norm) : sqrt(diff);
}

static void below(const char *what, const char *model, double value, double limit)
{
    if (!(value < limit))
        fail_msg("%s, %s: the emulator is off by %g, at most %g are allowed", model, what, value,
                 limit);
}

static void compare(enum gnn_model_kind kind, int layers, int aggregate, bool half)
{
    struct rig_batch batch;
    struct gnn_program p;
    struct result cpu, emulator;
    uint16_t *halves = NULL;
    rig_batch_init(&batch, layers, 40, 2, FEATURES, CLASSES, (uint64_t)layers);
    build(&p, kind, layers, aggregate);
    int64_t count = batch.b.n_nodes[layers] * FEATURES;
    if (half) {
        halves = xmalloc((size_t)count * sizeof *halves);
        for (int64_t i = 0; i < count; i++) /* 0x3c00 is 1, 0xb800 is -0.5 */
            halves[i] = (uint16_t)((i % 3 ? 0x3c00 : 0xb800) + i % 100);
        batch.b.feature = halves;
        batch.b.feature_type = GNN_F16;
    }
    train("cpu", NULL, &p, &batch, &cpu);
    train("emulator", NULL, &p, &batch, &emulator);
    const char *name = model_name(kind);
    for (int i = 0; i < 2; i++) {
        below("loss", name, fabs(emulator.loss[i].sum / cpu.loss[i].sum - 1), 1e-5);
        assert_int_equal(emulator.loss[i].rows, cpu.loss[i].rows);
        assert_int_equal(emulator.loss[i].correct, cpu.loss[i].correct);
    }
    below("gradient", name, distance(emulator.gradient, cpu.gradient, p.n_weights), 1e-5);
    /* The gradient of a bias before batch norm is 0 apart from rounding. But Adam makes a full step
     * in its direction, which differs between the devices. So we allow a larger difference. */
    bool norm = kind == GNN_GIN || kind == GNN_SAGE_RI;
    below("weights", name, distance(emulator.weight, cpu.weight, p.n_weights), norm ? 1e-2 : 1e-4);
    below("logits", name, distance(emulator.logit, cpu.logit, batch.b.n_nodes[0] * CLASSES),
          norm ? 1e-2 : 1e-4);
    below("statistics", name, distance(emulator.running, cpu.running, p.n_running), 1e-3);
    assert_memory_equal(emulator.best, cpu.best, (size_t)batch.b.n_nodes[0] * sizeof *cpu.best);
    result_release(&cpu);
    result_release(&emulator);
    free(halves);
    program_release(&p);
    rig_batch_release(&batch);
}

static void a_step_agrees_with_the_cpu(void **state)
{
    compare(GNN_SAGE, 1, GNN_MEAN, false);
    compare(GNN_SAGE, 2, GNN_MEAN, true);
    compare(GNN_SAGE, 3, GNN_MEAN, false);
    compare(GNN_SAGE, 2, GNN_SUM, false);
    compare(GNN_SAGE, 2, GNN_MAX, false);
    compare(GNN_GAT, 2, -1, false);
    compare(GNN_GIN, 2, -1, false);
    compare(GNN_SAGE_RI, 2, -1, false);
}

/* In fp16, all devices round the operands of a product to halves (float16). But the devices add in
 * different orders, so an operand can round to the next half on one of them. So they agree less
 * closely in fp16 than in fp32. But they differ much less from each other than fp16 differs from
 * fp32. */
static void compare_half(enum gnn_model_kind kind, int layers)
{
    struct rig_batch batch;
    struct gnn_program p;
    struct result exact, cpu, emulator;
    rig_batch_init(&batch, layers, 40, 2, FEATURES, CLASSES, (uint64_t)layers);
    build(&p, kind, layers, -1);
    train("cpu", NULL, &p, &batch, &exact);
    train("cpu", "fp16", &p, &batch, &cpu);
    train("emulator", "fp16", &p, &batch, &emulator);
    const char *name = model_name(kind);
    double near = distance(emulator.gradient, cpu.gradient, p.n_weights);
    double rounded = distance(cpu.gradient, exact.gradient, p.n_weights);
    below("loss in fp16", name, fabs(emulator.loss[0].sum / cpu.loss[0].sum - 1), 1e-5);
    below("gradient in fp16", name, near, 1e-4);
    below("gradient in fp16, beside fp32", name, rounded, 5e-3);
    if (!(rounded > 1e-4) || !(rounded > 4 * near))
        fail_msg("%s: fp16 differs from fp32 by %g, the devices differ by %g", name, rounded, near);
    result_release(&exact);
    result_release(&cpu);
    result_release(&emulator);
    program_release(&p);
    rig_batch_release(&batch);
}

static void a_step_in_half_precision_agrees_with_the_cpu(void **state)
{
    compare_half(GNN_SAGE, 2);
    compare_half(GNN_SAGE, 3);
    compare_half(GNN_GAT, 2);
    compare_half(GNN_GIN, 2);
    compare_half(GNN_SAGE_RI, 2);
}

static void operands_are_rounded_to_the_nearest_half(void **state)
{
    for (uint64_t i = 0; i < UINT64_C(1) << 32; i += 4093) {
        uint32_t bits = (uint32_t)i;
        float v, expected, got;
        memcpy(&v, &bits, sizeof v);
        expected = f16_to_f32(f16_from_f32(v));
        got = half_round(v);
        if (memcmp(&expected, &got, sizeof got) != 0 && !(isnan(expected) && isnan(got)))
            fail_msg("%a becomes %a, not %a", (double)v, (double)got, (double)expected);
    }
    for (uint32_t h = 0; h < 0x7bff; h++) { /* ties, midway between two float16 values */
        float low = f16_to_f32((uint16_t)h), high = f16_to_f32((uint16_t)(h + 1));
        float tie = (low + high) / 2;
        assert_true(half_round(tie) == (h % 2 ? high : low));
        assert_true(half_round(-nextafterf(tie, 1e9f)) == -high);
    }
    assert_int_equal(half_shift(1), 6);
    assert_int_equal(half_shift(1024), 16);
    assert_int_equal(half_shift(1025), 17);
}

static void the_same_step_gives_the_same_bits(void **state)
{
    struct rig_batch batch;
    struct gnn_program p;
    struct result a, b;
    rig_batch_init(&batch, 2, 40, 2, FEATURES, CLASSES, 9);
    build(&p, GNN_SAGE, 2, GNN_MEAN);
    train("emulator", NULL, &p, &batch, &a);
    train("emulator", NULL, &p, &batch, &b);
    assert_memory_equal(a.weight, b.weight, (size_t)p.n_weights * sizeof *a.weight);
    result_release(&a);
    result_release(&b);
    program_release(&p);
    rig_batch_release(&batch);
}

static void a_hop_without_edges_is_right(void **state)
{
    struct gnn_device *d = open_device("emulator");
    struct err err = ERR_INIT;
    const int32_t zeros[4] = {0};
    float out[6], x[9] = {1, 2, 3, 4, 5, 6, 7, 8, 9};
    int32_t t_row[4] = {7, 7, 7, 7};
    struct gnn_hop h = {.n_dst = 2, .n_src = 3};
    h.row = d->ops->array(d, zeros, 3 * sizeof *zeros);
    float *y = d->ops->alloc(d, sizeof out);
    int32_t *rows = d->ops->alloc(d, sizeof t_row);
    d->ops->segment(d, GNN_MEAN, &h, 3, d->ops->array(d, x, sizeof x), y, NULL);
    d->ops->transpose(d, &h, rows, NULL, NULL);
    d->ops->download(d, out, y, sizeof out);
    d->ops->download(d, t_row, rows, sizeof t_row);
    for (int i = 0; i < 6; i++)
        assert_true(out[i] == 0);
    assert_memory_equal(t_row, zeros, sizeof zeros);
    assert_int_equal(d->ops->sync(d, &err), 0);
    d->ops->release(d, y);
    d->ops->release(d, rows);
    d->ops->close(d);
}

static void a_kernel_that_faults_is_an_error(void **state)
{
    struct gnn_device *d = open_device("emulator");
    struct err err = ERR_INIT;
    const int32_t row[2] = {0, 1}, col[1] = {1 << 20};
    float x[4] = {0}, out[4] = {1, 1, 1, 1};
    struct gnn_hop h = {.n_dst = 1, .n_src = 1, .n_edges = 1};
    h.row = d->ops->array(d, row, sizeof row);
    h.col = d->ops->array(d, col, sizeof col);
    float *y = d->ops->alloc(d, sizeof out);
    d->ops->segment(d, GNN_SUM, &h, 4, d->ops->array(d, x, sizeof x), y, NULL);
    assert_int_equal(d->ops->sync(d, &err), -1);
    assert_non_null(strstr(err.msg, "gnn_segment_sum"));
    d->ops->zero(d, y, sizeof out); /* later operations do nothing, and the failure stays */
    d->ops->download(d, out, y, sizeof out);
    assert_true(out[0] == 0);
    assert_int_equal(d->ops->sync(d, &err), -1);
    d->ops->release(d, y);
    d->ops->close(d);
}

static void memory_that_nobody_wrote_is_noticed(void **state)
{
    struct gnn_device *d = open_device("emulator");
    struct err err = ERR_INIT;
    float *x = d->ops->alloc(d, 64 * sizeof *x), *y = d->ops->alloc(d, 64 * sizeof *y);
    const struct gnn_epilogue relu = {.act = GNN_RELU};
    float ones[64];
    for (int i = 0; i < 64; i++)
        ones[i] = 1;
    d->ops->upload(d, y, ones, sizeof ones);
    d->ops->apply_grad(d, 4, 16, y, &relu, x);
    assert_int_equal(d->ops->sync(d, &err), -1);
    assert_non_null(strstr(err.msg, "epilogue_grad"));
    d->ops->release(d, x);
    d->ops->release(d, y);
    d->ops->close(d);
}

/* ---- products -------------------------------------------------------------------------------- */

enum { ROWS = 150, DEEP = 36, WIDE = 40 };

struct products {
    float y[ROWS * WIDE], dx[ROWS * DEEP], dw[2 * DEEP * WIDE];
};

/* Computes a loss of 1024 rows. From the number of rows, the device learns how small gradients
 * are. */
static void begin_backward(struct gnn_device *d)
{
    enum { SEEDS = 1024 };
    static float logit[SEEDS];
    static int32_t label[SEEDS];
    struct gnn_loss loss;
    d->ops->loss(d, SEEDS, 1, d->ops->array(d, logit, sizeof logit),
                 d->ops->array(d, label, sizeof label), NULL, &loss);
    assert_int_equal(d->ops->sync(d, NULL), 0);
    assert_int_equal(loss.rows, SEEDS);
}

/* Computes y = x w + x' w', and from dy, the gradient of y, the gradients dx, dw and dw'. Computes
 * dx twice, and adds the second result to the first. dy has values from -size to size. One element
 * of x and one of w is `huge`. `how` names the instructions: mma, wgmma, or NULL for the
 * default. */
static void multiply_sized(const char *device, const char *precision, const char *how, float size,
                           float huge, struct products *p)
{
    struct err err = ERR_INIT;
    struct gnn_device *d = open_precise(device, precision);
    static float x[2 * ROWS * DEEP], w[2 * DEEP * WIDE], dy[ROWS * WIDE];
    if (gnn_device_products(d, how, &err) < 0)
        fail_msg("%s", err.msg);
    begin_backward(d);
    for (int i = 0; i < 2 * ROWS * DEEP; i++)
        x[i] = (float)((i * 2654435761u >> 8) % 1999) / 999.f - 1;
    for (int i = 0; i < 2 * DEEP * WIDE; i++)
        w[i] = (float)((i * 2246822519u >> 8) % 1999) / 999.f - 1;
    for (int i = 0; i < ROWS * WIDE; i++)
        dy[i] = size * ((float)((i * 3266489917u >> 8) % 1999) / 999.f - 1);
    x[5 * DEEP + 3] = w[7 * WIDE + 2] = huge;
    void *in[] = {d->ops->alloc(d, sizeof x), d->ops->alloc(d, sizeof w),
                  d->ops->alloc(d, sizeof dy)};
    void *out[] = {d->ops->alloc(d, sizeof p->y), d->ops->alloc(d, sizeof p->dx),
                   d->ops->alloc(d, sizeof p->dw)};
    d->ops->upload(d, in[0], x, sizeof x);
    d->ops->upload(d, in[1], w, sizeof w);
    d->ops->upload(d, in[2], dy, sizeof dy);
    struct gnn_term term[] = {{.x = in[0], .w = in[1], .k = DEEP, .dw = out[2]},
                              {.x = (float *)in[0] + ROWS * DEEP,
                               .w = (float *)in[1] + DEEP * WIDE,
                               .k = DEEP,
                               .dw = (float *)out[2] + DEEP * WIDE}};
    const struct gnn_epilogue linear = {.act = GNN_LINEAR};
    d->ops->product(d, ROWS, WIDE, term, 2, &linear, out[0]);
    d->ops->product_grad_x(d, ROWS, WIDE, DEEP, in[2], in[1], out[1], false);
    d->ops->product_grad_x(d, ROWS, WIDE, DEEP, in[2], in[1], out[1], true);
    d->ops->product_grad_w(d, ROWS, WIDE, term, 2, in[2]);
    d->ops->download(d, p->y, out[0], sizeof p->y);
    d->ops->download(d, p->dx, out[1], sizeof p->dx);
    d->ops->download(d, p->dw, out[2], sizeof p->dw);
    if (d->ops->sync(d, &err) < 0)
        fail_msg("%s", err.msg);
    for (int i = 0; i < 3; i++) {
        d->ops->release(d, in[i]);
        d->ops->release(d, out[i]);
    }
    d->ops->close(d);
}

static void multiply(const char *device, const char *precision, const char *how, struct products *p)
{
    multiply_sized(device, precision, how, 1, 1, p);
}

static void all_near(const char *what, const float *a, const float *b, int n, double tolerance)
{
    for (int i = 0; i < n; i++)
        if (!(fabs((double)a[i] - b[i]) <= tolerance))
            fail_msg("%s: element %d is %g, not %g", what, i, (double)a[i], (double)b[i]);
}

/* Products with wgmma agree with those of the CPU. In fp32, wgmma adds in another order than
 * mma.sync, so their results differ in some bits. */
static void products_with_wgmma_agree(void **state)
{
    static struct products cpu, mma, wgmma;
    multiply("cpu", NULL, NULL, &cpu);
    for (int tf32 = 0; tf32 < 2; tf32++) {
        const char *precision = tf32 ? "tf32" : "fp32";
        double tolerance = tf32 ? 0.05 : 3e-5;
        multiply("emulator", precision, "mma", &mma);
        multiply("emulator", precision, "wgmma", &wgmma);
        all_near("y", wgmma.y, cpu.y, ROWS * WIDE, tolerance);
        all_near("dx", wgmma.dx, cpu.dx, ROWS * DEEP, tolerance);
        all_near("dw", wgmma.dw, cpu.dw, 2 * DEEP * WIDE, tolerance);
        if (tf32)
            continue; /* both add up in the same order */
        assert_memory_not_equal(wgmma.y, mma.y, sizeof mma.y);
        assert_memory_not_equal(wgmma.dx, mma.dx, sizeof mma.dx);
        assert_memory_not_equal(wgmma.dw, mma.dw, sizeof mma.dw);
    }
}

static void half_products_near(float size, float huge, double tolerance)
{
    static struct products cpu, gpu;
    multiply_sized("cpu", "fp16", NULL, size, huge, &cpu);
    for (int wgmma = 0; wgmma < 2; wgmma++) {
        multiply_sized("emulator", "fp16", wgmma ? "wgmma" : "mma", size, huge, &gpu);
        all_near("y", gpu.y, cpu.y, ROWS * WIDE, tolerance * huge);
        all_near("dx", gpu.dx, cpu.dx, ROWS * DEEP, tolerance * (double)size * huge);
        all_near("dw", gpu.dw, cpu.dw, 2 * DEEP * WIDE, tolerance * (double)size * huge);
    }
}

static void products_in_half_precision_agree(void **state)
{
    static struct products exact, half;
    half_products_near(1e-3f, 1, 3e-5);
    /* these gradients are too small for float16, but the device scales them by a power of two, and
     * so keeps 11 bits of them */
    half_products_near(1e-8f, 1, 3e-5);
    multiply_sized("cpu", NULL, NULL, 1e-8f, 1, &exact);
    multiply_sized("cpu", "fp16", NULL, 1e-8f, 1, &half);
    double y = distance(half.y, exact.y, ROWS * WIDE),
           dx = distance(half.dx, exact.dx, ROWS * DEEP),
           dw = distance(half.dw, exact.dw, 2 * DEEP * WIDE);
    below("y in fp16", "product", y, 1e-3);
    below("dx in fp16", "product", dx, 1e-3);
    below("dw in fp16", "product", dw, 1e-3);
    assert_true(y > 1e-5 && dx > 1e-5 && dw > 1e-5); /* fp16 rounds */
    /* a result that uses an operand too large for float16 is computed without rounding operands */
    half_products_near(1e-3f, 1e6f, 3e-7);
    half_products_near(100, 1, 3e-5);
    multiply_sized("cpu", NULL, NULL, 1e-3f, 1e6f, &exact);
    multiply_sized("cpu", "fp16", NULL, 1e-3f, 1e6f, &half);
    for (int c = 0; c < WIDE; c++)
        if (!(fabsf(half.y[5 * WIDE + c] - exact.y[5 * WIDE + c]) <= 1))
            fail_msg("column %d is %g, not %g", c, (double)half.y[5 * WIDE + c],
                     (double)exact.y[5 * WIDE + c]);
}

static void devices_have_names(void **state)
{
    struct err err = ERR_INIT;
    struct gnn_device *d, *second;
    assert_int_equal(gnn_device_open(&d, "gpu", 1, &err), -1);
    assert_non_null(strstr(err.msg, "cpu, cuda, cuda:N or emulator"));
    assert_int_equal(gnn_device_open(&d, "cuda:x", 1, &err), -1);
    d = open_device("emulator");
    assert_int_equal(gnn_device_open(&second, "emulator", 1, &err), -1);
    assert_non_null(strstr(err.msg, "already open"));
    assert_string_equal(d->ops->name, "emulator");
    d->ops->close(d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_step_agrees_with_the_cpu),
        cmocka_unit_test(a_step_in_half_precision_agrees_with_the_cpu),
        cmocka_unit_test(operands_are_rounded_to_the_nearest_half),
        cmocka_unit_test(the_same_step_gives_the_same_bits),
        cmocka_unit_test(a_hop_without_edges_is_right),
        cmocka_unit_test(a_kernel_that_faults_is_an_error),
        cmocka_unit_test(memory_that_nobody_wrote_is_noticed),
        cmocka_unit_test(products_with_wgmma_agree),
        cmocka_unit_test(products_in_half_precision_agree),
        cmocka_unit_test(devices_have_names),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
