/*
 * vip.c - computes, hop by hop, the probability that a batch contains a node. See vip.h.
 *
 * Threads add logarithms to each node's sum with atomic integer additions, in fixed point. So the
 * probabilities do not depend on the order of the additions.
 */
#include "gnn/gpu/vip.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "gnn/ops/parallel.h"
#include "gnn/pages.h"

/* A node's sum is the logarithm of the probability that a batch lacks the node. A probability below
 * e^-SURE counts as 0. Nothing is added to a sum below -SURE, so no sum overflows. */
#define SURE 32.0
#define UNIT 0x1p40 /* sums are integers in units of 1 / UNIT */

enum {
    BLOCK = 4096,  /* nodes that a thread takes at a time */
    BINS = 1 << 16 /* bins of a histogram */
};

struct hop {
    const struct gnn_graph *graph;
    enum sample_mode mode;
    int32_t fanout;
    float *p, *not_taken; /* p_h and n_h of vip.h */
    _Atomic int64_t *sum; /* logarithms of 1 - p, times UNIT */
};

/* Returns the probability that a hop takes a given one of `degree` neighbours. */
static double pick_probability(const struct hop *h, int64_t degree)
{
    if (h->fanout == FANOUT_ALL || degree == 1)
        return 1;
    if (h->mode == SAMPLE_REPEATED)
        return -expm1(h->fanout * log1p(-1.0 / (double)degree));
    return h->fanout >= degree ? 1 : h->fanout / (double)degree;
}

static int64_t fixed_log_not(double p)
{
    return (int64_t)llround((p < 1 ? MAX(log1p(-p), -SURE) : -SURE) * UNIT);
}

/* Adds log(1 - a_h(u)) to the sum of each neighbour of u; see vip.h. */
static void spread(void *ctx, int64_t block, int64_t lo, int64_t hi)
{
    const struct hop *h = ctx;
    const struct gnn_graph *g = h->graph;
    const int64_t least = (int64_t)(-SURE * UNIT);
    for (int64_t u = lo; u < hi; u++) {
        int64_t degree = g->offset[u + 1] - g->offset[u];
        if (h->p[u] <= 0 || degree == 0)
            continue;
        double missed = (double)h->not_taken[u] * (1 - pick_probability(h, degree));
        int64_t term = fixed_log_not(MAX((double)h->p[u] - missed, 0.0));
        for (int64_t e = g->offset[u]; e < g->offset[u + 1]; e++) {
            _Atomic int64_t *sum = &h->sum[g->neighbour[e]];
            if (atomic_load_explicit(sum, memory_order_relaxed) > least)
                atomic_fetch_add_explicit(sum, term, memory_order_relaxed);
        }
    }
}

/* Computes the probabilities after the hop from those before it. */
static void combine(void *ctx, int64_t block, int64_t lo, int64_t hi)
{
    const struct hop *h = ctx;
    const struct gnn_graph *g = h->graph;
    for (int64_t v = lo; v < hi; v++) {
        double sum = (double)atomic_load_explicit(&h->sum[v], memory_order_relaxed) / UNIT;
        double p = sum <= -SURE ? 1 : -expm1(sum), before = (double)h->p[v];
        int64_t degree = g->offset[v + 1] - g->offset[v];
        double pick = degree ? pick_probability(h, degree) : 0;
        h->p[v] = (float)MAX(p, before);
        h->not_taken[v] = (float)((double)h->not_taken[v] * (1 - pick) + (double)h->p[v] - before);
        atomic_store_explicit(&h->sum[v], 0, memory_order_relaxed);
    }
}

int vip_compute(const struct gnn_graph *g, const struct sample_options *o, struct id_list seeds,
                int64_t batches, int threads, float *p, struct err *err)
{
    struct pages sums, not_taken;
    struct hop h = {.graph = g, .mode = o->mode, .p = p};
    double first = 1.0 / (double)MAX(batches, 1);
    if (pages_reserve(&sums, (size_t)g->nodes * sizeof *h.sum, err) < 0)
        return -1;
    if (pages_reserve(&not_taken, (size_t)g->nodes * sizeof *h.not_taken, err) < 0) {
        pages_release(&sums);
        return -1;
    }
    struct parallel *pool = parallel_new(MAX(threads, 1));
    h.sum = sums.base;
    h.not_taken = not_taken.base;
    memset(p, 0, (size_t)g->nodes * sizeof *p);
    for (int64_t i = 0; i < seeds.n; i++)
        p[seeds.id[i]] = h.not_taken[seeds.id[i]] = (float)first;
    for (int i = 0; i < o->hops; i++) {
        h.fanout = o->fanout[i];
        for (int64_t k = 0; k < seeds.n; k++)
            h.sum[seeds.id[k]] = fixed_log_not(first);
        parallel_rows(pool, g->nodes, BLOCK, spread, &h);
        parallel_rows(pool, g->nodes, BLOCK, combine, &h);
    }
    parallel_free(pool);
    pages_release(&not_taken);
    pages_release(&sums);
    return 0;
}

/* Returns the bits of p as an integer. The integers of two numbers that are not negative compare as
 * the numbers do. */
static uint32_t bits_of(float p)
{
    uint32_t u;
    memcpy(&u, &p, sizeof u);
    return u;
}

/* Returns the bits of the rows-th largest number in p. A histogram of the high halves of all
 * numbers gives the high half of the result; a second histogram gives the low half. Several nodes
 * may have exactly this number: vip_choose() must take *equal of them. */
static uint32_t least_taken(const float *p, int64_t nodes, int64_t rows, int64_t *equal)
{
    int64_t *count = xcalloc(BINS, sizeof *count), left = rows;
    uint32_t high = BINS, low = BINS;
    for (int64_t v = 0; v < nodes; v++)
        count[bits_of(p[v]) >> 16]++;
    while (left > count[--high])
        left -= count[high];
    memset(count, 0, BINS * sizeof *count);
    for (int64_t v = 0; v < nodes; v++)
        if (bits_of(p[v]) >> 16 == high)
            count[bits_of(p[v]) & 0xffff]++;
    while (left > count[--low])
        left -= count[low];
    free(count);
    *equal = left;
    return high << 16 | low;
}

void vip_choose(const float *p, int64_t nodes, int64_t rows, int32_t *order)
{
    int64_t equal = 0, taken = 0, other = rows;
    uint32_t least = rows > 0 ? least_taken(p, nodes, rows, &equal) : UINT32_MAX;
    for (int64_t v = 0; v < nodes; v++) {
        uint32_t bits = bits_of(p[v]);
        bool take = bits > least || (bits == least && equal > 0);
        equal -= bits == least;
        order[take ? taken++ : other++] = (int32_t)v;
    }
}
