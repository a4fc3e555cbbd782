/* The GPU device of hone-gnn on the emulator: a training step and predictions agree with the CPU to
 * rounding, the same call gives the same bits, failures are errors. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/dtype.h"
#include "base/rng.h"
#include "gnn/data/papers.h"
#include "gnn/gpu/devices.h"
#include "gnn/gpu/gpu_store.h"
#include "gnn/gpu/gpu_transfer.h"
#include "gnn/gpu/vip.h"
#include "gnn/load/pack.h"
#include "gnn/load/slice.h"
#include "gnn/model/models.h"
#include "gnn/model/network.h"
#include "gnn/ops/half.h"
#include "gnn_model_rig.h"

enum { FEATURES = 12, HIDDEN = 20, CLASSES = 5 };

static struct gnn_device *open_precise(const char *name, const char *precision)
{
    struct err err = ERR_INIT;
    struct gnn_device *d = NULL;
    if (gnn_device_open(&d, name, 1, &err) < 0 || gnn_device_precision(d, precision, &err) < 0)
        fail_msg("%s: %s", name, err.msg);
    return d;
}

static struct gnn_device *open_device(const char *name)
{
    return open_precise(name, NULL);
}

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

/* The results of some training steps, and of predictions after them. */
struct result {
    struct gnn_loss loss[2];
    float *gradient, *weight; /* the gradient of the first step, the weights after the last */
    float *running, *logit;   /* the logits of the predictions */
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

/* |a - b| / |b|, as 2-norms. */
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

/* `half`: the features travel as halves. */
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
        for (int64_t i = 0; i < count; i++) /* 0x3c00 is 1, 0x3800 is 0.5 */
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
    /* The gradient of a bias in front of batch norm is 0 apart from rounding, and Adam makes a step
     * of full size in the direction of the rounding. */
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

/* In half precision, all devices round the same operands. A sum in another order can move an
 * operand across the border between two halves, so they agree less closely than in fp32, but much
 * better than with fp32. */
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
    for (uint32_t h = 0; h < 0x7bff; h++) { /* ties: halfway between two halves */
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

/* ---- the GPU's sampler ---- */

enum { NODES = 1500 };

/* A graph with isolated nodes, self loops, and degrees up to 900. */
struct graph_rig {
    struct dataset data;
    int64_t offset[NODES + 1];
    int32_t *neighbour, label[NODES];
    uint16_t *half;
    float *single;
};

static void graph_init(struct graph_rig *r)
{
    struct rng g = rng_seeded(4, 4);
    memset(r, 0, sizeof *r);
    for (int v = 0; v < NODES; v++) {
        uint64_t most = v % 97 == 0 ? 900 : v % 11 == 0 ? 80 : v % 7 == 0 ? 1 : 12;
        r->offset[v + 1] = r->offset[v] + (int64_t)rng_below(&g, most + (v % 7 != 0));
        r->label[v] = v % CLASSES;
    }
    int64_t edges = r->offset[NODES];
    r->neighbour = xmalloc((size_t)edges * sizeof *r->neighbour);
    for (int64_t e = 0; e < edges; e++)
        r->neighbour[e] = (int32_t)rng_below(&g, NODES);
    r->half = xmalloc((size_t)NODES * FEATURES * sizeof *r->half);
    r->single = xmalloc((size_t)NODES * FEATURES * sizeof *r->single);
    for (int64_t i = 0; i < (int64_t)NODES * FEATURES; i++) {
        r->half[i] = (uint16_t)(0x3c00 + i % 1024); /* 1 + (i % 1024) / 1024 */
        r->single[i] = 1 + (float)(i % 1024) / 1024;
    }
    r->data.graph = (struct gnn_graph){NODES, edges, r->offset, r->neighbour};
    r->data.manifest.feature_dim = FEATURES;
    r->data.manifest.feature_type = GNN_F16;
    r->data.feature = r->half;
    r->data.label = r->label;
}

static void graph_release(struct graph_rig *r)
{
    free(r->neighbour);
    free(r->half);
    free(r->single);
}

static void same_array(struct gnn_device *d, const char *what, const void *host, const void *device,
                       int64_t elems)
{
    size_t bytes = (size_t)elems * 4;
    void *got = xmalloc(MAX(bytes, 1));
    d->ops->download(d, got, device, bytes);
    if (memcmp(got, host, bytes) != 0)
        fail_msg("%s of the GPU's batch differs", what);
    free(got);
}

static void same_batch(struct gnn_device *d, const struct graph_rig *r, const struct gnn_batch *cpu,
                       const struct gnn_batch *gpu)
{
    assert_int_equal(gpu->hops, cpu->hops);
    for (int h = 0; h <= cpu->hops; h++)
        assert_int_equal(gpu->n_nodes[h], cpu->n_nodes[h]);
    for (int h = 0; h < cpu->hops; h++) {
        assert_int_equal(gpu->n_edges[h], cpu->n_edges[h]);
        same_array(d, "row", cpu->row[h], gpu->row[h], cpu->n_nodes[h] + 1);
        same_array(d, "col", cpu->col[h], gpu->col[h], cpu->n_edges[h]);
    }
    int64_t n = cpu->n_nodes[cpu->hops];
    same_array(d, "node", cpu->node, gpu->node, n);
    float *x = xmalloc((size_t)n * FEATURES * sizeof *x);
    for (int64_t i = 0; i < n; i++)
        memcpy(x + i * FEATURES, r->single + (int64_t)cpu->node[i] * FEATURES,
               FEATURES * sizeof *x);
    same_array(d, "feature", x, gpu->feature, n * FEATURES);
    free(x);
}

/* A split store counts the input rows, and those that were not in its cache. */
static void check_counts(struct gpu_store *store, const struct gpu_placement *where, int64_t inputs)
{
    struct gpu_split s;
    assert_true(gpu_store_split(store, &s));
    assert_int_equal(s.nodes, NODES);
    assert_int_equal(s.input_rows, inputs);
    if (where->cache.kind == CACHE_SHARE)
        assert_int_equal(s.cached_rows, llround(where->cache.share * NODES));
    if (s.cached_rows == 0)
        assert_int_equal(s.host_rows, inputs);
    else if (s.cached_rows == NODES)
        assert_int_equal(s.host_rows, 0);
    else
        assert_true(s.host_rows > 0 && s.host_rows < inputs);
}

/* Compares the batches of the CPU's and the GPU's samplers over random seeds. */
static void compare_samplers(struct gnn_device *d, struct graph_rig *r, struct sample_options o,
                             struct gpu_placement where, int batches)
{
    struct err err = ERR_INIT;
    struct gpu_store *store;
    struct sampler sampler;
    struct batch_space space;
    struct rng g = rng_seeded(o.seed, 8);
    enum { SEEDS = 24 };
    int64_t inputs = 0;
    if (gpu_store_place(&store, &where, d, &r->data, &o, &err) < 0 ||
        sampler_init(&sampler, &r->data.graph, &o, &err) < 0 ||
        batch_space_init(&space, &r->data.graph, &o, SEEDS, &err) < 0)
        fail_msg("%s", err.msg);
    for (int i = 0; i < batches; i++) {
        int32_t seed[SEEDS];
        int64_t n = 1 + (int64_t)rng_below(&g, SEEDS), first = (int64_t)rng_below(&g, NODES);
        for (int64_t k = 0; k < n; k++) /* different nodes: 7 and 1500 have no common divisor */
            seed[k] = (int32_t)((first + k * 7) % NODES);
        struct gnn_batch cpu, gpu,
            seeds = {.n_nodes = {n}, .node = seed, .epoch = i / 40, .index = i % 40};
        if (sampler_run(&sampler, seed, n, i / 40, i % 40, &space, &cpu, &err) < 0 ||
            gpu_store_batch(store, &o, &seeds, &gpu, &err) < 0)
            fail_msg("%s", err.msg);
        same_batch(d, r, &cpu, &gpu);
        inputs += cpu.n_nodes[o.hops];
        assert_int_equal(d->ops->sync(d, &err), 0);
    }
    if (where.place == GPU_PLACE_SPLIT)
        check_counts(store, &where, inputs);
    batch_space_release(&space);
    sampler_release(&sampler);
    gpu_store_close(store);
}

/* Batches that a transfer copies equal those in host memory, come back in order, and at most
 * `ahead` of them are under way. */
static void compare_copies(struct gnn_device *d, struct graph_rig *r, int ahead)
{
    struct err err = ERR_INIT;
    struct gpu_transfer *t;
    struct sampler sampler;
    struct batch_space space;
    struct sample_options o = {.hops = 2, .fanout = {4, 3}, .seed = 11};
    enum { SEEDS = 24, BATCHES = 9 };
    const struct gnn_batch *back;
    struct gnn_batch host[BATCHES], gpu;
    struct packed piece[BATCHES] = {0};
    int returned = 0;
    if (gpu_transfer_open(&t, d, ahead, &err) < 0 ||
        sampler_init(&sampler, &r->data.graph, &o, &err) < 0 ||
        batch_space_init(&space, &r->data.graph, &o, SEEDS, &err) < 0)
        fail_msg("%s", err.msg);
    const struct batch_memory *memory = gpu_transfer_memory(t);
    for (int i = 0; i < BATCHES; i++) {
        int32_t seed[SEEDS];
        struct gnn_batch *b = &host[i];
        int64_t n = i % 2 ? 5 : SEEDS;
        for (int64_t k = 0; k < n; k++)
            seed[k] = (int32_t)((i * 100 + k * 7) % NODES);
        if (sampler_run(&sampler, seed, n, 0, i, &space, b, &err) < 0 ||
            pack_batch(&piece[i], memory, b, FEATURES * sizeof(uint16_t), false, &err) < 0)
            fail_msg("%s", err.msg);
        slice_rows((void *)b->feature, r->data.feature, FEATURES * sizeof(uint16_t), b->node,
                   b->n_nodes[b->hops]);
        b->feature_type = GNN_F16;
        b->feature_dim = FEATURES;
        assert_int_equal(gpu_transfer_batch(t, b, &gpu, &err), 0);
        assert_true(gpu.on_device && gpu.feature_type == GNN_F32);
        same_batch(d, r, b, &gpu);
        while ((back = gpu_transfer_done(t, ahead)))
            assert_ptr_equal(back, &host[returned++]);
        assert_true(i + 1 - returned <= ahead);
    }
    while ((back = gpu_transfer_done(t, 0)))
        assert_ptr_equal(back, &host[returned++]);
    assert_int_equal(returned, BATCHES);
    assert_true(gpu_transfer_exposed_s(t) >= 0);
    for (int i = 0; i < BATCHES; i++)
        packed_release(&piece[i], memory);
    batch_space_release(&space);
    sampler_release(&sampler);
    gpu_transfer_close(t);
}

static void copied_batches_are_the_same(void **state)
{
    struct graph_rig r;
    struct gpu_transfer *t;
    struct err err = ERR_INIT;
    struct gnn_device *d = open_device("emulator");
    (void)state;
    graph_init(&r);
    for (int ahead = 1; ahead <= 3; ahead++)
        compare_copies(d, &r, ahead);
    assert_int_equal(gpu_transfer_open(&t, d, GPU_MAX_AHEAD + 1, &err), -1);
    graph_release(&r);
    d->ops->close(d);
}

static void the_gpu_samples_the_same_batches(void **state)
{
    const char *tier = getenv("TIER");
    int batches = tier && (str_eq(tier, "all") || str_eq(tier, "rest")) ? 1000 : 30;
    const struct gpu_placement gpu = {.place = GPU_PLACE_GPU};
    struct graph_rig r;
    graph_init(&r);
    struct gnn_device *d = open_device("emulator");
    compare_samplers(d, &r, (struct sample_options){.hops = 3, .fanout = {5, 4, 2}, .seed = 1}, gpu,
                     batches);
    compare_samplers(
        d, &r,
        (struct sample_options){
            .hops = 2, .fanout = {3, 4}, .seed = ~(uint64_t)0, .mode = SAMPLE_REPEATED},
        gpu, batches / 10);
    r.data.manifest.feature_type = GNN_F32;
    r.data.feature = r.single;
    compare_samplers(d, &r, (struct sample_options){.hops = 1, .fanout = {700}, .seed = 77}, gpu,
                     3);
    d->ops->close(d);
    graph_release(&r);
}

static void split_features_are_the_same(void **state)
{
    static const struct gpu_cache_size sizes[] = {{CACHE_SHARE, 0, 0},
                                                  {CACHE_SHARE, 0, 0.3},
                                                  {CACHE_SHARE, 0, 1},
                                                  {CACHE_BYTES, 100 * FEATURES * 4, 0},
                                                  {CACHE_FITS, 0, 0}};
    int32_t seed[NODES / 2];
    struct graph_rig r;
    graph_init(&r);
    struct gnn_device *d = open_device("emulator");
    for (int i = 0; i < NODES / 2; i++)
        seed[i] = 2 * i;
    for (size_t i = 0; i < ARRAY_LEN(sizes); i++)
        for (int single = 0; single < 2; single++) {
            r.data.manifest.feature_type = single ? GNN_F32 : GNN_F16;
            r.data.feature = single ? (void *)r.single : r.half;
            compare_samplers(d, &r, (struct sample_options){.hops = 2, .fanout = {5, 4}, .seed = 3},
                             (struct gpu_placement){.place = GPU_PLACE_SPLIT,
                                                    .cache = sizes[i],
                                                    .seeds = {seed, NODES / 2},
                                                    .batches = 30,
                                                    .threads = 2},
                             5);
        }
    d->ops->close(d);
    graph_release(&r);
}

static void auto_chooses_by_size(void **state)
{
    struct gpu_place_sizes s = {.memory = 1000, .graph = 500, .features = 250, .split_table = 10};
    assert_int_equal(gpu_place_choose(&s), GPU_PLACE_GPU);
    s.features = 251;
    assert_int_equal(gpu_place_choose(&s), GPU_PLACE_SPLIT);
    s.features = 10240; /* 240 on the GPU, 10000 left */
    s.host_free = 13336;
    assert_int_equal(gpu_place_choose(&s), GPU_PLACE_SPLIT);
    s.host_free = 13328;
    assert_int_equal(gpu_place_choose(&s), GPU_PLACE_HOST);
    s.host_free = 0;
    s.graph = 741; /* with the table of a split store, more than 3/4 */
    assert_int_equal(gpu_place_choose(&s), GPU_PLACE_HOST);
}

/* ---- inclusion probabilities ---- */

static void probabilities(const struct gnn_graph *g, const struct sample_options *o,
                          struct id_list seeds, int64_t batches, int threads, float *p)
{
    struct err err = ERR_INIT;
    if (vip_compute(g, o, seeds, batches, threads, p, &err) < 0)
        fail_msg("%s", err.msg);
}

static void near_p(double a, double b)
{
    if (!(fabs(a - b) < 1e-6))
        fail_msg("%.9f, not %.9f", a, b);
}

/* Small graphs whose probabilities are easy to compute. */
static void inclusion_of_small_graphs_is_exact(void **state)
{
    /* 0 has the neighbours 1..4, 1 has 5, 5 has 0; 6 is alone. */
    static const int64_t offset[] = {0, 4, 5, 5, 5, 5, 6, 6};
    static const int32_t neighbour[] = {1, 2, 3, 4, 5, 0}, seed[] = {0, 6};
    const struct gnn_graph g = {7, 6, offset, neighbour};
    struct sample_options o = {.hops = 1, .fanout = {2, 3}};
    float p[7];
    probabilities(&g, &o, (struct id_list){seed, 2}, 1, 1, p);
    near_p(p[0], 1);
    near_p(p[1], 0.5);
    near_p(p[5], 0);
    near_p(p[6], 1);
    o.hops = 2;
    probabilities(&g, &o, (struct id_list){seed, 2}, 1, 1, p);
    near_p(p[4], 1 - 0.5 * 0.25); /* the second hop takes 3 of 4 neighbours of node 0 */
    near_p(p[5], 0.5);
    o.mode = SAMPLE_REPEATED;
    probabilities(&g, &o, (struct id_list){seed, 2}, 1, 1, p);
    near_p(p[4], 1 - 0.75 * 0.75 * 0.75 * 0.75 * 0.75);
    o.mode = SAMPLE_DISTINCT;
    o.fanout[0] = FANOUT_ALL;
    o.hops = 1;
    probabilities(&g, &o, (struct id_list){seed, 2}, 4, 1, p);
    near_p(p[0], 0.25);
    near_p(p[3], 0.25);
    near_p(p[6], 0.25);
}

/* Counts the input nodes of many batches over shuffled seeds. */
static void inclusion_agrees_with_counting(void **state)
{
    enum { SEEDS = 600, BATCH = 20, EPOCHS = 60, BATCHES = SEEDS / BATCH * EPOCHS };
    struct graph_rig r;
    struct sampler sampler;
    struct batch_space space;
    struct err err = ERR_INIT;
    struct rng g = rng_seeded(5, 5);
    struct sample_options o = {.hops = 2, .fanout = {5, 3}, .seed = 9};
    int32_t seed[SEEDS];
    static int32_t count[NODES];
    static float p[NODES], again[NODES];
    memset(count, 0, sizeof count);
    graph_init(&r);
    if (sampler_init(&sampler, &r.data.graph, &o, &err) < 0 ||
        batch_space_init(&space, &r.data.graph, &o, BATCH, &err) < 0)
        fail_msg("%s", err.msg);
    for (int i = 0; i < SEEDS; i++)
        seed[i] = i * 2 + 1;
    probabilities(&r.data.graph, &o, (struct id_list){seed, SEEDS}, SEEDS / BATCH, 1, p);
    probabilities(&r.data.graph, &o, (struct id_list){seed, SEEDS}, SEEDS / BATCH, 4, again);
    assert_memory_equal(p, again, sizeof p);
    for (int b = 0; b < BATCHES; b++) {
        struct gnn_batch batch;
        int first = b * BATCH % SEEDS;
        for (int i = SEEDS - 1; first == 0 && i > 0; i--) {
            int k = (int)rng_below(&g, (uint64_t)i + 1);
            int32_t t = seed[i];
            seed[i] = seed[k];
            seed[k] = t;
        }
        if (sampler_run(&sampler, seed + first, BATCH, b / (SEEDS / BATCH), b % (SEEDS / BATCH),
                        &space, &batch, &err) < 0)
            fail_msg("%s", err.msg);
        for (int64_t i = 0; i < batch.n_nodes[2]; i++)
            count[batch.node[i]]++;
    }
    double all_p = 0, all_counted = 0;
    for (int v = 0; v < NODES; v++) {
        double counted = (double)count[v] / BATCHES, expected = (double)p[v];
        double noise = sqrt(expected * (1 - expected) / BATCHES);
        all_p += expected;
        all_counted += counted;
        if (fabs(counted - expected) > 5 * noise + 0.03)
            fail_msg("node %d: computed %.4f, counted %.4f", v, expected, counted);
    }
    if (fabs(all_p / all_counted - 1) > 0.02)
        fail_msg("%.1f input nodes computed, %.1f counted", all_p, all_counted);
    batch_space_release(&space);
    sampler_release(&sampler);
    graph_release(&r);
}

static void the_most_likely_nodes_are_chosen(void **state)
{
    static const float p[] = {0.5f, 0, 0.25f, 1, 0.5f, 0.25f, 0.25f, 0.2500001f};
    static const int32_t order[][8] = {
        {0, 1, 2, 3, 4, 5, 6, 7}, {3, 0, 1, 2, 4, 5, 6, 7}, {0, 3, 1, 2, 4, 5, 6, 7},
        {0, 3, 4, 1, 2, 5, 6, 7}, {0, 3, 4, 7, 1, 2, 5, 6}, {0, 2, 3, 4, 7, 1, 5, 6},
        {0, 2, 3, 4, 5, 7, 1, 6}, {0, 2, 3, 4, 5, 6, 7, 1}, {0, 1, 2, 3, 4, 5, 6, 7}};
    for (int64_t rows = 0; rows <= 8; rows++) {
        int32_t got[8];
        vip_choose(p, 8, rows, got);
        assert_memory_equal(got, order[rows], sizeof got);
    }
}

static void the_gpu_refuses_what_it_cannot_sample(void **state)
{
    struct err err = ERR_INIT;
    struct gpu_store *store;
    struct graph_rig r;
    graph_init(&r);
    struct gnn_device *d = open_device("emulator"), *cpu = open_device("cpu");
    struct sample_options all = {.hops = 1, .fanout = {FANOUT_ALL}},
                          labor = {.hops = 1, .fanout = {3}, .mode = SAMPLE_LABOR},
                          plain = {.hops = 1, .fanout = {3}};
    assert_int_equal(gpu_store_place(&store, &(struct gpu_placement){.place = GPU_PLACE_GPU}, d,
                                     &r.data, &all, &err),
                     -1);
    assert_non_null(strstr(err.msg, "--place host"));
    assert_int_equal(gpu_store_place(&store, &(struct gpu_placement){.place = GPU_PLACE_GPU}, d,
                                     &r.data, &labor, &err),
                     -1);
    assert_int_equal(gpu_store_place(&store, &(struct gpu_placement){.place = GPU_PLACE_GPU}, cpu,
                                     &r.data, &plain, &err),
                     -1);
    assert_int_equal(gpu_store_place(&store, &(struct gpu_placement){.place = GPU_PLACE_AUTO}, d,
                                     &r.data, &all, &err),
                     0);
    assert_null(store);
    assert_int_equal(gpu_store_place(&store, &(struct gpu_placement){.place = GPU_PLACE_AUTO}, cpu,
                                     &r.data, &plain, &err),
                     0);
    assert_null(store);
    struct sample_options huge = {.hops = 3, .fanout = {1024, 1024, 1024}};
    struct gnn_batch out, seeds = {.n_nodes = {NODES}};
    r.data.graph.nodes = INT32_MAX; /* only for the estimate of the batch's size */
    assert_int_equal(gpu_store_place(&store, &(struct gpu_placement){.place = GPU_PLACE_HOST}, d,
                                     &r.data, &huge, &err),
                     0);
    assert_null(store);
    r.data.graph.nodes = NODES;
    assert_int_equal(gpu_store_place(&store, &(struct gpu_placement){.place = GPU_PLACE_GPU}, d,
                                     &r.data, &plain, &err),
                     0);
    r.data.graph.nodes = INT32_MAX;
    assert_int_equal(gpu_store_batch(store, &huge, &seeds, &out, &err), -1);
    assert_non_null(strstr(err.msg, "smaller batch"));
    r.data.graph.nodes = NODES;
    gpu_store_close(store);
    cpu->ops->close(cpu);
    d->ops->close(d);
    graph_release(&r);
}

/* ---- products -------------------------------------------------------------------------------- */

enum { ROWS = 150, DEEP = 36, WIDE = 40 };

struct products {
    float y[ROWS * WIDE], dx[ROWS * DEEP], dw[2 * DEEP * WIDE];
};

/* Computes the loss of a batch of 1024 seeds, after which the device knows how large gradients are.
 */
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

/* y = x w + x' w', and from dy the gradients of x (added twice), w and w'. dy has values up to
 * `size`. `huge` is one element of x and of w. */
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

/* Products with WGMMA, through tensor maps of the exported C, give what the CPU gives. In fp32
 * they are not the products with mma.sync: their sums have another order. */
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

/* The three devices differ by at most `tolerance`. */
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
    /* A half cannot be as small as these gradients. With the shift they keep 11 bits. */
    half_products_near(1e-8f, 1, 3e-5);
    multiply_sized("cpu", NULL, NULL, 1e-8f, 1, &exact);
    multiply_sized("cpu", "fp16", NULL, 1e-8f, 1, &half);
    double y = distance(half.y, exact.y, ROWS * WIDE),
           dx = distance(half.dx, exact.dx, ROWS * DEEP),
           dw = distance(half.dw, exact.dw, 2 * DEEP * WIDE);
    below("y in fp16", "product", y, 1e-3);
    below("dx in fp16", "product", dx, 1e-3);
    below("dw in fp16", "product", dw, 1e-3);
    assert_true(y > 1e-5 && dx > 1e-5 && dw > 1e-5); /* it is rounded */
    /* Results with an operand that no half can hold are computed without rounding. */
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

/* ---- data that is made ----------------------------------------------------------------------- */

static const char tiny_papers[] = "papers:scale=0.000005,members=40,dim=16,classes=5,seed=7";

/* Each edge has its reverse as often as it occurs itself; no node is isolated. */
static void a_made_graph_is_symmetric(void **state)
{
    struct err err = ERR_INIT;
    struct dataset d;
    if (papers_open(&d, tiny_papers, PAPERS_ON_HOST, &err) < 0)
        fail_msg("%s", err.msg);
    const struct gnn_graph *g = &d.graph;
    int32_t *seen = xcalloc((size_t)(g->nodes * g->nodes), sizeof *seen);
    for (int64_t v = 0; v < g->nodes; v++) {
        assert_true(g->offset[v + 1] > g->offset[v]);
        for (int64_t e = g->offset[v]; e < g->offset[v + 1]; e++)
            seen[v * g->nodes + g->neighbour[e]]++;
    }
    assert_int_equal(g->offset[g->nodes], g->edges);
    for (int64_t v = 0; v < g->nodes; v++)
        for (int64_t u = 0; u < v; u++)
            assert_int_equal(seen[v * g->nodes + u], seen[u * g->nodes + v]);
    free(seen);
    dataset_release(&d);
}

/* A store that reduces gives the means over the neighbours of the last hop, and only the rows of
 * its targets. `x` has the features of the batch that sampler_run() gave. */
static void reduced_features(struct gnn_device *d, struct gpu_store *store,
                             const struct sample_options *o, const struct gnn_batch *seeds,
                             const struct gnn_batch *cpu, const float *x, int64_t dim)
{
    struct err err = ERR_INIT;
    struct gnn_batch gpu;
    int last = cpu->hops - 1;
    int64_t n = cpu->n_nodes[last];
    float *mean = xmalloc((size_t)(n * dim) * sizeof *mean);
    gpu_store_reduce(store, GNN_MEAN);
    if (gpu_store_batch(store, o, seeds, &gpu, &err) < 0)
        fail_msg("%s", err.msg);
    same_array(d, "feature", x, gpu.feature, n * dim);
    d->ops->download(d, mean, gpu.reduced, (size_t)(n * dim) * sizeof *mean);
    for (int64_t i = 0; i < n * dim; i++) {
        int32_t first = cpu->row[last][i / dim], end = cpu->row[last][i / dim + 1];
        double sum = 0;
        for (int32_t e = first; e < end; e++)
            sum += (double)x[cpu->col[last][e] * dim + i % dim];
        assert_true(fabs(mean[i] - sum / MAX(end - first, 1)) < 1e-6);
    }
    gpu_store_reduce(store, GNN_MAX); /* the GPU reduces no maximum here */
    if (gpu_store_batch(store, o, seeds, &gpu, &err) < 0)
        fail_msg("%s", err.msg);
    assert_null(gpu.reduced);
    free(mean);
}

/* The store makes graph and features by kernels; the batch of the CPU has those of the host. */
static void a_made_graph_is_the_same_on_the_gpu(void **state)
{
    struct err err = ERR_INIT;
    struct dataset data;
    struct gpu_store *store;
    struct sampler sampler;
    struct batch_space space;
    struct sample_options o = {.hops = 2, .fanout = {40, 40}, .seed = 1};
    if (papers_open(&data, tiny_papers, PAPERS_ON_HOST, &err) < 0)
        fail_msg("%s", err.msg);
    struct gnn_device *d = open_device("emulator");
    enum { SEEDS = 20 };
    int32_t seed[SEEDS];
    for (int i = 0; i < SEEDS; i++)
        seed[i] = i * 27;
    struct gnn_batch cpu, gpu, seeds = {.n_nodes = {SEEDS}, .node = seed};
    if (gpu_store_place(&store, &(struct gpu_placement){.place = GPU_PLACE_GPU}, d, &data, &o,
                        &err) < 0 ||
        sampler_init(&sampler, &data.graph, &o, &err) < 0 ||
        batch_space_init(&space, &data.graph, &o, SEEDS, &err) < 0 ||
        sampler_run(&sampler, seed, SEEDS, 0, 0, &space, &cpu, &err) < 0 ||
        gpu_store_batch(store, &o, &seeds, &gpu, &err) < 0)
        fail_msg("%s", err.msg);
    int64_t n = cpu.n_nodes[2], dim = data.manifest.feature_dim;
    assert_int_equal(gpu.n_nodes[2], n);
    assert_true(n > data.graph.nodes / 2);
    same_array(d, "row", cpu.row[1], gpu.row[1], cpu.n_nodes[1] + 1);
    same_array(d, "col", cpu.col[1], gpu.col[1], cpu.n_edges[1]);
    same_array(d, "node", cpu.node, gpu.node, n);
    float *x = xmalloc((size_t)(n * dim) * sizeof *x);
    for (int64_t i = 0; i < n * dim; i++)
        x[i] = f16_to_f32(((const uint16_t *)data.feature)[cpu.node[i / dim] * dim + i % dim]);
    same_array(d, "feature", x, gpu.feature, n * dim);
    reduced_features(d, store, &o, &seeds, &cpu, x, dim);
    free(x);
    batch_space_release(&space);
    sampler_release(&sampler);
    gpu_store_close(store);
    d->ops->close(d);
    dataset_release(&data);
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
        cmocka_unit_test(copied_batches_are_the_same),
        cmocka_unit_test(the_gpu_samples_the_same_batches),
        cmocka_unit_test(split_features_are_the_same),
        cmocka_unit_test(auto_chooses_by_size),
        cmocka_unit_test(inclusion_of_small_graphs_is_exact),
        cmocka_unit_test(inclusion_agrees_with_counting),
        cmocka_unit_test(the_most_likely_nodes_are_chosen),
        cmocka_unit_test(the_gpu_refuses_what_it_cannot_sample),
        cmocka_unit_test(products_with_wgmma_agree),
        cmocka_unit_test(products_in_half_precision_agree),
        cmocka_unit_test(devices_have_names),
        cmocka_unit_test(a_made_graph_is_symmetric),
        cmocka_unit_test(a_made_graph_is_the_same_on_the_gpu),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
