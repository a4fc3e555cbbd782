/*
 * sampler.c - samples one hop at a time, in blocks of targets (gnn/batch.h), each block in five
 * passes.
 *
 *     rows    look up where each target's neighbours are        one miss for each target
 *     picks   choose positions; write the index of each edge    no misses
 *     loads   read the neighbours                               one miss for each edge
 *     touch   read the table slot of each neighbour             one miss for each edge
 *     ids     look neighbours up in the table, number new ones  hits, thanks to the touch
 *
 * The cache misses of one pass are independent, so the processor overlaps them. The pass `touch`
 * uses plain reads, because a Neoverse-N1 drops prefetches when too many misses are pending.
 */
#include "gnn/sample/sampler.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"

enum {
    BLOCK_TARGETS = 256,
    BLOCK_EDGES = 512,    /* when `picks` has chosen so many edges, the next passes run */
    MAX_EDGES = INT32_MAX /* in a hop, because row offsets are int32 */
};

struct sample_block {
    int64_t start[BLOCK_TARGETS];
    uint32_t degree[BLOCK_TARGETS];
    int64_t edge[BLOCK_EDGES + PICK_ROOM(PICK_MAX_FANOUT)]; /* indices into graph->neighbour */
};

int sample_options_check(const struct sample_options *o, struct err *err)
{
    if (o->hops < 1 || o->hops > GNN_MAX_HOPS)
        return err_set(err, ERR_USAGE, "%d hops: give 1 to %d fanouts", o->hops, GNN_MAX_HOPS);
    for (int h = 0; h < o->hops; h++)
        if (o->fanout[h] != FANOUT_ALL && (o->fanout[h] < 1 || o->fanout[h] > PICK_MAX_FANOUT))
            return err_set(err, ERR_USAGE,
                           "fanout %" PRId32 " of hop %d: give a number from 1 to %d, or all",
                           o->fanout[h], h, PICK_MAX_FANOUT);
    return 0;
}

int sample_fanouts_parse(struct sample_options *o, const char *text, struct err *err)
{
    o->hops = 0;
    for (const char *p = text;; p++) {
        size_t n = strcspn(p, ",");
        char *end = NULL;
        if (o->hops == GNN_MAX_HOPS)
            return err_set(err, ERR_USAGE, "fanouts '%.80s': there are more than %d", text,
                           GNN_MAX_HOPS);
        if (n == 3 && memcmp(p, "all", 3) == 0) {
            o->fanout[o->hops++] = FANOUT_ALL;
        } else {
            errno = 0;
            long v = strtol(p, &end, 10);
            if (n == 0 || end != p + n || errno || v < 1 || v > PICK_MAX_FANOUT)
                return err_set(err, ERR_USAGE,
                               "fanouts '%.80s': '%.*s' is neither a number from 1 to %d nor all",
                               text, (int)MIN(n, 40), p, PICK_MAX_FANOUT);
            o->fanout[o->hops++] = (int32_t)v;
        }
        p += n;
        if (!*p)
            return 0;
    }
}

