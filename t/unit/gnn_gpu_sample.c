/* Tests the GPU code that samples, places data and copies batches, on the emulator: its batches are
 * those of the CPU, also with features split between host and GPU, and with data made by kernels.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/dtype.h"
#include "gnn/data/papers.h"
#include "gnn/gpu/gpu_store.h"
#include "gnn/gpu/gpu_transfer.h"
#include "gnn/load/pack.h"
#include "gnn/load/slice.h"
#include "gnn_gpu_rig.h"

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

/* Checks the counts of a split store: the input rows of all batches, and how many of them were not
 * in its cache. */
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

/* Compares batches of the CPU's sampler with those of the GPU's sampler, for random seed nodes. */
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

/* Copies batches to the device with a transfer. The copies equal the batches in host memory. The
 * transfer gives back the host's batches in order, and at most `ahead` of them are still in use. */
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
    s.features = 10240; /* 240 fit on the GPU, and 10000 stay in host memory */
    s.host_free = 13336;
    assert_int_equal(gpu_place_choose(&s), GPU_PLACE_SPLIT);
    s.host_free = 13328;
    assert_int_equal(gpu_place_choose(&s), GPU_PLACE_HOST);
    s.host_free = 0;
    s.graph = 741; /* the graph and the table of a split store need more than 3/4 of the memory */
    assert_int_equal(gpu_place_choose(&s), GPU_PLACE_HOST);
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
    r.data.graph.nodes = INT32_MAX; /* so that the estimate of the batch's size is huge */
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

/* ---- data that is made ----------------------------------------------------------------------- */

static const char tiny_papers[] = "papers:scale=0.000005,members=40,dim=16,classes=5,seed=7";

/* In a generated graph, the reverse of an edge occurs as often as the edge itself, and every node
 * has an edge. */
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

/* After gpu_store_reduce(), a store computes the means over the neighbours of the last hop. Then it
 * gives only the feature rows of the targets of this hop. This function checks both. `cpu` is the
 * batch that sampler_run() gave, and `x` has its features. */
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
    gpu_store_reduce(store, GNN_MAX); /* a store does not compute maxima */
    if (gpu_store_batch(store, o, seeds, &gpu, &err) < 0)
        fail_msg("%s", err.msg);
    assert_null(gpu.reduced);
    free(mean);
}

/* The store generates the graph and the features with kernels. The CPU samples its batch from the
 * graph and the features that the host generated. Both batches must be equal. */
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
        cmocka_unit_test(copied_batches_are_the_same),
        cmocka_unit_test(the_gpu_samples_the_same_batches),
        cmocka_unit_test(split_features_are_the_same),
        cmocka_unit_test(auto_chooses_by_size),
        cmocka_unit_test(the_gpu_refuses_what_it_cannot_sample),
        cmocka_unit_test(a_made_graph_is_symmetric),
        cmocka_unit_test(a_made_graph_is_the_same_on_the_gpu),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
