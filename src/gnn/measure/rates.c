/* rates.c - measures rates of memory, sampler and loader. See rates.h. */
#include "gnn/measure/rates.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/stats.h"
#include "base/util.h"
#include "gnn/load/slice.h"
#include "gnn/sample/shuffle_core.h"
#include "sys/interrupt.h"
#include "sys/memory.h"

enum { COPY_ROWS = 1 << 17 };
static const uint64_t round_ns = 300000000; /* each measurement takes a third to twice this time */

static uint64_t cpu_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static uint64_t next_random(uint64_t *state) /* xorshift64* */
{
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return *state * UINT64_C(2685821657736338717);
}

static uint64_t below(uint64_t word, uint64_t n)
{
    return (uint64_t)((unsigned __int128)word * n >> 64);
}

/* Returns how many random reads a thread makes per second. The reads do not depend on each other,
 * so the processor overlaps as many as it can. */
static double read_rate(const struct gnn_graph *g, uint64_t *state)
{
    uint64_t n = 0, start = cpu_ns(), took;
    uint32_t sum = 0;
    if (g->edges == 0)
        return 0;
    do {
        for (int i = 0; i < 1 << 16; i++)
            sum += (uint32_t)g->neighbour[below(next_random(state), (uint64_t)g->edges)];
        n += 1 << 16;
        took = cpu_ns() - start;
    } while (took < round_ns);
    *state += sum & 1; /* so that the compiler cannot remove the reads */
    *state |= 2;
    return (double)n / (double)took * 1e9;
}

int measure_far_reads(double *out, struct err *err)
{
    struct pages p;
    uint64_t state = 88172645463325252u;
    double v[3];
    if (pages_reserve(&p, (size_t)4 << 30, err) < 0)
        return -1;
    memset(p.base, 1, p.bytes);
    const struct gnn_graph g = {.edges = (int64_t)(p.bytes / 4), .neighbour = p.base};
    for (int i = 0; i < 3; i++)
        v[i] = read_rate(&g, &state);
    *out = stats_median(v, 3);
    pages_release(&p);
    return 0;
}

struct rig {
    const struct dataset *d;
    struct id_list ids;
    const struct loader_options *o;
    struct sampler sampler;
    struct batch_space space;
    int32_t *seed, *random_row;
    struct pages rows;
    size_t row_bytes;
    /* The next batch is number `index` of `epoch`. Both move on, so that no batch comes twice.
     * `batches` counts the sampled batches. */
    int64_t epoch, index, batches;
    struct rates *r;
};

static int64_t next_seeds(struct rig *g)
{
    int64_t first = g->index * g->o->batch_size;
    if (first >= g->ids.n) {
        g->epoch++;
        g->index = first = 0;
    }
    int64_t n = MIN(g->o->batch_size, g->ids.n - first);
    for (int64_t i = 0; i < n; i++)
        g->seed[i] = g->ids.id[shuffle_at(g->o->sample.seed, (uint32_t)g->epoch, (uint32_t)g->ids.n,
                                          (uint32_t)(first + i))];
    return n;
}

static int64_t batch_bytes(const struct gnn_batch *b, size_t row_bytes)
{
    int64_t bytes = b->n_nodes[b->hops] * (int64_t)(row_bytes + sizeof(int32_t));
    for (int h = 0; h < b->hops; h++)
        bytes += (b->n_nodes[h] + 1 + b->n_edges[h]) * (int64_t)sizeof(int32_t);
    return bytes;
}

/* Samples batches and copies their feature rows. Both rates are per second of CPU time. */
static int sample_rate(struct rig *g, double *edges, double *rows, struct err *err)
{
    uint64_t sample_ns = 0, slice_ns = 0;
    int64_t n_edges = 0, n_rows = 0;
    struct gnn_batch b;
    while (sample_ns < round_ns) {
        int64_t n = next_seeds(g);
        uint64_t start = cpu_ns();
        if (sampler_run(&g->sampler, g->seed, n, g->epoch, g->index++, &g->space, &b, err) < 0)
            return -1;
        uint64_t sampled = cpu_ns();
        int64_t inputs = b.n_nodes[b.hops];
        if (g->row_bytes)
            slice_rows(g->rows.base, g->d->feature, g->row_bytes, b.node, inputs);
        slice_ns += cpu_ns() - sampled;
        sample_ns += sampled - start;
        n_rows += inputs;
        for (int h = 0; h < b.hops; h++) {
            n_edges += b.n_edges[h];
            g->r->hop_edges[h] += (double)b.n_edges[h];
        }
        for (int h = 0; h <= b.hops; h++)
            g->r->nodes[h] += (double)b.n_nodes[h];
        g->r->slot_bytes = MAX(g->r->slot_bytes, batch_bytes(&b, g->row_bytes));
        g->batches++;
        if (interrupt_check(err) < 0)
            return -1;
    }
    *edges = (double)n_edges / (double)sample_ns * 1e9;
    *rows = slice_ns && g->row_bytes ? (double)n_rows / (double)slice_ns * 1e9 : 0;
    return 0;
}

/* Returns how many rows of random nodes a loop with prefetches copies per second of CPU time. It
 * shows how fast memory allows such copies. */
