/* rmat.c - makes a random graph by R-MAT. See make_rmat(). */
#include <math.h>
#include <stdlib.h>

#include "base/number_core.h"
#include "base/util.h"
#include "gnn/graph.h"
#include "gnn/make/make.h"

/* Philox makes random words from a counter. The counter's last word says for what we use the random
 * words. */
enum { DRAW_EDGE = 1 << 16, DRAW_ISOLATED = 2 << 16, DRAW_LABEL = 3 << 16, DRAW_FEATURE = 4 << 16 };

struct rmat {
    const struct make_options *o;
    int bits; /* ids have this many bits; each bit comes from one choice of a quadrant */
    uint32_t mask;
    uint32_t limit[3]; /* cumulative probabilities of the quadrants, in 1/65536 */
};

/* Permutes 0..mask. Without this, small ids would have the most edges. */
static uint32_t scramble(const struct rmat *m, uint32_t x)
{
    static const uint32_t odd[] = {0x9E3779B1u, 0x85EBCA6Bu, 0xC2B2AE35u};
    for (size_t i = 0; i < ARRAY_LEN(odd); i++) {
        x = (x * odd[i] + (uint32_t)m->o->seed) & m->mask;
        x ^= x >> (m->bits / 2 + 1);
    }
    return x;
}

/* Draws edge number e. 16 random bits choose the quadrant at each level. If an end is not below the
 * number of nodes, draws the edge again with other words. */
static void draw_edge(const struct rmat *m, int64_t e, uint32_t use, int64_t *u, int64_t *v)
{
    for (uint32_t attempt = 0;; attempt++) {
        uint32_t from = 0, to = 0;
        struct gen_block b = {{0}};
        for (int level = 0; level < m->bits; level++) {
            if (level % 8 == 0)
                b = gen_philox((uint32_t)e, (uint32_t)((uint64_t)e >> 32), attempt,
                               use | (uint32_t)level, (uint32_t)m->o->seed,
                               (uint32_t)(m->o->seed >> 32));
            uint32_t r = b.w[level % 8 / 2] >> 16 * (level % 2) & 0xffff;
            uint32_t quadrant = (r >= m->limit[0]) + (r >= m->limit[1]) + (r >= m->limit[2]);
            from = from << 1 | quadrant >> 1;
            to = to << 1 | (quadrant & 1);
        }
        *u = scramble(m, from);
        *v = scramble(m, to);
        if (*u < m->o->nodes && *v < m->o->nodes)
            return;
    }
}

static int write_edges(const struct rmat *m, bool no_isolated, struct writer *w, struct err *err)
{
    int64_t n = m->o->nodes, u, v;
    unsigned char *seen = no_isolated ? xcalloc((size_t)n / 8 + 1, 1) : NULL;
    int rc = 0;
    for (int64_t e = 0; e < m->o->edges && rc == 0; e++) {
        draw_edge(m, e, DRAW_EDGE, &u, &v);
        if (seen && u != v) {
            seen[u / 8] |= (unsigned char)(1u << (u % 8));
            seen[v / 8] |= (unsigned char)(1u << (v % 8));
        }
        rc = writer_edge(w, u, v, err);
        if (e % (1 << 20) == 0 && rc == 0)
            rc = make_progress(m->o, "edges", e, m->o->edges, err);
    }
    for (int64_t i = 0; seen && n > 1 && i < n && rc == 0; i++) {
        if (seen[i / 8] >> (i % 8) & 1)
            continue;
        draw_edge(m, i, DRAW_ISOLATED, &u, &v);
        rc = writer_edge(w, i, v != i ? v : (i + 1) % n, err);
    }
    free(seen);
    if (rc == 0 && m->o->progress)
        progress_show(m->o->progress, "sorting edges");
    return rc == 0 ? writer_edges_end(w, err) : -1;
}

static int write_labels(const struct make_options *o, struct writer *w, struct err *err)
{
    for (int64_t v = 0; o->classes && v < o->nodes; v++) {
        struct gen_block b = gen_words(o->seed, (uint32_t)v, DRAW_LABEL, 0);
        int32_t label = (int32_t)((uint64_t)b.w[0] * (uint64_t)o->classes >> 32);
        if (writer_put(w, DATA_LABELS, &label, sizeof label, err) < 0)
            return -1;
    }
    return 0;
}

static int write_features(const struct make_options *o, struct writer *w, struct err *err)
{
    float *row = xmalloc(((size_t)o->dim + 4) * sizeof *row);
    int rc = 0;
    for (int64_t v = 0; o->dim && v < o->nodes && rc == 0; v++) {
        for (int64_t d = 0; d < o->dim; d += 4) {
            struct gen_block b = gen_words(o->seed, (uint32_t)v, DRAW_FEATURE, (uint64_t)d);
            for (int j = 0; j < 4; j++)
                row[d + j] = (float)(int32_t)b.w[j] * 0x1p-31f;
        }
        rc = writer_put_features(w, row, (size_t)o->dim, err);
        if (v % (1 << 14) == 0 && rc == 0)
            rc = make_progress(o, "features of nodes", v, o->nodes, err);
    }
    free(row);
    return rc;
}

static int set_limits(struct rmat *m, const struct rmat_options *r, struct err *err)
{
    double p[] = {r->a, r->a + r->b, r->a + r->b + r->c};
    if (!(r->a >= 0 && r->b >= 0 && r->c >= 0 && p[2] <= 1))
        return err_set(err, ERR_USAGE,
                       "the probabilities %g, %g and %g must be at least 0 and at most 1 together",
                       r->a, r->b, r->c);
    for (int i = 0; i < 3; i++)
        m->limit[i] = (uint32_t)lrint(p[i] * 65536);
    return 0;
}

int make_rmat(const struct make_options *o, const struct rmat_options *r, struct made *out,
              struct err *err)
{
    struct rmat m = {.o = o};
    struct writer *w;
    if (o->nodes < 1 || o->nodes > GNN_MAX_NODES)
        return err_set(err, ERR_USAGE, "a graph has at least one node and at most %lld",
                       (long long)GNN_MAX_NODES);
    while ((INT64_C(1) << m.bits) < o->nodes)
        m.bits++;
    m.mask = (uint32_t)((UINT64_C(1) << m.bits) - 1);
    struct writer_options wo = make_writer_options(o, "rmat");
    wo.edges += r->no_isolated ? o->nodes : 0;
    if (set_limits(&m, r, err) < 0 || writer_open(&w, &wo, err) < 0)
        return -1;
    int rc = write_edges(&m, r->no_isolated, w, err) < 0 || write_labels(o, w, err) < 0 ||
                     write_features(o, w, err) < 0 || make_splits(o, w, err) < 0
                 ? -1
                 : 0;
    return make_finish(w, rc, out, err);
}