int sample_mode_parse(const char *text, enum sample_mode *out, struct err *err)
{
    static const char *const names[] = {"uniform", "replace", "labor", "plain"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (str_eq(text, names[i])) {
            *out = (enum sample_mode)i;
            return 0;
        }
    return err_set(err, ERR_USAGE, "a sampler is uniform, replace, labor or plain, not '%.40s'",
                   text);
}

/* ---- space ----------------------------------------------------------------------------------- */

/* Returns min(a * b, cap). The three numbers are not negative. */
static int64_t mul_cap(int64_t a, int64_t b, int64_t cap)
{
    return b && a > cap / b ? cap : MIN(a * b, cap);
}

int batch_space_init(struct batch_space *b, const struct gnn_graph *g,
                     const struct sample_options *o, int64_t seeds, struct err *err)
{
    *b = (struct batch_space){.seeds = MIN(seeds, g->nodes)};
    int64_t nodes = b->seeds, targets = 0;
    for (int h = 0; h < o->hops; h++) {
        targets = nodes;
        int64_t most = o->mode == SAMPLE_REPEATED ? MAX_EDGES : MIN(g->edges, MAX_EDGES);
        b->edges[h] = o->fanout[h] == FANOUT_ALL ? most : mul_cap(nodes, o->fanout[h], most);
        if (pages_reserve(&b->row[h], (size_t)(nodes + 1) * sizeof(int32_t), err) < 0 ||
            pages_reserve(&b->col[h], (size_t)b->edges[h] * sizeof(int32_t), err) < 0)
            goto fail;
        nodes = MIN(nodes + b->edges[h], g->nodes);
    }
    b->nodes = nodes;
    if (pages_reserve(&b->node, (size_t)(nodes + 1) * sizeof(int32_t), err) == 0 &&
        pages_reserve(&b->degree, (size_t)targets * sizeof(int32_t), err) == 0)
        return 0;
fail:
    batch_space_release(b);
    return -1;
}

void batch_space_release(struct batch_space *b)
{
    pages_release(&b->node);
    pages_release(&b->degree);
    for (int h = 0; h < GNN_MAX_HOPS; h++) {
        pages_release(&b->row[h]);
        pages_release(&b->col[h]);
    }
}

/* ---- picking --------------------------------------------------------------------------------- */

int sampler_init(struct sampler *s, const struct gnn_graph *g, const struct sample_options *o,
                 struct err *err)
{
    *s = (struct sampler){.graph = g, .o = *o};
    if (sample_options_check(o, err) < 0 || id_table_init(&s->ids, err) < 0)
        return -1;
    s->block = xmalloc(sizeof *s->block);
    s->heap = xmalloc(PICK_MAX_FANOUT * sizeof *s->heap);
    return 0;
}

void sampler_release(struct sampler *s)
{
    id_table_release(&s->ids);
    free(s->block);
    free(s->heap);
    *s = (struct sampler){.graph = NULL};
}

static void sift_down(uint64_t *heap, uint32_t n)
{
    uint64_t v = heap[0];
    uint32_t i = 0;
    for (uint32_t c; (c = 2 * i + 1) < n; i = c) {
        c += c + 1 < n && heap[c + 1] > heap[c];
        if (heap[c] <= v)
            break;
        heap[i] = heap[c];
    }
    heap[i] = v;
}

static int by_position(const void *a, const void *b)
{
    uint32_t x = (uint32_t) * (const uint64_t *)a, y = (uint32_t) * (const uint64_t *)b;
    return (x > y) - (x < y);
}

static int by_value(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x < y) - (x > y); /* a sorted array is a heap */
}

/* Writes the indices of the k edges whose neighbours have the smallest numbers (pick_variate()).
 * Among equal numbers, the smaller position wins. */
static void pick_labor(struct sampler *s, const struct pick_key *key, int64_t start,
                       uint32_t degree, uint32_t k, int64_t *edge)
{
    const int32_t *neighbour = s->graph->neighbour + start;
    for (uint32_t i = 0; i < degree; i++) {
        uint64_t v = (uint64_t)pick_variate(key, (uint32_t)neighbour[i]) << 32 | i;
        if (i < k)
            s->heap[i] = v;
        if (i + 1 == k)
            qsort(s->heap, k, sizeof *s->heap, by_value);
        if (i >= k && v < s->heap[0]) {
            s->heap[0] = v;
            sift_down(s->heap, k);
        }
    }
    qsort(s->heap, k, sizeof *s->heap, by_position);
    for (uint32_t i = 0; i < k; i++)
        edge[i] = start + (uint32_t)s->heap[i];
}