static double copy_rate(struct rig *g, uint64_t *state)
{
    uint64_t n = 0, took = 0;
    if (!g->row_bytes)
        return 0;
    const char *from = g->d->feature;
    char *to = g->rows.base;
    int64_t rows = MIN((int64_t)COPY_ROWS, g->space.nodes);
    while (took < round_ns / 3) {
        for (int64_t i = 0; i < rows; i++)
            g->random_row[i] = (int32_t)below(next_random(state), (uint64_t)g->d->graph.nodes);
        uint64_t start = cpu_ns();
        for (int64_t i = 0; i < rows; i++) {
            for (size_t b = 0; i + 8 < rows && b < g->row_bytes; b += 64)
                __builtin_prefetch(from + (size_t)g->random_row[i + 8] * g->row_bytes + b);
            memcpy(to + (size_t)i * g->row_bytes, from + (size_t)g->random_row[i] * g->row_bytes,
                   g->row_bytes);
        }
        took += cpu_ns() - start;
        n += (uint64_t)rows;
    }
    return (double)n / (double)took * 1e9;
}

static int loader_rate(struct rig *g, int threads, double *cpu_rate, double *wall_rate,
                       struct err *err)
{
    struct loader_options o = *g->o;
    struct loader *l;
    const struct gnn_batch *b;
    int64_t edges = 0, n = 0;
    o.threads = threads;
    o.slots = threads + 2;
    o.no_slice = true;
    if (loader_open(&l, g->d, &o, err) < 0)
        return -1;
    int rc = loader_start(l, g->ids, g->epoch++, err);
    uint64_t start = 0;
    struct loader_times before = {0};
    while (rc == 0 && (rc = loader_next(l, &b, err)) > 0) {
        for (int h = 0; h < b->hops && n >= threads; h++)
            edges += b->n_edges[h];
        loader_give_back(l, b);
        /* The first batches do not count, because the samplers' tables still grow. */
        if (++n == threads) {
            start = now_ns();
            before = loader_times(l);
        }
        rc = now_ns() - start < (uint64_t)round_ns * 2 || n <= threads ? 0 : 1;
    }
    if (rc >= 0) {
        struct loader_times t = loader_times(l);
        *wall_rate = (double)edges / (double)(now_ns() - start) * 1e9;
        *cpu_rate = (double)edges / (double)(t.sample_ns - before.sample_ns + 1) * 1e9;
    }
    loader_close(l);
    return rc < 0 ? -1 : 0;
}

static int rig_init(struct rig *g, struct err *err)
{
    const struct manifest *m = &g->d->manifest;
    g->row_bytes = (size_t)m->feature_dim * gnn_type_bytes(m->feature_type);
    if (g->ids.n == 0)
        return err_set(err, ERR_INPUT, "there are no nodes to start from: choose another --split");
    if (sampler_init(&g->sampler, &g->d->graph, &g->o->sample, err) < 0 ||
        batch_space_init(&g->space, &g->d->graph, &g->o->sample, g->o->batch_size, err) < 0 ||
        pages_reserve(&g->rows, (size_t)g->space.nodes * g->row_bytes, err) < 0)
        return -1;
    g->seed = xcalloc((size_t)g->o->batch_size, sizeof *g->seed);
    g->random_row = xcalloc(COPY_ROWS, sizeof *g->random_row);
    return 0;
}

static void rig_release(struct rig *g)
{
    sampler_release(&g->sampler);
    batch_space_release(&g->space);
    pages_release(&g->rows);
    free(g->seed);
    free(g->random_row);
}

int measure_rates(const struct dataset *d, struct id_list ids, const struct loader_options *o,
                  int rounds, struct rates *out, struct err *err)
{
    enum { READS, EDGES, ROWS, COPIES, CPU1, CPU2, WALL1, WALL2, KINDS };
    double v[KINDS][RATES_MAX_ROUNDS], waste[2];
    uint64_t state = o->sample.seed * 2 + 1;
    struct rig g = {.d = d, .ids = ids, .o = o, .r = out};
    *out = (struct rates){.far_reads = out->far_reads, .data_bytes = d->bytes};
    int n = MAX(1, MIN(rounds, RATES_MAX_ROUNDS)), rc = rig_init(&g, err);
    if (rc == 0)
        rc = sample_rate(&g, &waste[0], &waste[1], err); /* warm up */
    for (int i = 0; i < n && rc == 0; i++) {
        v[READS][i] = read_rate(&d->graph, &state);
        rc = sample_rate(&g, &v[EDGES][i], &v[ROWS][i], err);
        v[COPIES][i] = copy_rate(&g, &state);
        if (rc == 0)
            rc = loader_rate(&g, 1, &v[CPU1][i], &v[WALL1][i], err);
        if (rc == 0)
            rc = loader_rate(&g, 2, &v[CPU2][i], &v[WALL2][i], err);
    }
    if (rc == 0) {
        double *to[] = {&out->reads,
                        &out->edges,
                        &out->rows,
                        &out->row_copies,
                        &out->loader_edges[0],
                        &out->loader_edges[1],
                        &out->loader_wall_edges[0],
                        &out->loader_wall_edges[1]};
        for (int k = 0; k < KINDS; k++)
            *to[k] = stats_median(v[k], (size_t)n);
        for (int h = 0; h <= o->sample.hops; h++)
            out->nodes[h] /= (double)g.batches;
        for (int h = 0; h < o->sample.hops; h++)
            out->hop_edges[h] /= (double)g.batches;
        out->resident_bytes = (int64_t)memory_resident(0);
        out->peak_bytes = (int64_t)memory_peak(0);
    }
    rig_release(&g);
    return rc;
}
