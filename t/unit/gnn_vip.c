/* Tests inclusion probabilities (gnn/gpu/vip.h), which say how likely each node is in a batch. They
 * are exact in small graphs, agree with counting in others, and choose the nodes to cache. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "gnn/gpu/vip.h"
#include "gnn_gpu_rig.h"

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
    /* Node 0 has the neighbours 1 to 4, node 1 has 5, node 5 has 0, and node 6 is alone. */
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(inclusion_of_small_graphs_is_exact),
        cmocka_unit_test(inclusion_agrees_with_counting),
        cmocka_unit_test(the_most_likely_nodes_are_chosen),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
