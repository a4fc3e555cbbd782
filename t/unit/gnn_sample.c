/* Tests the sampler: it takes every neighbour with the same probability, and its batches are as
 * batch.h says. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/rng.h"
#include "base/util.h"
#include "gnn/sample/sampler.h"
#include "gnn/sample/shuffle_core.h"

enum { MAX_DEGREE = 64, MAX_FANOUT = 32, TRIALS = 1000 };

/* Returns the probability that a chi-square variable with `freedom` degrees of freedom exceeds x.
 * This is the regularised incomplete gamma function Q(freedom / 2, x / 2), computed by its series
 * or its continued fraction. */
static double chi_square_p(double x, double freedom)
{
    double a = freedom / 2, y = x / 2, scale = exp(a * log(y) - y - lgamma(a));
    if (y <= 0)
        return 1;
    if (y < a + 1) {
        double term = 1 / a, sum = term;
        for (int i = 1; i < 500; i++)
            sum += term *= y / (a + i);
        return 1 - sum * scale;
    }
    double b = y + 1 - a, c = 1e300, d = 1 / b, h = d;
    for (int i = 1; i < 500; i++) {
        double an = -i * (i - a);
        b += 2;
        d = 1 / (an * d + b);
        c = b + an / c;
        h *= d * c;
    }
    return h * scale;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The Kolmogorov-Smirnov test. Returns the probability that n uniform random values are spread at
 * least as unevenly as p[0..n-1]. Sorts p. */
static double uniform_p(double *p, size_t n)
{
    double worst = 0, sum = 0, root = sqrt((double)n);
    qsort(p, n, sizeof *p, by_value);
    for (size_t i = 0; i < n; i++)
        worst = fmax(worst, fmax((double)(i + 1) / (double)n - p[i], p[i] - (double)i / (double)n));
    double x = (root + 0.12 + 0.11 / root) * worst;
    for (int k = 1; k < 100; k++)
        sum += (k % 2 ? 2 : -2) * exp(-2.0 * k * k * x * x);
    return fmin(1, fmax(0, sum));
}

typedef void (*pick_fn)(const struct pick_key *k, uint32_t node, uint32_t degree, uint32_t fanout,
                        uint32_t *at);

/* Picks neighbours as the program SALIENT does. It uses Floyd's algorithm, but for position j it
 * draws a number below j instead of below j + 1. So the sampler is biased. */
static void pick_biased(const struct pick_key *k, uint32_t node, uint32_t degree, uint32_t fanout,
                        uint32_t *at)
{
    for (uint32_t i = 0; i < fanout; i++) {
        uint32_t j = degree - fanout + i;
        uint32_t t = pick_words(k, node, i / 4, 0).w[i % 4] % j, taken = 0;
        for (uint32_t m = 0; m < i; m++)
            taken |= at[m] == t;
        at[i] = taken ? j : t;
    }
}

/* Counts how often `pick` takes each of `degree` neighbours. On average it should take a neighbour
 * in a share fanout / degree of the trials. Returns the probability that a fair sampler gives
 * counts that differ at least as much from this. */
static double inclusion_p(pick_fn pick, uint32_t degree, uint32_t fanout)
{
    struct pick_key key = {.seed = 7, .epoch = degree, .batch = fanout, .hop = 1};
    uint32_t count[MAX_DEGREE] = {0}, at[PICK_ROOM(MAX_FANOUT)];
    for (uint32_t t = 0; t < TRIALS; t++) {
        uint64_t seen = 0;
        pick(&key, t, degree, fanout, at);
        for (uint32_t i = 0; i < fanout; i++) {
            assert_true(at[i] < degree);
            assert_false(seen >> at[i] & 1);
            seen |= UINT64_C(1) << at[i];
            count[at[i]]++;
        }
    }
    double share = (double)fanout / degree, mean = TRIALS * share, x = 0;
    for (uint32_t i = 0; i < degree; i++)
        x += (count[i] - mean) * (count[i] - mean) / (mean * (1 - share));
    /* The counts of a trial sum to the fanout, which makes them a little less free. */
    return chi_square_p(x * (degree - 1) / degree, degree - 1);
}

static double inclusion_uniform_p(pick_fn pick)
{
    static double p[MAX_DEGREE * MAX_FANOUT];
    size_t n = 0;
    for (uint32_t degree = 2; degree <= MAX_DEGREE; degree++)
        for (uint32_t fanout = 1; fanout <= MAX_FANOUT && fanout < degree; fanout++)
            p[n++] = inclusion_p(pick, degree, fanout);
    return uniform_p(p, n);
}

static void inclusion_is_uniform(void **state)
{
    (void)state;
    assert_true(inclusion_uniform_p(pick_distinct) > 0.001);
}

static void the_test_sees_a_biased_sampler(void **state)
{
    (void)state;
    assert_true(inclusion_uniform_p(pick_biased) < 1e-6);
}

/* With degree 6 and fanout 3, each of the 20 sets of neighbours is equally likely. */
static void sets_are_uniform(void **state)
{
    (void)state;
    uint32_t count[64] = {0}, at[PICK_ROOM(3)];
    struct pick_key key = {.seed = 3};
    for (uint32_t t = 0; t < 40000; t++) {
        pick_distinct(&key, t, 6, 3, at);
        count[1u << at[0] | 1u << at[1] | 1u << at[2]]++;
    }
    double x = 0;
    int sets = 0;
    for (int i = 0; i < 64; i++)
        if (count[i]) {
            sets++;
            x += (count[i] - 2000.0) * (count[i] - 2000.0) / 2000.0;
        }
    assert_int_equal(sets, 20);
    assert_true(chi_square_p(x, 19) > 1e-4);
}

/* Above degree 64, several positions share a bit that marks them as taken. Above PICK_SMALL, each
 * random number is a whole word. There are too many sets to count, so this test counts positions in
 * 16 bins. */
static void large_degrees_are_uniform(void **state)
{
    (void)state;
    static const uint32_t degrees[] = {65, 200, 512, 513, 1000, 100000, 0x7fffffff};
    for (size_t d = 0; d < ARRAY_LEN(degrees); d++) {
        uint32_t at[PICK_ROOM(15)], bins[16] = {0};
        struct pick_key key = {.seed = 11, .batch = degrees[d]};
        for (uint32_t t = 0; t < 4000; t++) {
            pick_distinct(&key, t, degrees[d], 15, at);
            for (int i = 0; i < 15; i++) {
                assert_true(at[i] < degrees[d]);
                for (int j = 0; j < i; j++)
                    assert_true(at[i] != at[j]);
                bins[(uint64_t)at[i] * 16 / degrees[d]]++;
            }
        }
        double x = 0;
        for (uint32_t b = 0; b < 16; b++) {
            /* the positions of bin b: those p with floor(16 p / degree) == b */
            uint64_t n = degrees[d], lo = (b * n + 15) / 16, hi = ((b + 1) * n + 15) / 16;
            double mean = 60000.0 * (double)(hi - lo) / (double)n;
            x += (bins[b] - mean) * (bins[b] - mean) / mean;
        }
        assert_true(chi_square_p(x, 15) > 1e-4);
    }
}

/* ---- batches on a random graph --------------------------------------------------------------- */

enum { NODES = 500 };

struct rig {
    int64_t offset[NODES + 1];
    int32_t *neighbour;
    struct gnn_graph graph;
};

static void rig_init(struct rig *r)
{
    struct rng g = rng_seeded(5, 1);
    r->neighbour = xcalloc(NODES * 200, sizeof *r->neighbour);
    int64_t n = 0;
    for (int v = 0; v < NODES; v++) {
        int64_t degree = v % 10 == 0 ? 0 : rng_range(&g, 1, v % 7 == 0 ? 199 : 20);
        /* steps of 1 or 3 modulo NODES, which give distinct neighbours */
        int64_t first = rng_range(&g, 0, NODES - 1), step = 1 + 2 * rng_range(&g, 0, 1);
        for (int64_t i = 0; i < degree; i++)
            r->neighbour[n + i] = (int32_t)((first + i * step) % NODES);
        n += degree;
        r->offset[v + 1] = n;
    }
    r->offset[0] = 0;
    r->graph = (struct gnn_graph){NODES, n, r->offset, r->neighbour};
}

static bool has(const struct rig *r, int32_t from, int32_t to)
{
    for (int64_t e = r->offset[from]; e < r->offset[from + 1]; e++)
        if (r->neighbour[e] == to)
            return true;
    return false;
}

/* Checks everything that batch.h promises about a batch. */
static void check_batch(const struct rig *r, const struct gnn_batch *b,
                        const struct sample_options *o)
{
    int64_t next = b->n_nodes[0];
    for (int h = 0; h < b->hops; h++) {
        assert_int_equal(b->row[h][0], 0);
        for (int64_t i = 0; i < b->n_nodes[h]; i++) {
            int32_t v = b->node[i], n = b->row[h][i + 1] - b->row[h][i];
            int64_t degree = r->offset[v + 1] - r->offset[v];
            int64_t want = o->fanout[h] == FANOUT_ALL   ? degree
                           : o->mode == SAMPLE_REPEATED ? (degree ? o->fanout[h] : 0)
                                                        : MIN(degree, o->fanout[h]);
            assert_int_equal(n, want);
            for (int32_t e = b->row[h][i]; e < b->row[h][i + 1]; e++) {
                int32_t id = b->col[h][e];
                assert_true(id <= next); /* order of first appearance */
                next += id == next;
                assert_true(has(r, v, b->node[id]));
                for (int32_t k = b->row[h][i]; o->mode != SAMPLE_REPEATED && k < e; k++)
                    assert_true(b->col[h][k] != id);
            }
        }
        assert_int_equal(b->row[h][b->n_nodes[h]], b->n_edges[h]);
        assert_int_equal(b->n_nodes[h + 1], next);
    }
    for (int64_t i = 0; i < next; i++)
        for (int64_t k = 0; k < i; k++)
            assert_true(b->node[i] != b->node[k]);
}

static void batches_keep_their_contract(void **state)
{
    (void)state;
    static const struct sample_options all[] = {
        {.hops = 3, .fanout = {15, 10, 5}, .seed = 1},
        {.hops = 1, .fanout = {1}, .seed = 2},
        {.hops = 2, .fanout = {FANOUT_ALL, 3}, .seed = 3},
        {.hops = 2, .fanout = {4, FANOUT_ALL}, .mode = SAMPLE_REPEATED, .seed = 4},
        {.hops = 3, .fanout = {20, 20, 20}, .mode = SAMPLE_LABOR, .seed = 5},
        {.hops = 2, .fanout = {7, 3}, .mode = SAMPLE_PLAIN, .seed = 5},
        {.hops = 8, .fanout = {1, 1, 1, 1, 1, 1, 1, 1}, .seed = 6},
    };
    struct rig r;
    rig_init(&r);
    for (size_t c = 0; c < ARRAY_LEN(all); c++) {
        struct sampler s;
        struct batch_space space;
        struct gnn_batch b;
        int32_t seeds[40];
        assert_int_equal(sampler_init(&s, &r.graph, &all[c], NULL), 0);
        assert_int_equal(batch_space_init(&space, &r.graph, &all[c], 40, NULL), 0);
        for (int64_t index = 0; index < 6; index++) {
            for (int i = 0; i < 40; i++)
                seeds[i] = (int32_t)shuffle_at(9, (uint32_t)index, NODES, (uint32_t)i);
            assert_int_equal(sampler_run(&s, seeds, 40, 0, index, &space, &b, NULL), 0);
            check_batch(&r, &b, &all[c]);
        }
        batch_space_release(&space);
        sampler_release(&s);
    }
    free(r.neighbour);
}

/* In LABOR-0, a neighbour has the same random number for all nodes of a hop. So these nodes often
 * take the same neighbours, and batches have fewer nodes. */
static void labor_takes_fewer_nodes(void **state)
{
    (void)state;
    struct rig r;
    int64_t nodes[2] = {0};
    rig_init(&r);
    for (int m = 0; m < 2; m++) {
        struct sample_options o = {
            .hops = 1, .fanout = {5}, .mode = m ? SAMPLE_LABOR : SAMPLE_DISTINCT, .seed = 8};
        struct sampler s;
        struct batch_space space;
        struct gnn_batch b;
        int32_t seeds[60];
        assert_int_equal(sampler_init(&s, &r.graph, &o, NULL), 0);
        assert_int_equal(batch_space_init(&space, &r.graph, &o, 60, NULL), 0);
        for (int64_t index = 0; index < 50; index++) {
            for (int i = 0; i < 60; i++)
                seeds[i] = (int32_t)shuffle_at(1, (uint32_t)index, NODES, (uint32_t)i);
            assert_int_equal(sampler_run(&s, seeds, 60, 0, index, &space, &b, NULL), 0);
            nodes[m] += b.n_nodes[1];
        }
        batch_space_release(&space);
        sampler_release(&s);
    }
    assert_true(nodes[1] < nodes[0]);
    free(r.neighbour);
}

static void wrong_seeds_are_errors(void **state)
{
    (void)state;
    struct rig r;
    struct sample_options o = {.hops = 1, .fanout = {2}};
    struct sampler s;
    struct batch_space space;
    struct gnn_batch b;
    struct err err = ERR_INIT;
    rig_init(&r);
    assert_int_equal(sampler_init(&s, &r.graph, &o, NULL), 0);
    assert_int_equal(batch_space_init(&space, &r.graph, &o, 2, NULL), 0);
    assert_int_equal(sampler_run(&s, (int32_t[]){3, 3}, 2, 0, 0, &space, &b, &err), -1);
    assert_non_null(strstr(err.msg, "twice among the seeds"));
    assert_int_equal(sampler_run(&s, (int32_t[]){NODES}, 1, 0, 0, &space, &b, &err), -1);
    assert_non_null(strstr(err.msg, "is not a node"));
    assert_int_equal(sampler_run(&s, (int32_t[]){1, 2, 3}, 3, 0, 0, &space, &b, &err), -1);
    assert_non_null(strstr(err.msg, "there is room for 2"));
    batch_space_release(&space);
    sampler_release(&s);
    o.fanout[0] = 0;
    assert_int_equal(sampler_init(&s, &r.graph, &o, &err), -1);
    sampler_release(&s);
    free(r.neighbour);
}

static void fanouts_are_parsed(void **state)
{
    (void)state;
    struct sample_options o;
    struct err err = ERR_INIT;
    assert_int_equal(sample_fanouts_parse(&o, "15,10,all", &err), 0);
    assert_true(o.hops == 3 && o.fanout[0] == 15 && o.fanout[2] == FANOUT_ALL);
    static const char *const bad[] = {"",
                                      "0",
                                      "5,",
                                      ",5",
                                      "5,x",
                                      "-1",
                                      "1025",
                                      "5 ,5",
                                      "1,1,1,1,1,1,1,1,1",
                                      "99999999999999999999",
                                      "allx"};
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        assert_int_equal(sample_fanouts_parse(&o, bad[i], &err), -1);
}

static void a_shuffle_is_a_permutation(void **state)
{
    (void)state;
    static const uint32_t sizes[] = {1, 2, 3, 4, 5, 100, 1023, 1024, 1025};
    for (size_t c = 0; c < ARRAY_LEN(sizes); c++) {
        uint32_t n = sizes[c], moved = 0;
        unsigned char seen[1025] = {0};
        for (uint32_t i = 0; i < n; i++) {
            uint32_t at = shuffle_at(1, 0, n, i);
            assert_true(at < n && !seen[at]);
            seen[at] = 1;
            moved += at != shuffle_at(1, 1, n, i);
        }
        assert_true(n < 100 || moved > n * 9 / 10);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(inclusion_is_uniform),
        cmocka_unit_test(the_test_sees_a_biased_sampler),
        cmocka_unit_test(sets_are_uniform),
        cmocka_unit_test(large_degrees_are_uniform),
        cmocka_unit_test(batches_keep_their_contract),
        cmocka_unit_test(labor_takes_fewer_nodes),
        cmocka_unit_test(wrong_seeds_are_errors),
        cmocka_unit_test(fanouts_are_parsed),
        cmocka_unit_test(a_shuffle_is_a_permutation),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