/* Writes the indices of a target's edges and returns how many there are. Not for FANOUT_ALL. */
static uint32_t pick(struct sampler *s, const struct pick_key *key, int32_t node, int64_t start,
                     uint32_t degree, uint32_t fanout, int64_t *edge)
{
    uint32_t at[PICK_ROOM(PICK_MAX_FANOUT)], k = fanout;
    if (s->o.mode == SAMPLE_REPEATED && degree > 0) {
        pick_repeated(key, (uint32_t)node, degree, fanout, at);
    } else if (degree <= fanout) {
        for (uint32_t i = 0; i < degree; i++)
            edge[i] = start + i;
        return degree;
    } else if (s->o.mode == SAMPLE_LABOR) {
        pick_labor(s, key, start, degree, fanout, edge);
        return fanout;
    } else {
        pick_distinct(key, (uint32_t)node, degree, fanout, at);
    }
    for (uint32_t i = 0; i < k; i++)
        edge[i] = start + at[i];
    return k;
}

/* ---- a hop ----------------------------------------------------------------------------------- */

/* `nodes` counts the nodes of the batch so far, `edges` the edges of the hop so far. */
struct hop {
    int32_t *node, *row, *col;
    int32_t *degree;
    int64_t nodes, edges, max_edges;
    struct pick_key key;
    int32_t fanout;
};

static int too_large(const struct hop *p, struct err *err)
{
    return err_set(err, ERR_LIMIT,
                   "hop %" PRIu32 " of batch %" PRIu32
                   " has more than %d edges: use a smaller batch or fanout",
                   p->key.hop, p->key.batch, MAX_EDGES);
}

/* The passes `touch` and `ids`: turns the global ids in col[from..edges-1] into local ids. */
static int number_edges(struct sampler *s, struct hop *p, int64_t from, struct err *err)
{
    if (id_table_reserve(&s->ids, p->node, p->nodes, p->nodes + (p->edges - from), err) < 0)
        return -1;
    int32_t *col = p->col, *node = p->node, next = (int32_t)p->nodes;
    uint64_t touched = 0; /* the asm keeps the compiler from removing the reads */
    for (int64_t e = from; s->o.mode != SAMPLE_PLAIN && e < p->edges; e++)
        touched |= s->ids.entry[id_slot(&s->ids, col[e])];
    __asm__ volatile("" : : "r"(touched));
    for (int64_t e = from; e < p->edges; e++) {
        int32_t v = col[e], id = id_find(&s->ids, v, next);
        col[e] = id;
        node[next] = v; /* if v is not new, the next new node overwrites this */
        next += id == next;
    }
    p->nodes = next;
    return 0;
}

/* Runs the passes `loads`, `touch` and `ids` for the first n edges in s->block->edge. */
static int take_edges(struct sampler *s, struct hop *p, int64_t n, struct err *err)
{
    const int32_t *neighbour = s->graph->neighbour;
    const int64_t *edge = s->block->edge;
    int32_t *col = p->col + p->edges;
    for (int64_t e = 0; e < n; e++) {
        col[e] = neighbour[edge[e]];
    }
    p->edges += n;
    return number_edges(s, p, p->edges - n, err);
}

/* Takes all edges of a target, for FANOUT_ALL. They begin at index `start` of graph->neighbour. */
static int take_all(struct sampler *s, struct hop *p, int64_t start, uint32_t degree,
                    struct err *err)
{
    if (degree > p->max_edges - p->edges)
        return too_large(p, err);
    const int32_t *neighbour = s->graph->neighbour + start;
    for (uint32_t done = 0; done < degree;) {
        uint32_t n = MIN(degree - done, (uint32_t)BLOCK_EDGES);
        int32_t *col = p->col + p->edges;
        for (uint32_t e = 0; e < n; e++) {
            col[e] = neighbour[done + e];
        }
        p->edges += n;
        done += n;
        if (number_edges(s, p, p->edges - n, err) < 0)
            return -1;
    }
    return 0;
}

static void look_up_rows(struct sampler *s, const struct hop *p, int64_t first, int64_t n)
{
    const int64_t *offset = s->graph->offset;
    struct sample_block *b = s->block;
    for (int64_t i = 0; i < n; i++) {
        const int64_t *o = &offset[p->node[first + i]];
        b->start[i] = o[0];
        b->degree[i] = (uint32_t)(o[1] - o[0]);
        p->degree[first + i] = (int32_t)b->degree[i];
    }
}

