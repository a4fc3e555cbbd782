/* blocks.c - makes a random graph whose classes are blocks of nodes. See make_blocks(). */
#include <math.h>
#include <stdlib.h>

#include "base/rng.h"
#include "base/util.h"
#include "gnn/graph.h"
#include "gnn/make/make.h"

/* One stream of random numbers for each use. */
enum { STREAM_CLASS = 1, STREAM_WEIGHT, STREAM_EDGE, STREAM_MEAN, STREAM_NOISE };

/* The nodes sorted by class, with running sums of their weights. A search in the sums draws a node
 * by its weight, from all nodes or from one class. */
struct model {
    int32_t *label;
    int32_t *sorted;    /* nodes by class */
    double *sum;        /* sum[i]: sum of the weights of sorted[0..i-1] */
    int64_t *class_end; /* class_end[c]: index in `sorted` after the last node of class c */
};

static void model_release(struct model *m)
{
    free(m->label);
    free(m->sorted);
    free(m->sum);
    free(m->class_end);
}

static void model_init(struct model *m, const struct make_options *o,
                       const struct blocks_options *b)
{
    size_t n = (size_t)o->nodes, k = (size_t)o->classes;
    struct rng r = rng_seeded(o->seed, STREAM_CLASS), weight = rng_seeded(o->seed, STREAM_WEIGHT);
    m->label = xcalloc(n, sizeof *m->label);
    m->sorted = xcalloc(n, sizeof *m->sorted);
    m->sum = xcalloc(n + 1, sizeof *m->sum);
    m->class_end = xcalloc(k + 1, sizeof *m->class_end);
    for (size_t v = 0; v < n; v++) {
        m->label[v] = (int32_t)rng_below(&r, k);
        m->class_end[m->label[v] + 1]++;
    }
    for (size_t c = 0; c < k; c++)
        m->class_end[c + 1] += m->class_end[c];
    /* So far class_end[c] is where class c begins. Each node of the class moves it on by one. */
    for (size_t v = 0; v < n; v++)
        m->sorted[m->class_end[m->label[v]]++] = (int32_t)v;
    for (size_t i = 0; i < n; i++)
        m->sum[i + 1] = m->sum[i] + pow(1 - rng_unit(&weight), -1 / b->pareto);
}

/* Draws from sorted[lo..hi-1], with a probability proportional to the node's weight. */
static int32_t draw_node(const struct model *m, struct rng *r, int64_t lo, int64_t hi)
{
    double x = m->sum[lo] + rng_unit(r) * (m->sum[hi] - m->sum[lo]);
    while (hi - lo > 1) {
        int64_t mid = lo + (hi - lo) / 2;
        if (m->sum[mid] <= x)
            lo = mid;
        else
            hi = mid;
    }
    return m->sorted[lo];
}

static int write_edges(const struct model *m, const struct make_options *o, double within,
                       struct writer *w, struct err *err)
{
    struct rng r = rng_seeded(o->seed, STREAM_EDGE);
    for (int64_t e = 0; e < o->edges; e++) {
        int32_t u = draw_node(m, &r, 0, o->nodes), c = m->label[u];
        bool inside = rng_unit(&r) < within;
        int32_t v = draw_node(m, &r, inside && c ? m->class_end[c - 1] : 0,
                              inside ? m->class_end[c] : o->nodes);
        if (writer_edge(w, u, v, err) < 0)
            return -1;
        if (e % (1 << 18) == 0 && make_progress(o, "edges", e, o->edges, err) < 0)
            return -1;
    }
    return writer_edges_end(w, err);
}

/* Draws two Gaussian random numbers by the method of Box and Muller. */
static void gaussians(struct rng *r, float out[2])
{
    double radius = sqrt(-2 * log(1 - rng_unit(r))),
           angle = 2 * 3.14159265358979323846 * rng_unit(r);
    out[0] = (float)(radius * cos(angle));
    out[1] = (float)(radius * sin(angle));
}

static int write_features(const struct model *m, const struct make_options *o, double noise,
                          struct writer *w, struct err *err)
{
    int64_t even = (o->dim + 1) / 2 * 2;
    struct rng mean_rng = rng_seeded(o->seed, STREAM_MEAN), r = rng_seeded(o->seed, STREAM_NOISE);
    float *mean = xcalloc((size_t)(o->classes * even) + 1, sizeof *mean);
    float *row = xcalloc((size_t)even + 1, sizeof *row);
    int rc = 0;
    for (int64_t i = 0; i < o->classes * even; i += 2)
        gaussians(&mean_rng, mean + i);
    for (int64_t v = 0; o->dim && v < o->nodes && rc == 0; v++) {
        for (int64_t d = 0; d < even; d += 2)
            gaussians(&r, row + d);
        for (int64_t d = 0; d < o->dim; d++)
            row[d] = mean[m->label[v] * even + d] + (float)noise * row[d];
        rc = writer_put_features(w, row, (size_t)o->dim, err);
        if (v % (1 << 14) == 0 && rc == 0)
            rc = make_progress(o, "features of nodes", v, o->nodes, err);
    }
    free(mean);
    free(row);
    return rc;
}

int make_blocks(const struct make_options *o, const struct blocks_options *b, struct made *out,
                struct err *err)
{
    struct writer *w;
    struct model m;
    if (o->nodes < 1 || o->nodes > GNN_MAX_NODES || o->classes < 1 || o->classes > o->nodes)
        return err_set(err, ERR_USAGE,
                       "a block model needs a class, and at least as many nodes as classes");
    if (!(b->pareto > 0 && b->within >= 0 && b->within <= 1 && b->noise >= 0))
        return err_set(err, ERR_USAGE,
                       "--pareto must be above 0, --within from 0 to 1, --noise at least 0");
    struct writer_options wo = make_writer_options(o, "blocks");
    if (writer_open(&w, &wo, err) < 0)
        return -1;
    model_init(&m, o, b);
    int rc =
        write_edges(&m, o, b->within, w, err) < 0 ||
                writer_put(w, DATA_LABELS, m.label, (size_t)o->nodes * sizeof *m.label, err) < 0 ||
                write_features(&m, o, b->noise, w, err) < 0 || make_splits(o, w, err) < 0
            ? -1
            : 0;
    model_release(&m);
    return make_finish(w, rc, out, err);
}