static int run_hop(struct sampler *s, struct hop *p, int64_t known, struct err *err)
{
    struct sample_block *b = s->block;
    int64_t block = s->o.mode == SAMPLE_PLAIN ? 1 : BLOCK_TARGETS;
    p->row[0] = 0;
    for (int64_t first = 0; first < known; first += block) {
        int64_t n = MIN(known - first, block), held = 0;
        if (s->cancel && atomic_load_explicit(s->cancel, memory_order_relaxed))
            return err_set(err, ERR_LIMIT, "cancelled");
        look_up_rows(s, p, first, n);
        for (int64_t i = 0; i < n; i++) {
            if (p->fanout == FANOUT_ALL) {
                if (take_all(s, p, b->start[i], b->degree[i], err) < 0)
                    return -1;
                p->row[first + i + 1] = (int32_t)p->edges;
                continue;
            }
            uint32_t k = pick(s, &p->key, p->node[first + i], b->start[i], b->degree[i],
                              (uint32_t)p->fanout, b->edge + held);
            held += k;
            if (held > p->max_edges - p->edges)
                return too_large(p, err);
            p->row[first + i + 1] = (int32_t)(p->edges + held);
            if (held >= BLOCK_EDGES || i + 1 == n) {
                if (take_edges(s, p, held, err) < 0)
                    return -1;
                held = 0;
            }
        }
    }
    return 0;
}

static int start_batch(struct sampler *s, const int32_t *seeds, int64_t n, int32_t *node,
                       struct err *err)
{
    id_table_clear(&s->ids);
    if (id_table_reserve(&s->ids, node, 0, n, err) < 0)
        return -1;
    for (int64_t i = 0; i < n; i++) {
        if (seeds[i] < 0 || seeds[i] >= s->graph->nodes)
            return err_set(err, ERR_INPUT, "seed %" PRId32 " is not a node", seeds[i]);
        if (id_find(&s->ids, seeds[i], (int32_t)i) != i)
            return err_set(err, ERR_INPUT, "node %" PRId32 " is twice among the seeds", seeds[i]);
        node[i] = seeds[i];
    }
    return 0;
}

int sampler_run(struct sampler *s, const int32_t *seeds, int64_t n, int64_t epoch, int64_t index,
                struct batch_space *space, struct gnn_batch *out, struct err *err)
{
    if (n > space->seeds)
        return err_set(err, ERR_LIMIT, "%" PRId64 " seeds, but there is room for %" PRId64, n,
                       space->seeds);
    if (epoch < 0 || epoch > UINT32_MAX || index < 0 || index > UINT32_MAX)
        return err_set(err, ERR_LIMIT, "epoch %" PRId64 ", batch %" PRId64 ": out of range", epoch,
                       index);
    struct hop p = {.node = space->node.base, .degree = space->degree.base, .nodes = n};
    *out = (struct gnn_batch){.hops = s->o.hops,
                              .node = p.node,
                              .degree = p.degree,
                              .seed = s->o.seed,
                              .epoch = epoch,
                              .index = index};
    if (start_batch(s, seeds, n, p.node, err) < 0)
        return -1;
    out->n_nodes[0] = n;
    for (int h = 0; h < s->o.hops; h++) {
        p.row = space->row[h].base;
        p.col = space->col[h].base;
        p.edges = 0;
        p.max_edges = space->edges[h];
        p.fanout = s->o.fanout[h];
        p.key = (struct pick_key){s->o.seed, (uint32_t)epoch, (uint32_t)index, (uint32_t)h};
        if (run_hop(s, &p, p.nodes, err) < 0)
            return -1;
        out->n_nodes[h + 1] = p.nodes;
        out->n_edges[h] = p.edges;
        out->row[h] = p.row;
        out->col[h] = p.col;
    }
    return 0;
}
